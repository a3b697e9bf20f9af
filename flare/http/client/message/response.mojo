"""A response as a client sees it, how it is put together, and how it came."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.copy import text_of
from flare.compress.content_coding import ContentCoding
from flare.compress.error import CompressError, CompressErrorKind
from flare.http.client.connect.error import (
    BadContent,
    ClientError,
    Phase,
    ResponseTooLarge,
)
from flare.http.client.connect.exchange_facts import ExchangeFacts
from flare.http.client.message.config import ClientConfig
from flare.http.client.message.error_status import status_error
from flare.http.client.message.retry_policy import RetryEnd
from flare.http.h1.response_parser import ResponseParser
from flare.http.message.body import Body
from flare.http.message.charset import decode_text
from flare.http.message.content_coding import (
    ContentDecoder,
    parse_content_encoding,
)
from flare.http.message.fields import Fields
from flare.http.message.header_map import HeaderMap
from flare.http.message.media_type import MediaType
from flare.http.message.request import Version
from flare.http.message.status import Status
from flare.json.value import JsonValue, parse
from flare.url.url import Url
from std.memory import ArcPointer


struct ClientResponse(Movable):
    """A complete response (RFC 9110 section 3.4)."""

    var status: Status
    """The status code."""
    var reason: String
    """The reason phrase as sent, or the registered one if none was."""
    var version: Version
    """The server's protocol version."""
    var headers: HeaderMap
    """The header fields. Content-Encoding and Content-Length still tell of
    the content as transferred."""
    var body: Body
    """The content, decoded; empty if it went to a sink."""
    var is_decoded: Bool
    """True if a coding of the content was undone; False if there was none, or
    it is the caller's as it came."""
    var trailers: HeaderMap
    """Fields after the content: of chunks, or of HTTP/2."""
    var url: Url
    """The URL that answered, after redirections."""
    var redirect_count: Int
    """How many redirections led to it."""
    var exchange: ExchangeFacts
    """Over which connection it came, and when."""
    # In a box, for few have one.
    var _story: Optional[ArcPointer[ResponseStory]]

    def __init__(out self, var url: Url):
        """Makes a response, to be filled."""
        self.status = 0
        self.reason = String()
        self.version = Version.HTTP_1_1
        self.headers = HeaderMap()
        self.body = Body()
        self.is_decoded = False
        self.trailers = HeaderMap()
        self.url = url^
        self.redirect_count = 0
        self.exchange = ExchangeFacts()
        self._story = None

    @no_inline
    def __deinit__(deinit self):
        return

    def set_story(mut self, var story: ResponseStory):
        """Takes how it came to the response.

        Args:
            story: What few responses have to tell.
        """
        self._story = ArcPointer(story^)

    def story(self) -> ResponseStory:
        """Tells how it came to the response: how often the request was sent,
        and why not again."""
        return self._story.held()[].copy() if self._story else ResponseStory()

    def history(self) -> List[RedirectStep]:
        """Tells which redirections led to the response, each with its status
        and the URL that answered so, the first one first; at most 32.

            for step in client.get("/old").history():
                print(step.status, step.url)"""
        if not self._story:
            return []
        return self._story.held()[].history.copy()

    def ok(self) -> Bool:
        """Tells whether the request succeeded: the status is below 400."""
        return self.status < 400

    def text(self) raises ClientError -> String:
        """Reads the content as text.

        In the charset that Content-Type names (RFC 9110 section 8.3.2), or
        UTF-8 if it names none: utf-8, us-ascii, iso-8859-1, windows-1252 and
        utf-16 under all names of the Encoding Standard, which makes one of the
        middle three. A byte order mark is not a part of the text.

        Raises:
            ClientError: If the charset is another one, or the content is not in
                it (`BadContent`).
        """
        try:
            return decode_text(self.body.as_bytes(), self.charset())
        except error:
            raise self._bad_content(String(error))

    def charset(self) -> String:
        """Finds the charset of the content: the parameter of Content-Type, as
        it was sent; empty if there is none."""
        var found = self.headers.get("content-type")
        if not found:
            return String()
        try:
            var media_type = MediaType.parse(found.value())
            for parameter in media_type.parameters:
                if parameter.name == "charset":
                    return parameter.value
        except:
            # What is no media type names no charset.
            return String()
        return String()

    def json(self) raises ClientError -> JsonValue:
        """Reads the content as JSON;
        `flare.json.parse(response.body.as_bytes())` does the same with a
        `JsonError`.

        Raises:
            ClientError: If it is no JSON text (`BadContent`).
        """
        try:
            return parse(self.body.as_bytes())
        except error:
            raise self._bad_content(String(error))

    def _bad_content(self, var reason: String) -> ClientError:
        var error = ClientError(Phase.RESPONSE, BadContent, reason^)
        error.url = self.url_text()
        return error^

    def raise_for_status(self) raises ClientError:
        """Does nothing if the request succeeded.

        Raises:
            ClientError: If the status is 400 or more (`ErrorStatus`): it has
                the status, and says what JSON or plain text of the server says.
        """
        if self.ok():
            return
        var story = self.story()
        var error = status_error(
            self.status,
            self.reason,
            self.url_text(),
            self.headers,
            story.note(),
            self.body.as_bytes(),
        )
        error.attempt_count = story.attempt_count
        raise error^

    def url_text(self) -> String:
        """Gives the URL for messages, without user name and password."""
        return url_without_credentials(self.url)


