"""Undoing the Content-Encoding of a response."""

from flare.bytes.buffer import Buffer
from flare.compress.content_coding import ContentCoding, can_decode
from flare.compress.error import CompressError, CompressErrorKind
from flare.http.client.error import (
    BadContent,
    ClientError,
    Phase,
    ResponseTooLarge,
)
from flare.http.message.content_decoder import (
    ContentDecoder,
    parse_content_encoding,
)
from flare.http.message.header_map import HeaderMap


def accepted_codings() -> String:
    """Writes the Accept-Encoding field for what can be decoded here.

    Returns:
        Such as `gzip, deflate, br`; empty if no library is there.
    """
    var names = String()
    for coding in [ContentCoding.GZIP, ContentCoding.DEFLATE, ContentCoding.BR]:
        if can_decode(coding):
            if names.byte_length() > 0:
                names.write(", ")
            names.write(coding)
    return names^


def content_decoder(
    headers: HeaderMap, output_len_max: Int
) raises ClientError -> Optional[ContentDecoder]:
    """Makes what decodes a response's content.

    Args:
        headers: The response's header fields.
        output_len_max: Most octets that may come out, in bytes.

    Returns:
        The decoder; nothing for content that is not coded, or in a coding that
        is unknown: such content is the caller's as it is.

    Raises:
        ClientError: If there are more codings than anybody uses, or a library
            is missing.
    """
    var codings = List[ContentCoding]()
    var index = headers.find("content-encoding")
    while index >= 0:
        try:
            parse_content_encoding(headers.value(index), codings)
        except error:
            if error.name.byte_length() > 0:
                return None
            raise ClientError(
                materialize[Phase.DECODE](),
                materialize[BadContent](),
                String(error),
            )
        index = headers.find("content-encoding", index + 1)
    if len(codings) == 0:
        return None
    try:
        return ContentDecoder(codings, output_len_max)
    except error:
        raise decode_error(error)


def decode_error(
    error: CompressError, size_setting: StaticString = "max_decoded_size"
) -> ClientError:
    """Takes over a failure of a decoder.

    Args:
        error: What failed.
        size_setting: The setting that limits what comes out.

    Returns:
        The error, in the phase `DECODE`.
    """
    var kind = materialize[BadContent]()
    if error.kind == CompressErrorKind.OUTPUT_LIMIT:
        kind = materialize[ResponseTooLarge]()
    var failure = ClientError(materialize[Phase.DECODE](), kind, String(error))
    if kind == ResponseTooLarge:
        failure.name_setting(size_setting)
    return failure^
