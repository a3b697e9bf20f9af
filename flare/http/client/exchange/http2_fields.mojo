"""The header section of a request as HTTP/2 carries it (RFC 9113 section 8.3.1).
"""

from flare.bytes.ascii import ascii_lower, equals_ignore_case, trim_whitespace
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.client.message.config import ClientConfig
from flare.http.client.connect.error import ClientError, bad_request
from flare.http.client.exchange.prepared_request import PreparedRequest
from flare.http.client.exchange.exchange import leaves_out, sent_host
from flare.http.h1.serialiser import (
    RequestFraming,
    RequestStart,
    check_request_start,
)
from flare.http.h2.hpack_encoder import Indexing, indexing_of
from flare.http.h2.hpack_table import ENTRY_OVERHEAD
from flare.http.h2.session import Http2Session
from flare.http.message.fields import FieldLine
from flare.http.message.header_map import HeaderMap
from flare.url.url import Url

# Fields of an HTTP/1.1 connection (section 8.2.2), and those that the client
# writes itself.
comptime _NOT_SENT = StaticString(
    "connection proxy-connection keep-alive transfer-encoding upgrade"
    " http2-settings host content-length"
)

comptime _PATH = 3
# The place of :path, behind :method, :scheme and :authority.

comptime FIELDS_LEN_MAX = 65_000
"""Longest names and values of a request, in bytes: their offsets have 16 bits."""


