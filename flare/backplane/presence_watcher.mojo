"""What is told of members that come and go."""

from flare.bytes.erased import Erased, ErasedBox


@fieldwise_init
struct PresenceEvent(Equatable, ImplicitlyCopyable):
    """What has happened to a member."""

    var _value: Int

    comptime ENTERED = Self(0)
    """It has come, or is known again."""
    comptime CHANGED = Self(1)
    """It has another name, or other data."""
    comptime LEFT = Self(2)
    """It has gone, or its process is silent for too long."""


@fieldwise_init
struct PresenceMember(Copyable, Equatable, Movable):
    """A member of a room, in any process."""

    var name: String
    """What others see."""
    var data: String
    """What the program has said of it, such as JSON; may be empty."""
    var key: UInt64
    """Tells it from others of its process."""
    var process: UInt64
    """Its process, by a number that it has drawn; 0 for this one until it has
    joined the others."""


@fieldwise_init
struct PresenceChange(Copyable, Movable):
    """A member that has come, changed or gone."""

    var event: PresenceEvent
    """What has happened."""
    var room: String
    """The room."""
    var member: PresenceMember
    """The member, as it is now; as it was if it has gone."""


trait PresenceWatcher(Deinitable, Movable):
    """Is told of members that come and go, in all processes.

    It is called on whichever thread brought the news, one change after the
    other, and with no lock held. Each process tells its own watcher of all
    members, so what it sends goes to clients of its own process.
    """

    def on_change(self, change: PresenceChange):
        """Hears of a change. It must not wait: others come after it.

        Args:
            change: What has happened.
        """
        ...


def _tell[W: PresenceWatcher](watcher: Erased, change: PresenceChange):
    # SAFETY: the pointer was made from a W, and who keeps it keeps the watcher.
    watcher.unsafe_bitcast[W]()[].on_change(change)


struct AnyPresenceWatcher(Movable):
    """Owns a watcher of any type."""

    # SAFETY: the functions were made for its type.
    var _watcher: ErasedBox
    var _tell: def(Erased, PresenceChange) thin -> None

    def __init__[W: PresenceWatcher](out self, var watcher: W):
        self._watcher = ErasedBox(watcher^)
        self._tell = _tell[W]

    def on_change(self, change: PresenceChange):
        self._tell(self._watcher.at, change)
