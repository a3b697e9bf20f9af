"""Content from a source, read at once."""

from flare.bytes.buffer import Buffer
from flare.http.message.body import Body, StreamWaker, Poll, WakeTarget
from flare.sys.mutex import Condvar, Mutex

comptime QUIET_MS_MAX = 5_000
"""How long a source may have nothing before a test gives up, in milliseconds."""

comptime WHOLE_LEN_MAX = 64 * 1024 * 1024
"""Most content of a source that is read, in bytes."""


@fieldwise_init
struct _Call(Copyable, WakeTarget):
    """A source's call, for which the reader waits."""

    var has_come: Mutex[Bool]
    var changed: Condvar

    def wake(self, token: UInt64):
        var has_come = self.has_come.lock()
        has_come[] = True
        self.changed.notify_one()
        deinit(has_come^)

    def wait(self) -> Bool:
        """Waits for a call; False if none comes in time."""
        var has_come = self.has_come.lock()
        var is_in_time = True
        while not has_come[] and is_in_time:
            is_in_time = self.changed.wait_for(has_come, QUIET_MS_MAX)
        var is_called = has_come[]
        has_come[] = False
        return is_called


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
    var call = _Call(Mutex(False), Condvar())
    stream[].begin(StreamWaker(call.copy(), 0))
    var content = Buffer()
    while len(content) <= WHOLE_LEN_MAX:
        var supply = stream[].fill(content)
        if supply == Poll.DONE:
            return Body(List[UInt8](content.span()))
        if supply == Poll.PENDING:
            if stream[].is_endless():
                return Body(List[UInt8](content.span()))
            if not call.wait():
                raise Error(
                    "the content's source had nothing for ",
                    QUIET_MS_MAX,
                    " ms, and did not end",
                )
    raise Error("the content's source made more than ", WHOLE_LEN_MAX, " bytes")
