"""What a worker keeps for all of its connections."""

from flare.bytes.buffer import Buffer
from flare.http.h1.exchange import Exchange
from flare.http.h1.limits import HeadLimits
from flare.http.h1.serialiser import DateLine
from flare.http.message.path_params import PathParams
from flare.http.server.config import ServerConfig
from flare.http.server.mailbox import Mailbox
from flare.sys.errno import OsError
from std.memory import OwnedPointer

comptime READ_BUFFER_LEN = 65_536
"""Size of a worker's own input buffer in bytes: most that one read takes."""

comptime PARTIAL_BUFFER_LEN = 4_096
"""First size of a connection's buffer for a part of a request, in bytes."""

comptime FLUSH_LEN = 65_536
"""Output that is sent without waiting for the rest of a batch, in bytes."""

comptime _POOLED_COUNT_MAX = 256
comptime _POOLED_LEN_MAX = 65_536


struct WorkerState(Movable):
    """Buffers, limits and the clock of one worker; no connection's own."""

    var config: ServerConfig
    """The server's configuration."""
    var limits: HeadLimits
    """Its bounds for the parser."""
    var now_ms: Int
    """The time of this round of the loop."""
    var date: DateLine
    """The Date of this round."""
    var out: Buffer
    """Responses of the connection at hand, not yet sent."""
    var params: OwnedPointer[PathParams]
    """Storage for the path parameters of the request at hand."""
    var request_count: Int
    """Requests answered by the worker."""
    var piece: Buffer
    """What a source has just made."""
    var mailbox: Mailbox
    """Where sources say that they have something."""
    var is_draining: Bool
    """True if the server is to stop: no connection is kept alive."""
    var _pool: List[OwnedPointer[Exchange]]

    def __init__(out self, config: ServerConfig) raises OsError:
        """Makes the state of a worker that has not begun.

        Args:
            config: The server's configuration.

        Raises:
            OsError: If the process has no more descriptors.
        """
        self.config = config.copy()
        self.limits = config.head_limits()
        self.now_ms = 0
        self.date = DateLine()
        self.out = Buffer(FLUSH_LEN)
        self.params = OwnedPointer(PathParams())
        self.request_count = 0
        self.piece = Buffer(0)
        self.mailbox = Mailbox()
        self.is_draining = False
        self._pool = []

    def params_pointer(mut self) -> Pointer[PathParams, MutUntrackedOrigin]:
        """Gives the storage for path parameters.

        Returns:
            A pointer that is good while the worker lives.
        """
        # SAFETY: the box never moves, and the worker outlives every request.
        return Pointer(to=self.params[]).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()

    def take_exchange(mut self) -> OwnedPointer[Exchange]:
        """Takes an empty exchange, for a part of a request.

        Returns:
            Its box.
        """
        if len(self._pool) > 0:
            return self._pool.pop()
        return OwnedPointer(Exchange(PARTIAL_BUFFER_LEN))

    def give_exchange(mut self, var exchange: OwnedPointer[Exchange]):
        """Takes an exchange back; one that has grown large is freed.

        Args:
            exchange: Its box.
        """
        if (
            len(self._pool) < _POOLED_COUNT_MAX
            and exchange[].input.capacity() <= _POOLED_LEN_MAX
        ):
            exchange[].reset()
            self._pool.append(exchange^)
