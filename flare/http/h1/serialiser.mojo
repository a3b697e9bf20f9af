"""Messages as octets: responses of a server, requests of a client."""

from flare.bytes.ascii import equals_ignore_case
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.scan import TCHAR
from flare.http.h1.error import LocalProtocolError
from flare.http.h1.framing import (
    SWITCHING_PROTOCOLS,
)
from flare.http.message.content_length import announced_len
from flare.http.message.date import append_imf_fixdate
from flare.http.message.header_map import HeaderMap
from flare.http.message.fields import ListElements
from flare.http.message.response import Response
from flare.http.message.status import RESET_CONTENT, Status
from std.sys.intrinsics import likely, unlikely

comptime CONTINUE_RESPONSE = StaticString("HTTP/1.1 100 Continue\r\n\r\n")
"""The interim response that asks for the content (RFC 9110 section 15.2.1)."""


struct DateLine(Movable):
    """The head of a 200 response with its Date, written once a second."""

    var _ok_head: Buffer
    var _unix_s: Int

    comptime STATUS_LINE = StaticString("HTTP/1.1 200 OK\r\n")
    """What the block begins with."""

    def __init__(out self):
        """Makes the block for the epoch; `refresh` brings it up to date."""
        self._ok_head = Buffer(64)
        self._unix_s = -1
        self.refresh(0)

    @always_inline
    def refresh(mut self, unix_s: Int):
        """Writes the block anew if the second has changed."""
        if unlikely(unix_s != self._unix_s):
            self._write(unix_s)

    @no_inline
    def _write(mut self, unix_s: Int):
        self._unix_s = unix_s
        self._ok_head.clear()
        self._ok_head.append_literal[Self.STATUS_LINE]()
        self._ok_head.append_literal["Date: "]()
        append_imf_fixdate(self._ok_head, unix_s)
        self._ok_head.append_literal["\r\n"]()

    @always_inline
    def unix_s(self) -> Int:
        """Tells which second it is, since 1970-01-01 00:00:00 UTC."""
        return self._unix_s

    @always_inline
    def ok_head(ref self) -> Span[UInt8, ImmOrigin(origin_of(self._ok_head))]:
        """Lends status line and Date of a 200 response."""
        return self._ok_head.span()

    @always_inline
    def text(ref self) -> Span[UInt8, ImmOrigin(origin_of(self._ok_head))]:
        """Lends the value of the Date field alone."""
        var line = self.date_line()
        return line.between(6, len(line) - 2)

    @always_inline
    def date_line(ref self) -> Span[UInt8, ImmOrigin(origin_of(self._ok_head))]:
        """Lends the Date field line (RFC 9110 section 6.6.1)."""
        comptime start = Self.STATUS_LINE.byte_length()
        return self._ok_head.span().after(start)


@fieldwise_init
struct ResponseFraming(TrivialRegisterPassable):
    """How a response is framed, decided by the request and the connection."""

    var is_head: Bool
    """True if the request was HEAD: the content is announced, not sent."""
    var keeps_alive: Bool
    """False to announce that the connection closes after this response."""
    var minor_version: UInt8
    """Of the request: HTTP/1.0 has to be told that a connection stays."""


@always_inline
def write_response_head(
    mut out: Buffer,
    response: Response,
    framing: ResponseFraming,
    date: DateLine,
):
    """Appends status line and header section of a response.

    Source: RFC 9112 sections 4 and 6. The framing is ours: Content-Length,
    Transfer-Encoding and Connection of the handler are not sent. But a handler
    that answers HEAD without making the content may say how long it would be
    (RFC 9110 section 8.6).
    """
    var status = response.status.code
    var has_own_date = False
    var content_len = len(response.body)
    var lines = response.headers.lines_octets()
    if unlikely(len(lines) > 0):
        has_own_date = "date" in response.headers
    if unlikely(framing.is_head and content_len == 0):
        content_len = announced_len(response.headers)
    if likely(status == 200 and not has_own_date):
        out.append(date.ok_head())
    else:
        _append_status_line(out, response.status)
        if not has_own_date:
            out.append(date.date_line())
    var content_type = response.headers.content_type().as_bytes()
    if likely(len(content_type) > 0):
        out.append_literal["Content-Type: "]()
        out.append(content_type)
        out.append_literal["\r\n"]()
    if unlikely(len(lines) > 0):
        _append_lines(out, response.headers, status)
    if unlikely(not framing.keeps_alive):
        if status != SWITCHING_PROTOCOLS:
            out.append_literal["Connection: close\r\n"]()
    elif unlikely(framing.minor_version == 0):
        out.append_literal["Connection: keep-alive\r\n"]()
    if likely(response.status.allows_content()):
        if unlikely(response.body.is_stream()):
            _append_stream_framing(out, response, framing)
            return
        if unlikely(content_len < 0 and response.status != RESET_CONTENT):
            out.append_literal["\r\n"]()
            return
        out.append_literal["Content-Length: "]()
        out.append_decimal(
            0 if response.status == RESET_CONTENT else content_len
        )
        out.append_literal["\r\n\r\n"]()
    else:
        out.append_literal["\r\n"]()


