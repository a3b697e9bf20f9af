"""The server's side of a WebSocket connection without a worker around it."""

from flare.bytes.ascii import write_escaped
from flare.bytes.buffer import Buffer
from flare.http.message.body import StreamWaker, WakeTarget
from flare.http.websocket.outbox import WsOutbox
from flare.sys.mutex import Mutex
from flare.ws.core.connection import WsConnection
from flare.ws.core.deflate import DeflateAgreement
from flare.ws.core.frame import Role
from flare.ws.core.receiver import WsLimits
from std.atomic import Atomic
from std.memory import ArcPointer


@fieldwise_init
struct Bell(WakeTarget):
    """Counts how often it is rung."""

    var count: ArcPointer[Atomic[Int64]]

    def wake(self, token: UInt64):
        """Counts.

        Args:
            token: The connection's.
        """
        _ = self.count[].fetch_add(1)


def open_box(
    id: UInt64 = 1,
    waiting_len_max: Int = 100,
    cuts: Bool = False,
    agreement: Optional[DeflateAgreement] = None,
    message_len_max: Int = 1_000,
) raises -> Mutex[WsOutbox]:
    """Makes the box of an open connection that waits to be woken.

    Args:
        id: The connection's.
        waiting_len_max: Most bytes that may wait.
        cuts: True to break off beyond that.
        agreement: What was agreed on about compression.
        message_len_max: Longest message and frame that is received.

    Returns:
        The box.

    Raises:
        Error: If the system has no more locks.
    """
    var limits = WsLimits(message_len_max, message_len_max)
    var core = WsConnection(Role.SERVER, limits, agreement)
    var box = Mutex(WsOutbox(id, core^, waiting_len_max, cuts))
    box.lock()[].is_awake = False
    return box^


def bell_of(box: Mutex[WsOutbox]) -> ArcPointer[Atomic[Int64]]:
    """Hangs a bell beside a box.

    Args:
        box: The box.

    Returns:
        How often it has been rung.
    """
    var count = ArcPointer(Atomic[Int64](0))
    box.lock()[].waker = StreamWaker(Bell(count), 1)
    return count^


def taken(box: Mutex[WsOutbox]) -> String:
    """Takes what waits in a box, as a worker does.

    Args:
        box: The box.

    Returns:
        The octets, escaped.
    """
    var out = Buffer()
    box.lock()[].take(out)
    var text = String()
    write_escaped(out.span(), text)
    return text^
