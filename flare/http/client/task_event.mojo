"""What a driver and the request that it drives tell each other."""


@fieldwise_init
struct TaskEvent(Equatable, TrivialRegisterPassable):
    """Why a driver goes on with a task."""

    var number: UInt8

    comptime NONE = TaskEvent(0)
    """For no reason that is known, or to send what is there."""
    comptime READABLE = TaskEvent(1)
    """There may be something to receive."""
    comptime TIMEOUT = TaskEvent(2)
    """`wait_ms` are over, and nothing was ready."""


@fieldwise_init
struct TaskProgress(Equatable, TrivialRegisterPassable):
    """What a driver has to do before it goes on with a task."""

    var number: UInt8

    comptime WAIT = TaskProgress(0)
    """Wait for one of the `watches`, no longer than `wait_ms`."""
    comptime WANTS_CONTENT = TaskProgress(1)
    """Feed it with the next piece of content from the caller's source."""
    comptime HAS_CONTENT = TaskProgress(2)
    """Take the `content` that goes to the caller's sink."""
    comptime DONE = TaskProgress(3)
    """Take the response: `finish`."""
    comptime HAS_HEAD = TaskProgress(4)
    """Look at the `head` of the final response, once, before its content: of a
    request whose content is lent (`ContentUse.LEND`)."""