@no_inline
def write_interim(mut out: Buffer, status: Status, fields: HeaderMap):
    """Appends an interim response: 100 to 199, but 101.

    Source: RFC 9110 section 15.2. It has no content, and so no framing.
    """
    _append_status_line(out, status)
    _append_lines(out, fields, status.code)
    out.append_literal["\r\n"]()


def is_chunked(response: Response, framing: ResponseFraming) -> Bool:
    """Tells whether content that a source makes is sent in chunks: not if its
    length is known and no trailers are announced, or to HTTP/1.0."""
    if framing.minor_version == 0:
        return False
    return not response.body.stream()[].length or "trailer" in response.headers


def ends_with_close(response: Response, minor_version: UInt8) -> Bool:
    """Tells whether content ends where the connection does (RFC 9112 6.3): if a
    client of HTTP/1.0 gets some of unknown length."""
    return (
        minor_version == 0
        and response.body.is_stream()
        and not response.body.stream()[].length
    )


@no_inline
def _append_stream_framing(
    mut out: Buffer, response: Response, framing: ResponseFraming
):
    var stream = response.body.stream()
    if response.status == RESET_CONTENT or (
        stream[].length and not is_chunked(response, framing)
    ):
        out.append_literal["Content-Length: "]()
        out.append_decimal(
            0 if response.status == RESET_CONTENT else stream[].length.held()
        )
        out.append_literal["\r\n\r\n"]()
    elif framing.minor_version > 0:
        out.append_literal["Transfer-Encoding: chunked\r\n\r\n"]()
    else:
        out.append_literal["\r\n"]()


@always_inline
def sends_content(response: Response, framing: ResponseFraming) -> Bool:
    """Tells whether content follows the head (RFC 9112 section 6.3): not for
    HEAD, 1xx, 204, 205 and 304."""
    return (
        not framing.is_head
        and response.status.allows_content()
        and response.status != RESET_CONTENT
    )


def asks_for_close(headers: HeaderMap) -> Bool:
    """Tells whether fields want the connection closed: by `close` as one of the
    options of a Connection field (RFC 9110 section 7.6.1)."""
    var index = headers.find("connection")
    while index >= 0:
        for option in ListElements(headers.value(index).as_bytes()):
            if equals_ignore_case(option, "close".as_bytes()):
                return True
        index = headers.find("connection", index + 1)
    return False


@no_inline
def _append_status_line(mut out: Buffer, status: Status):
    out.append_literal["HTTP/1.1 "]()
    out.append_decimal(min(max(status.code, 100), 999))
    out.append_literal[" "]()
    out.append(status.reason().as_bytes())
    out.append_literal["\r\n"]()


@no_inline
def _append_lines(mut out: Buffer, headers: HeaderMap, status: Int):
    if status == SWITCHING_PROTOCOLS:
        out.append(headers.lines_octets())
        return
    # Who is in between must not pass it on (RFC 9110 section 7.8).
    if _append_lines_without(out, headers, "connection"):
        out.append_literal["Connection: Upgrade\r\n"]()


@no_inline
def _append_lines_without(
    mut out: Buffer, headers: HeaderMap, dropped: StaticString
) -> Bool:
    """Appends the lines but the framing, which is not a handler's, and one
    field more; what stands between them in one piece. Tells whether Upgrade is
    among them."""
    comptime UPGRADE = StaticString("upgrade")
    var has_upgrade = False
    var octets = headers.lines_octets()
    var fields = headers.lines_fields()
    var start = 0
    var end = 0
    for index in range(len(fields)):
        var name = fields.name(index).as_bytes()
        var line_start = end
        # A line is `name: value` and CRLF.
        end += len(name) + len(fields.value_bytes(index)) + 4
        if (
            equals_ignore_case(name, "content-length".as_bytes())
            or equals_ignore_case(name, "transfer-encoding".as_bytes())
            or equals_ignore_case(name, dropped.as_bytes())
        ):
            out.append(octets.between(start, line_start))
            start = end
        elif unlikely(len(name) == UPGRADE.byte_length()):
            has_upgrade |= equals_ignore_case(name, UPGRADE.as_bytes())
    out.append(octets.after(start))
    return has_upgrade


comptime _LENGTH_UNKNOWN = -1
comptime _NO_CONTENT = -2


