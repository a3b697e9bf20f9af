"""In which order the streams of a connection send content: the most urgent first
(RFC 9218 section 10), found without going through all of them.
"""

from flare.bytes.checked import *
from flare.http.h2.priority import Priority

comptime _TURN_BITS = 48
# Turns of a connection, one a frame: at a million each second, for nine years.


@always_inline
def send_rank(priority: Priority, turn: Int) -> Int:
    """Gives a place in the order, lower for what goes earlier. Of the same
    urgency, those go first that are of no use before they are complete. `turn`
    is when the stream began, or sent last if it shares with others."""
    return (priority.packed() << _TURN_BITS) | turn


@fieldwise_init
struct _Entry(TrivialRegisterPassable):
    var rank: Int
    var index: Int


struct SendOrder(Movable, Sized):
    """Tasks that may send, as a heap: no entry ranks before the one at half its
    place.
    """

    var _entries: List[_Entry]

    def __init__(out self):
        self._entries = []

    def __len__(self) -> Int:
        return len(self._entries)

    def clear(mut self):
        """Drops all tasks; the room stays."""
        self._entries.clear()

    def add(mut self, rank: Int, index: Int):
        """Adds a task that the caller knows by an index; see `send_rank`."""
        var place = len(self._entries)
        var entry = _Entry(rank, index)
        self._entries.append(entry)
        while place > 0:
            var above = (place - 1) // 2
            var other = self._entries.at(above)
            if other.rank <= rank:
                break
            self._entries.at(place) = other
            place = above
        self._entries.at(place) = entry

    def first(self) -> Int:
        """Tells which task, by the caller's index, goes first; there must be
        one."""
        return self._entries.at(0).index

    def drop_first(mut self):
        """Takes the task out that goes first; there must be one."""
        var last = self._entries.pop()
        if len(self._entries) > 0:
            self._sink(last)

    def move_first(mut self, rank: Int):
        """Gives the task that goes first another place, not before the one that
        it has."""
        self._sink(_Entry(rank, self._entries.at(0).index))

    def _sink(mut self, entry: _Entry):
        """Puts an entry where it belongs, in place of the first."""
        var count = len(self._entries)
        var place = 0
        while True:
            var below = 2 * place + 1
            if below >= count:
                break
            var other = self._entries.at(below)
            if below + 1 < count:
                var next = self._entries.at(below + 1)
                if next.rank < other.rank:
                    other = next
                    below += 1
            if other.rank >= entry.rank:
                break
            self._entries.at(place) = other
            place = below
        self._entries.at(place) = entry
