"""A request as octets."""

from flare.bytes.ascii import equals_ignore_case
from flare.bytes.buffer import Buffer
from flare.bytes.octet_class import TCHAR
from flare.http.h1.local_error import LocalProtocolError
from flare.http.message.header_map import HeaderMap
from std.sys.intrinsics import likely

comptime _LENGTH_UNKNOWN = -1
comptime _NO_CONTENT = -2


struct RequestFraming(TrivialRegisterPassable):
    """How the content of a request is framed."""

    var content_len: Int
    """The Content-Length in bytes, if there is one."""
    var expects_continue: Bool
    """True to ask the server whether it wants the content at all."""

    @always_inline
    def __init__(out self, content_len: Int, expects_continue: Bool = False):
        """Frames content by its length.

        Args:
            content_len: The length in bytes, at least 0.
            expects_continue: True to ask whether the content is wanted.
        """
        self.content_len = content_len
        self.expects_continue = expects_continue

    @staticmethod
    def none() -> Self:
        """Frames a request that has no content, and whose method expects none.

        Returns:
            The framing; nothing is written for it.
        """
        return Self(_NO_CONTENT)

    @staticmethod
    def chunked(expects_continue: Bool = False) -> Self:
        """Frames content whose length is not known.

        Args:
            expects_continue: True to ask whether the content is wanted.

        Returns:
            The framing.
        """
        return Self(_LENGTH_UNKNOWN, expects_continue)

    def is_chunked(self) -> Bool:
        """Tells whether the chunked coding frames the content.

        Returns:
            True if so.
        """
        return self.content_len == _LENGTH_UNKNOWN


@fieldwise_init
struct RequestStart[m: ImmOrigin, t: ImmOrigin, h: ImmOrigin](Movable):
    """What a request begins with.

    Parameters:
        m: Where the method lives.
        t: Where the target lives.
        h: Where the host lives.
    """

    var method: StringSpan[Self.m]
    """The method, a token."""
    var target: StringSpan[Self.t]
    """The request target, in the form that the peer expects."""
    var host: StringSpan[Self.h]
    """The value of Host; a Host among the headers wins."""
    var minor_version: UInt8
    """1, or 0 for HTTP/1.0."""


def write_request_head(
    mut out: Buffer,
    start: RequestStart,
    headers: HeaderMap,
    defaults: HeaderMap,
    framing: RequestFraming,
) raises LocalProtocolError:
    """Appends request line and header section of a request.

    Source: RFC 9112 sections 3 and 6. The framing is ours: Content-Length and
    Transfer-Encoding among the headers are not sent.

    Args:
        out: Where to; unchanged if the request is refused.
        start: Method, target and host.
        headers: The request's own header fields.
        defaults: Fields that are sent unless the request has its own.
        framing: How the content is framed.

    Raises:
        LocalProtocolError: If a part holds octets that would end it early, or
            HTTP/1.0 is to carry chunks.
    """
    _check(start, framing)
    out.append(start.method.as_bytes())
    out.append_octet(32)
    out.append(start.target.as_bytes())
    if likely(start.minor_version > 0):
        out.append_literal[" HTTP/1.1\r\nHost: "]()
    else:
        out.append_literal[" HTTP/1.0\r\nHost: "]()
    var own_host = -1
    if len(headers) > 0:
        own_host = headers.find("host")
    if likely(own_host < 0):
        out.append(start.host.as_bytes())
    else:
        out.append(headers.value(own_host).as_bytes())
    out.append_literal["\r\n"]()
    if likely(len(headers) == 0):
        out.append(defaults.lines_octets())
    else:
        _append_unless_given(out, defaults, headers)
        _append_lines(out, headers)
    _append_framing(out, framing)


def _check(
    start: RequestStart, framing: RequestFraming
) raises LocalProtocolError:
    var offset = 0
    for octet in start.method.as_bytes():
        if not materialize[TCHAR]().contains(octet):
            break
        offset += 1
    if offset == 0 or offset < start.method.byte_length():
        raise LocalProtocolError(
            "method", start.method, offset, "a method is a token such as GET"
        )
    offset = _first_not_visible(start.target, 35)
    if offset == 0 or offset < start.target.byte_length():
        raise LocalProtocolError(
            "request target",
            start.target,
            offset,
            "a target is visible ASCII without #; percent-encode the rest",
        )
    offset = _first_not_visible(start.host, 47)
    if offset < start.host.byte_length():
        raise LocalProtocolError(
            "Host", start.host, offset, "write a host name, with a port or not"
        )
    if framing.is_chunked() and start.minor_version == 0:
        raise LocalProtocolError(
            "framing", "chunked", 0, "HTTP/1.0 needs content of known length"
        )


def _first_not_visible(text: StringSpan, refused: UInt8) -> Int:
    var offset = 0
    for octet in text.as_bytes():
        if octet <= 32 or octet >= 127 or octet == refused:
            break
        offset += 1
    return offset


@no_inline
def _append_unless_given(
    mut out: Buffer, defaults: HeaderMap, headers: HeaderMap
):
    for index in range(len(defaults)):
        if defaults.name(index) not in headers:
            _append_line(out, defaults, index)


@no_inline
def _append_lines(mut out: Buffer, headers: HeaderMap):
    for index in range(len(headers)):
        var name = headers.name(index).as_bytes()
        if (
            equals_ignore_case(name, "host".as_bytes())
            or equals_ignore_case(name, "content-length".as_bytes())
            or equals_ignore_case(name, "transfer-encoding".as_bytes())
        ):
            continue
        _append_line(out, headers, index)


def _append_line(mut out: Buffer, headers: HeaderMap, index: Int):
    out.append(headers.name(index).as_bytes())
    out.append_literal[": "]()
    out.append(headers.value(index).as_bytes())
    out.append_literal["\r\n"]()


def _append_framing(mut out: Buffer, framing: RequestFraming):
    if framing.expects_continue:
        out.append_literal["Expect: 100-continue\r\n"]()
    if framing.is_chunked():
        out.append_literal["Transfer-Encoding: chunked\r\n"]()
    elif framing.content_len >= 0:
        out.append_literal["Content-Length: "]()
        out.append_decimal(framing.content_len)
        out.append_literal["\r\n"]()
    out.append_literal["\r\n"]()