def url_without_credentials(url: Url) -> String:
    """Writes a URL for messages, without user name, password and fragment."""
    var text = String(url.protocol())
    if url.host().byte_length() > 0:
        text.write("//", url.host())
    text.write(url.request_target())
    return text^


comptime StatusError = ClientError
"""What `raise_for_status` raises: the name from before it was the type of all
errors of the client."""


struct SendResult(Movable):
    """A response, or the error instead of it.

    ```mojo
    for index in range(len(results)):
        if results[index].error:
            print(results[index].error.value())
    ```
    """

    var response: Optional[ClientResponse]
    """The response, if there is one."""
    var error: Optional[ClientError]
    """Why there is none."""

    def __init__(out self, var response: ClientResponse):
        """Takes a response."""
        self.response = response^
        self.error = None

    def __init__(out self, var error: ClientError):
        """Takes an error."""
        self.response = None
        self.error = error^

    @no_inline
    def __deinit__(deinit self):
        return

    def take(deinit self) raises ClientError -> ClientResponse:
        """Gives the response.

        Raises:
            ClientError: If there is none.
        """
        if self.error:
            raise self.error.take()
        return self.response.take()


comptime DISCARD_LEN_MAX = 65_536
"""Most content of a redirection that is read to save the connection, in bytes;
beyond that a new connection is cheaper."""

comptime RESERVE_LEN_MAX = 1 << 20
"""Most room made for content that was only announced, in bytes."""

comptime DECODE_LEN = 262_144
"""Most content decoded at once, in bytes: a few octets may hold megabytes."""


@fieldwise_init
struct ContentUse(Equatable, TrivialRegisterPassable):
    """What becomes of a response's content."""

    var number: UInt8

    comptime KEEP = ContentUse(0)
    """It becomes the response's body."""
    comptime PASS_ON = ContentUse(1)
    """It is written to the caller's sink."""
    comptime DISCARD = ContentUse(2)
    """Nobody wants it."""
    comptime LEND = ContentUse(3)
    """The caller reads it piece by piece, whatever the status."""
    comptime LEND_RAW = ContentUse(4)
    """The same, as transferred: it is not decoded."""

    def goes_out(self) -> Bool:
        """Tells whether somebody takes it piece by piece, so that it is neither
        kept nor dropped here."""
        return self != Self.KEEP and self != Self.DISCARD

    def is_lent(self) -> Bool:
        """Tells whether the caller reads it, who gets the head, too, before the
        content."""
        return self == Self.LEND or self == Self.LEND_RAW

    def size_setting(self, of_kept: StaticString) -> StaticString:
        """Names the setting that bounds such content: `of_kept`, unless it goes
        to a sink."""
        return "max_download_size" if self == Self.PASS_ON else of_kept


