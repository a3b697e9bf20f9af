"""What became of an attempt at an upstream, and what a client is told of it (RFC 9110 section 15.6, RFC 9209)."""

from flare.bytes.checked import *
from std.builtin.globals import global_constant


struct Outcome(Equatable, TrivialRegisterPassable):
    """How one attempt at an upstream ended."""

    var code: UInt8
    """A small number, distinct for each kind."""
    var status: UInt16
    """The upstream's status, of ANSWERED and CONTENT_FAILED."""

    comptime ANSWERED = Outcome(0)
    """All of a response has come; see `answered`."""
    comptime CONNECT_FAILED = Outcome(1)
    """There was no connection to be had: refused, or unreachable. Nothing was
    sent."""
    comptime CONNECT_TIMEOUT = Outcome(2)
    """There was none in time. Nothing was sent."""
    comptime RESET = Outcome(3)
    """The connection ended before the head of a response."""
    comptime HEAD_TIMEOUT = Outcome(4)
    """There was no head of a response in time."""
    comptime BAD_RESPONSE = Outcome(5)
    """What came was no response, or one that is not passed on."""
    comptime CONTENT_FAILED = Outcome(6)
    """The content of the response ended too early, after a head that the client
    has got."""
    comptime CANCELLED = Outcome(7)
    """The client went away first; that says nothing of the upstream."""
    comptime NONE_AVAILABLE = Outcome(8)
    """No upstream was asked: there is none."""
    comptime FULL = Outcome(9)
    """No upstream was asked: all have as many requests as they may, or are given
    time to recover."""
    comptime CONTENT_TIMEOUT = Outcome(10)
    """The content of the response stopped coming."""
    comptime SEND_TIMEOUT = Outcome(11)
    """The upstream stopped taking the request."""
    comptime BAD_CERTIFICATE = Outcome(12)
    """The upstream's certificate is not trusted. Nothing was sent."""
    comptime TLS_FAILED = Outcome(13)
    """There was no TLS to be had with the upstream. Nothing was sent."""
    comptime DNS_FAILED = Outcome(14)
    """The upstream's name has no address. Nothing was sent."""
    comptime DNS_TIMEOUT = Outcome(15)
    """There was no address in time. Nothing was sent."""
    comptime REFUSED = Outcome(16)
    """The upstream said that it has not begun with the request (RFC 9113 section
    8.7): again and again, if it could be sent once more."""

    @always_inline
    def __init__(out self, code: UInt8, status: UInt16 = 0):
        """Makes an outcome."""
        self.code = code
        self.status = status

    @staticmethod
    def answered(status: Int) -> Self:
        """Gives the outcome of a response that has come whole: ANSWERED with
        the status.

        Args:
            status: Its status.
        """
        return Self(Self.ANSWERED.code, UInt16(status))

    @always_inline
    def __eq__(self, other: Self) -> Bool:
        """Tells whether both are of one kind, whatever their status is.

        Args:
            other: Another outcome.
        """
        return self.code == other.code

    def name(self) -> StaticString:
        """Names the kind, such as `connect_failed`, for figures."""
        return self._names().name

    def client_status(self) -> Int:
        """Gives the status that the client is answered with: 502, 503 or 504
        (RFC 9110 section 15.6); the upstream's own if there is one."""
        if self.status > 0:
            return Int(self.status)
        return self._names().status

    def proxy_error(self) -> StaticString:
        """Names the failure as in Proxy-Status, by a token of RFC 9209 section
        2.3; empty for what is no failure."""
        return self._names().proxy_error

    def reason(self) -> StaticString:
        """Tells what happened, in a clause of plain words for logs and for the
        client."""
        return self._names().reason

    def is_failure(self) -> Bool:
        """Tells whether the upstream has failed to give a response: not if it
        has, with any status, nor of what no upstream had a hand in."""
        return not (
            self == Self.ANSWERED
            or self == Self.CANCELLED
            or self == Self.NONE_AVAILABLE
            or self == Self.FULL
        )

    def is_timeout(self) -> Bool:
        """Tells whether time was up."""
        return (
            self == Self.CONNECT_TIMEOUT
            or self == Self.HEAD_TIMEOUT
            or self == Self.CONTENT_TIMEOUT
            or self == Self.SEND_TIMEOUT
            or self == Self.DNS_TIMEOUT
        )

    def _names(self) -> _Names:
        return global_constant[_NAMES]().at(Int(self.code))


comptime OUTCOME_COUNT = 17


@fieldwise_init
struct _Names(TrivialRegisterPassable):
    var name: StaticString
    var status: Int
    """What the client is answered with."""
    var proxy_error: StaticString
    """A token of RFC 9209 section 2.3."""
    var reason: StaticString


# By their codes.
# fmt: off
comptime _NAMES: Array[_Names, OUTCOME_COUNT] = [
    _Names("answered", 200, "", "the upstream has answered"),
    _Names("connect_failed", 502, "connection_refused", "the upstream takes no connection"),
    _Names("connect_timeout", 504, "connection_timeout", "the upstream took no connection in time"),
    _Names("reset", 502, "connection_terminated", "the upstream closed the connection before a response"),
    _Names("head_timeout", 504, "http_response_timeout", "the upstream did not answer in time"),
    _Names("bad_response", 502, "http_protocol_error", "the upstream's response breaks the rules of HTTP"),
    _Names("content_failed", 502, "http_response_incomplete", "the upstream ended in the midst of its response"),
    _Names("cancelled", 499, "", "the client went away"),
    _Names("none_available", 503, "destination_unavailable", "there is no upstream to ask"),
    _Names("full", 503, "connection_limit_reached", "all upstreams have as many requests as they may, or are given time to recover"),
    _Names("content_timeout", 504, "connection_read_timeout", "the upstream stopped in the midst of its response"),
    _Names("send_timeout", 504, "connection_write_timeout", "the upstream stopped taking the request"),
    _Names("bad_certificate", 502, "tls_certificate_error", "the upstream's certificate is not trusted"),
    _Names("tls_failed", 502, "tls_protocol_error", "the upstream does not agree on TLS"),
    _Names("dns_failed", 502, "dns_error", "the upstream's name has no address"),
    _Names("dns_timeout", 504, "dns_timeout", "the upstream's name had no address in time"),
    _Names("refused", 502, "connection_terminated", "the upstream has left the request untouched"),
]
# fmt: on
