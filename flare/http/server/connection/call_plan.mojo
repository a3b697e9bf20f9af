"""How a request is treated: where its handler is called and when, and the limits
that hold. A handler's `RequestPolicy` says what it needs, and a `CallPlan` what the
server makes of that."""

from flare.http.handler.handler import (
    DEFAULT_BODY_LIMIT,
    DEFAULT_TIMEOUT_MS,
    RequestPolicy,
    TIMEOUT_MS_MAX,
)
from flare.http.server.config import ServerConfig


@fieldwise_init
struct CallPlace(Equatable, TrivialRegisterPassable):
    """Where a handler is called."""

    var _number: UInt8

    comptime WORKER = CallPlace(0)
    """On the worker's own thread, and its response is there at once."""
    comptime THREAD = CallPlace(1)
    """On a handler thread."""
    comptime ERRAND = CallPlace(2)
    """On the worker's own thread, and its response may come later."""


struct CallPlan(TrivialRegisterPassable):
    """What the server has decided about a request, by its head."""

    var max_body_size: Int
    var timeout_ms: Int
    """How long the handler may take, or each of its turns: 1 to
    `TIMEOUT_MS_MAX`."""
    var place: CallPlace
    var starts_at_head: Bool
    """True if the handler gets the request when the head is there, and content
    while it arrives; False if it is called when all content is here. Never True
    for WORKER: reading waits for the client."""
    var needs_content: Bool
    """As `RequestPolicy.needs_content`."""

    def __init__(out self):
        """Makes what holds of a request about which nobody was asked."""
        self.max_body_size = DEFAULT_BODY_LIMIT
        self.timeout_ms = DEFAULT_TIMEOUT_MS
        self.place = CallPlace.WORKER
        self.starts_at_head = False
        self.needs_content = True

    def __init__(
        out self, policy: RequestPolicy, config: ServerConfig, is_moved: Bool
    ):
        """Decides; `is_moved` if the route was slow, and is called on a thread
        while the server chooses."""
        self.max_body_size = policy.max_body_size
        if policy.max_body_size == DEFAULT_BODY_LIMIT:
            self.max_body_size = config.max_body_size
        var timeout_ms = policy.timeout_ms
        if timeout_ms == DEFAULT_TIMEOUT_MS:
            timeout_ms = config.handler_timeout_ms
        self.timeout_ms = min(max(timeout_ms, 1), TIMEOUT_MS_MAX)
        self.needs_content = policy.needs_content
        if policy.defers:
            self.starts_at_head = policy.streams
            self.place = CallPlace.ERRAND
            return
        self.starts_at_head = policy.streams and config.handler_threads != 0
        var may_wait = policy.blocks and (
            is_moved or config.handler_threads > 0
        )
        self.place = CallPlace.WORKER
        if self.starts_at_head or may_wait:
            self.place = CallPlace.THREAD

    @always_inline
    def runs_elsewhere(self) -> Bool:
        """Tells whether the worker hands the request on, in place of calling the
        handler and sending what it returns."""
        return self.place != CallPlace.WORKER

    @always_inline
    def defers(self) -> Bool:
        """Tells whether the handler takes no thread, and may answer later."""
        return self.place == CallPlace.ERRAND