struct RequestFraming(TrivialRegisterPassable):
    """How the content of a request is framed."""

    var content_len: Int
    var expects_continue: Bool
    """True to ask the server whether it wants the content at all."""

    @always_inline
    def __init__(out self, content_len: Int, expects_continue: Bool = False):
        """Frames content by its length; asks whether it is wanted if
        `expects_continue`."""
        self.content_len = content_len
        self.expects_continue = expects_continue

    @staticmethod
    def none() -> Self:
        """Frames a request that has no content, without a word of it."""
        return Self(_NO_CONTENT)

    @staticmethod
    def empty(method: StringSpan) -> Self:
        """Frames a request that has no content, which is said where the method
        gives one a meaning (RFC 9110 section 8.6)."""
        if method == "POST" or method == "PUT" or method == "PATCH":
            return Self(0)
        return Self.none()

    @staticmethod
    def chunked(expects_continue: Bool = False) -> Self:
        """Frames content whose length is not known; asks whether it is wanted
        if `expects_continue`."""
        return Self(_LENGTH_UNKNOWN, expects_continue)

    def is_chunked(self) -> Bool:
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
    var target: StringSpan[Self.t]
    """The request target, in the form that the peer expects."""
    var host: StringSpan[Self.h]
    """The value of Host; a Host among the headers wins."""
    var minor_version: UInt8
    """1, or 0 for HTTP/1.0."""

    def host_offset(self) -> Int:
        """Tells how many bytes after the start of the head
        `write_request_head` writes the value of Host."""
        return (
            self.method.byte_length()
            + self.target.byte_length()
            + _BEFORE_HOST.byte_length()
        )


comptime _BEFORE_HOST = StaticString("  HTTP/1.1\r\nHost: ")
# A request line and the start of Host, without method and target.


def write_request_head(
    mut out: Buffer,
    start: RequestStart,
    headers: HeaderMap,
    defaults: HeaderMap,
    framing: RequestFraming,
) raises LocalProtocolError:
    """Appends request line and header section of a request; nothing if it is
    refused. The defaults are sent unless the request has its own.

    Source: RFC 9112 sections 3 and 6. The framing is ours: Content-Length and
    Transfer-Encoding among the headers are not sent. Raises what
    `check_request_start` raises.
    """
    _append_request_start(out, start, framing)
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
        _append_content_type(out, headers)
        _ = _append_lines_without(out, headers, "host")
    _append_request_framing(out, framing)


def write_forwarded_head(
    mut out: Buffer,
    start: RequestStart,
    headers: HeaderMap,
    framing: RequestFraming,
) raises LocalProtocolError:
    """Does the same with fields of which the caller knows that neither Host nor
    framing is among them: they are not looked at again."""
    _append_request_start(out, start, framing)
    out.append(start.host.as_bytes())
    out.append_literal["\r\n"]()
    _append_content_type(out, headers)
    out.append(headers.lines_octets())
    _append_request_framing(out, framing)


def _append_request_start(
    mut out: Buffer, start: RequestStart, framing: RequestFraming
) raises LocalProtocolError:
    """Writes the request line, and Host but for its value."""
    check_request_start(start, framing)
    out.append(start.method.as_bytes())
    out.append_octet(32)
    out.append(start.target.as_bytes())
    if likely(start.minor_version > 0):
        out.append_literal[" HTTP/1.1\r\nHost: "]()
    else:
        out.append_literal[" HTTP/1.0\r\nHost: "]()


def check_request_start(
    start: RequestStart, framing: RequestFraming
) raises LocalProtocolError:
    """Checks what a request begins with. Raises if a part holds octets that
    would end it early, or HTTP/1.0 is to carry chunks."""
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
    # SAFETY: the index stays below the length.
    var octets = text.as_bytes()
    var offset = 0
    while offset < len(octets):
        var octet = octets.unsafe_at(offset)
        # From 33 to 126.
        if octet - 33 > 93 or octet == refused:
            break
        offset += 1
    return offset


@no_inline
def _append_unless_given(
    mut out: Buffer, defaults: HeaderMap, headers: HeaderMap
):
    for index in range(len(defaults)):
        if defaults.name(index) not in headers:
            _append_request_line(out, defaults, index)


def _append_content_type(mut out: Buffer, headers: HeaderMap):
    if headers.content_type().byte_length() > 0:
        out.append_literal["Content-Type: "]()
        out.append(headers.content_type().as_bytes())
        out.append_literal["\r\n"]()


def _append_request_line(mut out: Buffer, headers: HeaderMap, index: Int):
    out.append(headers.name(index).as_bytes())
    out.append_literal[": "]()
    out.append(headers.value(index).as_bytes())
    out.append_literal["\r\n"]()


def _append_request_framing(mut out: Buffer, framing: RequestFraming):
    if framing.expects_continue:
        out.append_literal["Expect: 100-continue\r\n"]()
    if framing.is_chunked():
        out.append_literal["Transfer-Encoding: chunked\r\n"]()
    elif framing.content_len >= 0:
        out.append_literal["Content-Length: "]()
        out.append_decimal(framing.content_len)
        out.append_literal["\r\n"]()
    out.append_literal["\r\n"]()
