"""What is known of both sides of a connection, beside its phase: each is a machine
of a few states, whose methods are its events."""

from std.sys.intrinsics import unlikely


@fieldwise_init
struct ClientSide(Equatable, TrivialRegisterPassable):
    """What is known of the direction from a client."""

    var _number: UInt8

    comptime OPEN = ClientSide(0)
    """More may come."""
    comptime ENDED = ClientSide(1)
    """The client has closed its side."""
    comptime FAILED = ClientSide(2)
    """The connection has failed, such as by a reset: nobody is there for a
    response."""

    def ends(mut self, has_failed: Bool):
        """Takes note of an end; what has failed stays so."""
        if has_failed:
            self = Self.FAILED
        elif self == Self.OPEN:
            self = Self.ENDED


@fieldwise_init
struct Presence(Equatable, TrivialRegisterPassable):
    """Whether somebody waits for a response behind a side that has ended."""

    var _number: UInt8

    comptime THERE = Presence(0)
    """Who ended it may well wait."""
    comptime DOUBTFUL = Presence(1)
    """Who leaves looks the same until something is sent."""
    comptime GONE = Presence(2)
    """Nobody is there."""


@fieldwise_init
struct SpokenProtocol(Equatable, TrivialRegisterPassable):
    """What a client speaks on a port that is for TLS."""

    var _number: UInt8

    comptime UNKNOWN = SpokenProtocol(0)
    """The handshake goes on, or has failed."""
    comptime HTTP_1_1 = SpokenProtocol(1)
    comptime HTTP_2 = SpokenProtocol(2)
    """Both sides have agreed on it (RFC 9113 section 3.2)."""
    comptime WITHOUT_TLS = SpokenProtocol(3)
    """HTTP without TLS: a request came in place of a handshake."""
    comptime HEAD_WITHOUT_TLS = SpokenProtocol(4)
    """The same, by the method HEAD, whose answer has no content."""

    comptime COUNT = 5

    def note_agreement(mut self, on_http2: Bool):
        """The handshake is complete."""
        if self == Self.UNKNOWN:
            self = Self.HTTP_2 if on_http2 else Self.HTTP_1_1

    def note_no_tls(mut self, is_head: Bool):
        """A request stands where a handshake should; there is none any more
        once a handshake is complete."""
        if self == Self.UNKNOWN:
            self = Self.HEAD_WITHOUT_TLS if is_head else Self.WITHOUT_TLS

    def is_without_tls(self) -> Bool:
        return self._number >= Self.WITHOUT_TLS._number


@fieldwise_init
struct Backlog(Equatable, TrivialRegisterPassable):
    """What has come from a client, and was not looked at."""

    var _number: UInt8

    comptime NONE = Backlog(0)
    """Nothing, but for what an event will announce."""
    comptime UNREAD = Backlog(1)
    """Octets may wait in the socket that no event will announce."""
    comptime UNANSWERED = Backlog(2)
    """Requests wait in the connection's parser, whose turn was over before all
    were answered. The socket is read after them in any case."""

    comptime COUNT = 3

    @always_inline
    def note_unread(mut self):
        """Octets may wait in the socket."""
        if self == Self.NONE:
            self = Self.UNREAD

    @always_inline
    def note_read(mut self):
        """The socket was read until it had no more."""
        if self == Self.UNREAD:
            self = Self.NONE

    @always_inline
    def leave_unanswered(mut self):
        """The turn is over, and requests wait in the parser."""
        self = Self.UNANSWERED

    @always_inline
    def begin_answering(mut self):
        """All requests of the parser are answered from here on; what is behind
        them is still in the socket."""
        if unlikely(self == Self.UNANSWERED):
            self = Self.UNREAD


@fieldwise_init
struct Ending(Equatable, TrivialRegisterPassable):
    """Whether and how we end a connection; it never goes on again."""

    var _number: UInt8

    comptime OPEN = Ending(0)
    """Further requests are answered."""
    comptime CLOSES = Ending(1)
    """It is closed when the pending write is sent: the client has been read to
    the end."""
    comptime LINGERS = Ending(2)
    """It ends when the pending write is sent; the client may not have been read
    to the end, and what still comes is read for a while (RFC 9112 section 9.6).
    """

    comptime COUNT = 3

    @always_inline
    def end(mut self, is_unread: Bool):
        """The last response is decided on; `is_unread` if the client may not
        have been read to the end."""
        if is_unread:
            self = Self.LINGERS
        elif self == Self.OPEN:
            self = Self.CLOSES


@fieldwise_init
struct Shutdown(Equatable, TrivialRegisterPassable):
    """How far the graceful shutdown of a connection of HTTP/2 has come (RFC 9113
    section 6.8); it is never taken back."""

    var _number: UInt8

    comptime NONE = Shutdown(0)
    """Streams are taken."""
    comptime ANNOUNCED = Shutdown(1)
    """They are, until the client has heard that no more will be."""
    comptime OVER = Shutdown(2)
    """No more are taken, or the client opens no more."""

    comptime COUNT = 3

    def announce(mut self):
        """The client is told that no more streams will be taken."""
        if self == Self.NONE:
            self = Self.ANNOUNCED

    def end(mut self):
        """From now on none are."""
        self = Self.OVER


@fieldwise_init
struct RequestRow(Equatable, TrivialRegisterPassable):
    """Where a request stands among those that came together.

    A client that ends its side after its last request may wait for the answer,
    and one that leaves does the same; who leaves has seldom sent more than one.
    """

    var _number: UInt8

    comptime ALONE = RequestRow(0)
    """No other came with it."""
    comptime LAST = RequestRow(1)
    """It ends a row, or is answered later: a client that ends its side after it
    may well wait."""
    comptime FOLLOWED = RequestRow(2)
    """Others of the row stand after it."""

    comptime COUNT = 3

    def advance(mut self, has_followers: Bool, has_leaders: Bool = False):
        """It is the next request's turn, after which others stand, or before
        which others were answered in the same turn."""
        if has_followers:
            self = Self.FOLLOWED
        elif has_leaders or self == Self.FOLLOWED:
            # The one after the last that has followers is of the row, too.
            self = Self.LAST
        else:
            self = Self.ALONE

    def outlast_end(mut self):
        """Its answer is waited for although the client has ended its side."""
        if self == Self.ALONE:
            self = Self.LAST

    def outlasts_end(self) -> Bool:
        """Tells whether a client that ends its side may well wait for the
        answer."""
        return self != Self.ALONE
