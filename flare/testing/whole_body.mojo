"""Content from a source, read at once."""

from flare.bytes.buffer import Buffer
from flare.http.message.body import Body, StreamWaker, Poll, WakeTarget
from flare.sys.errno import OsError
from flare.sys.monitor import Monitor
from std.memory import ArcPointer

comptime QUIET_MS_MAX = 5_000
"""How long a source may have nothing before a test gives up, in milliseconds."""

comptime WHOLE_LEN_MAX = 64 * 1024 * 1024
"""Most content of a source that is read, in bytes."""


struct _Bell(Movable):
    var monitor: Monitor
    var is_rung: Bool

    def __init__(out self) raises OsError:
        self.monitor = Monitor()
        self.is_rung = False


@fieldwise_init
struct _Ringer(WakeTarget):
    var bell: ArcPointer[_Bell]

    def wake(self, token: UInt64):
        self.bell[].monitor.lock()
        self.bell[].is_rung = True
        self.bell[].monitor.ring()
        self.bell[].monitor.unlock()


def _wait(bell: ArcPointer[_Bell]) -> Bool:
    """Waits for a ring; False if none comes in time."""
    bell[].monitor.lock()
    var is_in_time = True
    while not bell[].is_rung and is_in_time:
        is_in_time = bell[].monitor.wait_for(QUIET_MS_MAX)
    var is_rung = bell[].is_rung
    bell[].is_rung = False
    bell[].monitor.unlock()
    return is_rung


def whole_body(body: Body) raises -> Body:
    """Reads a body's source, if it has one.

    Args:
        body: The body; its source is used up.

    Returns:
        Content in memory. Of an endless source that which it has now.

    Raises:
        Error: What the source raises, or that it does not end.
    """
    if not body.is_stream():
        return body.copy()
    var stream = body.stream()
    var bell = ArcPointer(_Bell())
    stream[].begin(StreamWaker(_Ringer(bell), 0))
    var content = Buffer()
    while len(content) <= WHOLE_LEN_MAX:
        var supply = stream[].fill(content)
        if supply == Poll.DONE:
            return Body(List[UInt8](content.span()))
        if supply == Poll.PENDING:
            if stream[].is_endless():
                return Body(List[UInt8](content.span()))
            if not _wait(bell):
                raise Error(
                    "the content's source had nothing for ",
                    QUIET_MS_MAX,
                    " ms, and did not end",
                )
    raise Error("the content's source made more than ", WHOLE_LEN_MAX, " bytes")