struct ResponseBuilder(Movable):
    """Takes a response from a parser."""

    var response: ClientResponse
    var content: List[UInt8]
    """Decoded content; of a sink, what it has not taken yet."""
    var use: ContentUse
    var is_told: Bool
    """True once the caller knows the head: it is this response or none."""
    var _decoder: Optional[ContentDecoder]
    var _decoded: Buffer
    var _taken_len: Int

    def __init__(out self, var url: Url, redirect_count: Int):
        """Makes a builder for the next response, from the URL that is asked, to
        which `redirect_count` redirections led."""
        self.response = ClientResponse(url^)
        self.response.redirect_count = redirect_count
        self.content = []
        self.use = ContentUse.KEEP
        self.is_told = False
        self._decoder = None
        self._decoded = Buffer()
        self._taken_len = 0

    def take_head(mut self, parser: ResponseParser):
        """Copies status and fields of a parser that has a complete head."""
        ref head = parser.head
        self.response.status = head.status
        self.response.version = Version(1, head.minor_version)
        var reason = parser.reason()
        if len(reason) == 0:
            self.response.reason = String(Status(head.status).reason())
        else:
            self.response.reason = String(from_utf8_lossy=reason)
        copy_fields(parser.fields(), self.response.headers)

    def begin_content(
        mut self,
        use: ContentUse,
        has_content: Bool,
        content_len: Int,
        config: ClientConfig,
    ) raises ClientError -> Int:
        """Gets ready for the content; there is none for sure without
        `has_content`, and `content_len` bytes of it were announced, 0 or less
        if that is not known. Returns how long it may be, as transferred, in
        bytes; raises if it is coded and a library is missing."""
        self.use = use
        var length_max = config.max_response_size
        var decoded_max = config.max_decoded_size
        if use == ContentUse.PASS_ON:
            length_max = config.max_download_size
            decoded_max = config.max_download_size
        elif use.is_lent():
            # Who reads decides when it is enough; nothing piles up here.
            length_max = Int.MAX
            decoded_max = Int.MAX
        if use == ContentUse.DISCARD or not has_content:
            return length_max
        if use == ContentUse.KEEP and content_len > 0:
            self.content.reserve(min(content_len, RESERVE_LEN_MAX))
        if use == ContentUse.LEND_RAW:
            return length_max
        # A part of coded content cannot be decoded.
        if config.decodes_content and self.response.status != 206:
            self._decoder = content_decoder(self.response.headers, decoded_max)
            self.response.is_decoded = Bool(self._decoder)
        return length_max

    def take_content(mut self, piece: Span[UInt8, _]) raises ClientError:
        """Takes a piece of content, as transferred: all of it, or of what goes
        out the beginning, behind which `decode_more` goes on. Raises if it
        cannot be decoded."""
        if self.use == ContentUse.DISCARD:
            return
        if not self._decoder:
            self.content.extend(piece)
            return
        self._taken_len = 0
        self._decode(piece)
        while self.use == ContentUse.KEEP and self._has_more(piece):
            self._decode(piece)

    def decode_more(mut self, piece: Span[UInt8, _]) raises ClientError -> Bool:
        """Makes more of the piece that was taken last for who has emptied
        `content`; False if it is used up. Raises if it cannot be decoded."""
        while len(self.content) == 0:
            if not self._has_more(piece):
                return False
            self._decode(piece)
        return True

    def _has_more(self, piece: Span[UInt8, _]) -> Bool:
        if not self._decoder or self.use == ContentUse.DISCARD:
            return False
        return (
            self._taken_len < len(piece) or self._decoder.value().has_pending()
        )

    def _decode(mut self, piece: Span[UInt8, _]) raises ClientError:
        """Decodes more of the piece, so much that memory stays bounded."""
        try:
            self._taken_len += self._decoder.value().receive_some(
                piece.after(self._taken_len), self._decoded, DECODE_LEN
            )
        except error:
            raise decode_error(error, self.use.size_setting("max_decoded_size"))
        self.content.extend(self._decoded.span())
        self._decoded.clear()

    def is_worth_reading(self, taken_len: Int) -> Bool:
        """Tells whether to read on after so many bytes of content: not if
        nobody wants it, and closing the connection is cheaper than reading the
        rest of it."""
        return self.use != ContentUse.DISCARD or taken_len <= DISCARD_LEN_MAX

    def take_end(mut self) raises ClientError:
        """Lets the content become the body. Raises if coded content ends too
        early."""
        if self._decoder and self._decoder.value().is_started():
            try:
                self._decoder.value().finish()
            except error:
                raise decode_error(
                    error, self.use.size_setting("max_decoded_size")
                )
        if self.use == ContentUse.KEEP:
            var octets = List[UInt8]()
            swap(octets, self.content)
            self.response.body = Body(octets^)

    def take_response(deinit self) -> ClientResponse:
        return self.response^


