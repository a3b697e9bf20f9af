"""What answers the messages of WebSocket clients."""

from flare.bytes.ranges import range_problem
from flare.bytes.text import Text
from flare.http.message.request import Request
from flare.http.websocket.outbox import WsSender
from flare.ws.core.deflate import DeflateAgreement


@fieldwise_init
struct WsIncoming[o: ImmOrigin](Copyable, Movable, Sized):
    """A message of a client, lent to a handler for the length of its call.

    Parameters:
        o: Where the octets live.
    """

    var is_text: Bool
    """True for text, False for octets."""
    var _payload: Span[UInt8, Self.o]

    def __len__(self) -> Int:
        """Counts the octets."""
        return len(self._payload)

    def as_text(self) raises -> StringSpan[Self.o]:
        """Lends the text, which is UTF-8.

        Raises:
            Error: If the message is octets.
        """
        if not self.is_text:
            raise Error("the message is binary; read it with as_bytes()")
        return StringSpan(unsafe_from_utf8=self._payload)

    def as_bytes(self) -> Span[UInt8, Self.o]:
        """Lends the octets, of text too."""
        return self._payload


trait WsHandler(Deinitable, Movable):
    """Answers the messages of WebSocket connections (RFC 6455).

    One handler serves all connections of all workers, so what it changes must
    be atomic or locked. Its methods run on a worker's own thread and must not
    block. What belongs to one connection is kept by the sender's `id`.
    """

    def on_open(self, req: Request, sender: WsSender) raises:
        """Hears of a new connection, before anything is received.

        `on_close` follows in any case, also if this raises or the response is
        never sent.

        Args:
            req: The request that opened it.
            sender: Sends to the client; may be kept.

        Raises:
            Error: To refuse: the client gets a 500, and the server logs it.
        """
        _ = sender.id()

    def on_message(self, message: WsIncoming, sender: WsSender) raises:
        """Answers a message.

        Args:
            message: The message.

        Raises:
            Error: To end the connection with close code 1011; no further
                message of it is answered.
        """
        ...

    def on_close(self, code: Int, reason: StringSpan, sender: WsSender):
        """Hears of the end of a connection; called once for each `on_open`,
        also of a connection that was refused or never came about.

        Args:
            code: The client's close code, or `CloseCode.ABNORMAL` if it left
                without one.
            reason: The client's reason, often empty.
            sender: Cannot send any more.
        """
        _ = sender.id()


struct WsConfig(Copyable, Defaultable, Movable):
    """What a WebSocket route allows; times in milliseconds."""

    var max_frame_size: Int
    """Longest payload of a frame in bytes; beyond it close code 1009. Default
    1 MiB."""
    var max_message_size: Int
    """Longest message in bytes, decompressed; beyond it close code 1009.
    Default 1 MiB."""
    var max_queue_size: Int
    """Most bytes that may wait to be sent to a client, beside one message of
    any length for whom nothing else waits. Default 1 MiB."""
    var cuts_slow_clients: Bool
    """What happens beyond that: True to break the connection off, False to let
    the call that sends raise. Default True."""
    var stall_timeout_ms: Int
    """For a client to take something of the answers to a batch of its messages
    of which not all are answered; beyond it the connection is broken off, if
    `cuts_slow_clients`. Default 3 s."""
    var ping_interval_ms: Int
    """A ping is sent when nothing came from a client for so long. Default
    30 s."""
    var pong_timeout_ms: Int
    """For a client to answer a ping that it has taken, in any way. Default
    20 s."""
    var close_timeout_ms: Int
    """For a client to answer a close frame. Default 5 s."""
    var origins: List[String]
    """Values of Origin that are let in, beside requests without one; `*` for
    all. Empty, the default, for the server's own scheme and host alone:
    browsers send cookies with requests that other sites' pages make. Behind a
    proxy that ends TLS the scheme is what `TrustedProxies` finds out."""
    var subprotocols: List[String]
    """Subprotocols that are spoken, any order. Default none."""
    var compression: Optional[DeflateAgreement]
    """What to agree to about compression (RFC 7692), which takes up to
    300 KiB for a connection. Default nothing."""

    def __init__(out self):
        """Makes the default configuration."""
        self.max_frame_size = 1 << 20
        self.max_message_size = 1 << 20
        self.max_queue_size = 1 << 20
        self.cuts_slow_clients = True
        self.stall_timeout_ms = 3_000
        self.ping_interval_ms = 30_000
        self.pong_timeout_ms = 20_000
        self.close_timeout_ms = 5_000
        self.origins = []
        self.subprotocols = []
        self.compression = None

    @no_inline
    def __deinit__(deinit self):
        return

    def check(self) raises:
        """Checks that the fields make sense.

        Raises:
            Error: If one does not; it names the field and what is allowed.
        """
        _check("max_frame_size", self.max_frame_size)
        _check("max_message_size", self.max_message_size)
        _check("max_queue_size", self.max_queue_size)
        _check("stall_timeout_ms", self.stall_timeout_ms)
        _check("ping_interval_ms", self.ping_interval_ms)
        _check("pong_timeout_ms", self.pong_timeout_ms)
        _check("close_timeout_ms", self.close_timeout_ms)


def _check(name: StaticString, value: Int) raises:
    var problem = range_problem(name, value, 1, 1 << 40)
    if problem.byte_length() > 0:
        raise Error(Text().add("WsConfig: ").add(problem).end())