struct Http2RequestFields(Movable):
    """Fields that are about to be encoded: collected and checked first, since
    what is encoded has to be sent.

    What collects raises if a part of the request must not be sent, or the fields
    are too long for any server. Fields of an HTTP/1.1 connection are not sent.
    """

    var size: Int
    """The size of the section in bytes, as SETTINGS_MAX_HEADER_LIST_SIZE counts
    it."""
    var _octets: Buffer
    var _lines: List[FieldLine]

    def __init__(out self):
        self.size = 0
        self._octets = Buffer(0)
        self._lines = []

    def collect(
        mut self, request: PreparedRequest, config: ClientConfig
    ) raises ClientError:
        var target = String(request.url.request_target())
        var host = sent_host(request)
        var start = RequestStart(StringSpan(request.method), target, host, 1)
        self._begin(request.method, start, request.endpoint.is_tls)
        ref own = request.headers
        for index in range(len(config.headers)):
            var name = config.headers.name(index)
            if not leaves_out(name, request, config):
                self._add_field(name, config.headers.value(index))
        for index in range(len(own)):
            self._add_field(own.name(index), own.value(index))
        if request.cookie.byte_length() > 0 and "cookie" not in own:
            self._add_field("cookie", request.cookie)
        self._add_framing(request.framing())

    def collect_tunnel(
        mut self, url: Url, headers: HeaderMap
    ) raises ClientError:
        """Collects the fields of an extended CONNECT for a WebSocket (RFC 8441
        section 4), to a URL with the scheme `ws` or `wss`."""
        var target = String(url.request_target())
        var host = String(url.host())
        var own_host = headers.find("host")
        if own_host >= 0:
            host = String(headers.value(own_host))
        # What is asked for is named as in a GET.
        var start = RequestStart("GET", target, host, 1)
        self.collect_forwarded_tunnel(start, url.protocol() == "wss:", headers)

    def collect_forwarded_tunnel(
        mut self, start: RequestStart, is_tls: Bool, headers: HeaderMap
    ) raises ClientError:
        """Collects the fields of an extended CONNECT for a WebSocket that is
        passed on (RFC 8441 section 4), by target and authority, without
        Sec-WebSocket-Key (section 5); the method of `start` is that of the
        handshake over HTTP/1.1. `is_tls` makes the scheme `https`."""
        self._begin("CONNECT", start, is_tls)
        self._add(":protocol", "websocket")
        for index in range(len(headers)):
            var name = headers.name(index)
            if not _is_name(name, "sec-websocket-key"):
                self._add_field(name, headers.value(index))

    def collect_forwarded(
        mut self,
        start: RequestStart,
        is_tls: Bool,
        headers: HeaderMap,
        framing: RequestFraming,
    ) raises ClientError:
        """Collects the fields of a request that is passed on, by method, target
        and authority; `is_tls` makes the scheme `https`. The framing says, too,
        whether the content waits for 100."""
        self._begin(start.method, start, is_tls)
        for index in range(len(headers)):
            self._add_field(headers.name(index), headers.value(index))
        self._add_framing(framing)

    @always_inline
    def _begin(
        mut self, method: StringSpan, start: RequestStart, is_tls: Bool
    ) raises ClientError:
        self.size = 0
        self._octets.clear()
        self._lines.clear()
        check_request_start(start, RequestFraming.none())
        self._add(":method", method)
        self._add(":scheme", "https" if is_tls else "http")
        self._add(":authority", start.host)
        self._add(":path", start.target)

    @always_inline
    def _add_framing(mut self, framing: RequestFraming) raises ClientError:
        if framing.expects_continue:
            self._add_field("expect", "100-continue")
        if framing.content_len >= 0:
            self._add("content-length", String(framing.content_len))

    def _add_field(
        mut self, name: StringSpan, value: StringSpan
    ) raises ClientError:
        """Adds a field, unless it has no place in HTTP/2."""
        if _is_not_sent(name):
            return
        if (
            name.byte_length() == 2
            and _is_name(name, "te")
            and (
                not equals_ignore_case(value.as_bytes(), "trailers".as_bytes())
            )
        ):
            return
        self._add(name, value)

    def _add(mut self, name: StringSpan, value: StringSpan) raises ClientError:
        # No whitespace stands around a value (section 8.2.1).
        var octets = trim_whitespace(value.as_bytes().as_imm())
        var start = len(self._octets)
        var length = name.byte_length() + len(octets)
        if start + length > FIELDS_LEN_MAX:
            raise _too_large(start + length, FIELDS_LEN_MAX)
        for octet in name.as_bytes():
            self._octets.append_octet(ascii_lower(octet))
        self._octets.append(octets)
        self._lines.append(
            FieldLine(
                start,
                name.byte_length(),
                start + name.byte_length(),
                len(octets),
            )
        )
        self.size += length + ENTRY_OVERHEAD

    def check_size(self, size_max: Int) raises ClientError:
        """Raises if the section is larger than what the server takes (RFC 9113
        section 6.5.2)."""
        if self.size > size_max:
            raise _too_large(self.size, size_max)

    def encode(self, mut session: Http2Session):
        """Encodes the fields; `end_block` is to follow."""
        session.begin_block()
        var octets = self._octets.span()
        for index in range(len(self._lines)):
            var line = self._lines.at(index)
            var start = line.name_offset()
            var name = octets.between(start, start + line.name_len())
            start = line.value_offset()
            var value = octets.between(start, start + line.value_len())
            var indexing = indexing_of(name)
            if index == _PATH and len(value) > 1:
                # Others would leave the table before they come again.
                indexing = Indexing.NOT_KEPT
            session.encoder.add(session.fields, name, value, indexing)


def _is_name(name: StringSpan, wanted: StaticString) -> Bool:
    return equals_ignore_case(name.as_bytes(), wanted.as_bytes())


def _lengths(names: StaticString) -> UInt32:
    """Notes how long the names are: the bit of each length."""
    var lengths = UInt32(0)
    for name in names.split(" "):
        lengths |= UInt32(1) << UInt32(name.byte_length())
    return lengths


def _is_not_sent(name: StringSpan) -> Bool:
    comptime LENGTHS = _lengths(_NOT_SENT)
    var wanted = name.as_bytes()
    if len(wanted) > 31 or (LENGTHS >> UInt32(len(wanted))) & 1 == 0:
        return False
    var text = _NOT_SENT.as_bytes()
    var start = 0
    while start < len(text):
        var end = start
        while end < len(text) and text.at(end) != 32:
            end += 1
        if end - start == len(wanted) and equals_ignore_case(
            text.between(start, end), wanted
        ):
            return True
        start = end + 1
    return False


def _too_large(size: Int, size_max: Int) -> ClientError:
    return bad_request(
        String(
            "the fields of the request have ",
            size,
            " bytes as HTTP/2 counts them, and no more than ",
            size_max,
            " are taken; send less of them, or set ClientConfig.http2 to False",
        )
    )