def copy_fields(fields: Fields, mut headers: HeaderMap):
    """Copies fields as a parser of HTTP/1.1 or a decoder of HTTP/2 has let them
    through; a value that is not UTF-8 is taken as ISO 8859-1.
    What goes over a limit of `headers` is dropped; the parser's limits keep
    that from happening.

    Source: RFC 9110 section 5.5: octets from 0x80 up are opaque, and that was
    once their meaning.
    """
    for index in range(len(fields)):
        var octets = fields.value_bytes(index)
        try:
            var value = fields.value(index)
            # SAFETY: the parser or decoder has judged name and value.
            if value.byte_length() == len(octets):
                headers.unsafe_append_judged(fields.name(index), value)
            else:
                headers.unsafe_append_judged(
                    fields.name(index), _from_latin_1(octets)
                )
        except:
            return


def _from_latin_1(octets: Span[UInt8, _]) -> String:
    var text = List[UInt8](capacity=2 * len(octets))
    for octet in octets:
        if octet < 0x80:
            text.append(octet)
        else:
            text.append(0xC0 | (octet >> 6))
            text.append(0x80 | (octet & 0x3F))
    return text_of(text)


def has_known_coding(headers: HeaderMap) -> Bool:
    """Tells whether a client that decodes content would decode a response's."""
    try:
        return len(_codings(headers)) > 0
    except:
        return False


def _codings(headers: HeaderMap) raises ClientError -> List[ContentCoding]:
    """Reads the codings of a response; none if one of them is unknown."""
    var codings = List[ContentCoding]()
    var index = headers.find("content-encoding")
    while index >= 0:
        try:
            parse_content_encoding(headers.value(index), codings)
        except error:
            if error.name.byte_length() > 0:
                return []
            raise ClientError(Phase.DECODE, BadContent, String(error))
        index = headers.find("content-encoding", index + 1)
    return codings^


def content_decoder(
    headers: HeaderMap, output_len_max: Int
) raises ClientError -> Optional[ContentDecoder]:
    """Makes what decodes a response's content, of which at most
    `output_len_max` bytes may come out. Returns nothing for content that is not
    coded, or in a coding that is unknown: such content is the caller's as it
    is.

    Raises if there are more codings than anybody uses, or a library is missing.
    """
    var codings = _codings(headers)
    if len(codings) == 0:
        return None
    try:
        return ContentDecoder(codings, output_len_max)
    except error:
        raise decode_error(error)


def decode_error(
    error: CompressError, size_setting: StaticString = "max_decoded_size"
) -> ClientError:
    """Takes over a failure of a decoder, into the phase `DECODE`. The setting
    named is the one that limits what comes out."""
    var kind = BadContent
    if error.kind == CompressErrorKind.OUTPUT_LIMIT:
        kind = ResponseTooLarge
    var failure = ClientError(Phase.DECODE, kind, String(error))
    if kind == ResponseTooLarge:
        failure.name_setting(size_setting)
    return failure^


comptime HISTORY_COUNT_MAX = 32
"""Most redirections that are remembered, the first ones: whoever follows more
does not look at each."""


@fieldwise_init
struct RedirectStep(Copyable, Movable):
    """A response that led elsewhere (RFC 9110 section 15.4)."""

    var status: Status
    """Its status."""
    var url: String
    """The URL that answered, without user name, password and fragment."""
    var method: String
    """The method of the request that it answered."""


struct ResponseStory(Copyable, Movable):
    """How it came to a response that was not the first one."""

    var history: List[RedirectStep]
    """The redirections that led to it, the first one first; at most
    `HISTORY_COUNT_MAX`."""
    var attempt_count: Int
    """How often the request was sent, but for redirections."""
    var retry_end: RetryEnd
    """Why it was not sent again."""

    def __init__(out self):
        """Begins with one attempt."""
        self.history = []
        self.attempt_count = 1
        self.retry_end = RetryEnd.NONE

    def note(self) -> String:
        """Tells for messages why there was no better response, such as "after 3
        attempts: ..."; empty if nothing was repeated, and nothing was to be."""
        if self.retry_end == RetryEnd.NONE and self.attempt_count == 1:
            return String()
        return String("after ", describe_attempts(self))


def describe_attempts(story: ResponseStory) -> String:
    """Says how often a request was sent, and why not again, such as "3
    attempts: RetryPolicy.max_attempts allows no more"."""
    var text = String(story.attempt_count, " attempt")
    if story.attempt_count != 1:
        text.write("s")
    if story.retry_end != RetryEnd.NONE:
        text.write(": ", story.retry_end.reason())
    return text^
