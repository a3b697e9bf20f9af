"""The error for an opening handshake that fails."""

from flare.bytes.ascii import write_escaped


struct HandshakeRule(Equatable, ImplicitlyCopyable):
    """A rule of the opening handshake (RFC 6455 section 4)."""

    var number: UInt8
    """The rule."""
    var status: Int
    """The status code of a server's answer; 0 for what a client finds."""

    # What a server finds.
    comptime METHOD = HandshakeRule(1, 405)
    """The method is GET (RFC 6455 section 4.1)."""
    comptime VERSION = HandshakeRule(2, 400)
    """The request is of HTTP/1.1 or later (RFC 6455 section 4.1)."""
    comptime REQUEST_UPGRADE = HandshakeRule(3, 400)
    """Upgrade has the protocol `websocket` (RFC 6455 section 4.2.1)."""
    comptime REQUEST_CONNECTION = HandshakeRule(4, 400)
    """Connection has the option `Upgrade` (RFC 6455 section 4.2.1)."""
    comptime KEY = HandshakeRule(5, 400)
    """Sec-WebSocket-Key stands once, and has 16 octets in base64 (RFC 6455
    section 4.2.1)."""
    comptime WS_VERSION = HandshakeRule(6, 426)
    """Sec-WebSocket-Version is 13 (RFC 6455 section 4.2.2)."""
    comptime OFFER = HandshakeRule(7, 400)
    """Extensions and subprotocols are lists as RFC 6455 section 4.3 has them.
    """
    # What a client finds.
    comptime STATUS = HandshakeRule(8, 0)
    """The status is 101 (RFC 6455 section 4.1)."""
    comptime RESPONSE_UPGRADE = HandshakeRule(9, 0)
    """Upgrade is `websocket` (RFC 6455 section 4.1)."""
    comptime RESPONSE_CONNECTION = HandshakeRule(10, 0)
    """Connection has the option `Upgrade` (RFC 6455 section 4.1)."""
    comptime ACCEPT = HandshakeRule(11, 0)
    """Sec-WebSocket-Accept answers the key (RFC 6455 section 4.1)."""
    comptime EXTENSION = HandshakeRule(12, 0)
    """Extensions are those that were offered (RFC 6455 section 4.1)."""
    comptime SUBPROTOCOL = HandshakeRule(13, 0)
    """The subprotocol is one that was offered (RFC 6455 section 4.1)."""

    @always_inline
    def __init__(out self, number: UInt8, status: Int):
        """Makes a rule.

        Args:
            number: The rule's number.
            status: The status code of a server's answer, or 0.
        """
        self.number = number
        self.status = status

    def __eq__(self, other: Self) -> Bool:
        """Compares two rules.

        Args:
            other: A rule.

        Returns:
            True if they are the same.
        """
        return self.number == other.number

    def text(self) -> StaticString:
        """Says what the rule demands.

        Returns:
            A sentence.
        """
        match Int(self.number):
            case 1:
                return "a WebSocket handshake must be a GET request"
            case 2:
                return "a WebSocket handshake needs HTTP/1.1"
            case 3:
                return "Upgrade must be websocket"
            case 4:
                return "Connection must have the option Upgrade"
            case 5:
                return "Sec-WebSocket-Key must be 16 octets in base64, once"
            case 6:
                return "Sec-WebSocket-Version must be 13"
            case 7:
                return "the extensions or subprotocols offered are malformed"
            case 8:
                return "the server must switch protocols with status 101"
            case 9:
                return "the server's Upgrade must be websocket"
            case 10:
                return "the server's Connection must have the option Upgrade"
            case 11:
                return (
                    "Sec-WebSocket-Accept must answer this connection's key; is"
                    " there a cache on the way?"
                )
            case 12:
                return "the server may only agree to extensions it was offered"
            case _:
                return "the server may only choose a subprotocol it was offered"


struct WsHandshakeError(Copyable, Movable, Writable):
    """The peer's part of the opening handshake breaks a rule."""

    var rule: HandshakeRule
    """The rule that was broken."""
    var found: String
    """What was found, fit to print; may be empty."""

    def __init__(out self, rule: HandshakeRule, found: Span[UInt8, _]):
        """Describes a broken rule.

        Args:
            rule: The rule.
            found: The peer's octets that break it.
        """
        self.rule = rule
        self.found = String()
        write_escaped(found, self.found)

    def status(self) -> Int:
        """Gives the status code that a server answers with.

        Returns:
            A 4xx code; 0 for an error that a client found.
        """
        return self.rule.status

    def write_to(self, mut writer: Some[Writer]):
        """Writes the rule and what was found.

        Args:
            writer: Where to.
        """
        writer.write(self.rule.text())
        if self.found.byte_length() > 0:
            writer.write("; found '", self.found, "'")
