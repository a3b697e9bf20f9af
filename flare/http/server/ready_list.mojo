"""Connections that gave way to others, and go on in the next round of the loop."""

from flare.bytes.checked import *


struct ReadyList(Defaultable, Movable, Sized):
    """Tokens of connections, those of this round apart from those before it: who
    gives way waits until others were looked at that came meanwhile."""

    var _before: List[UInt64]
    var _within: List[UInt64]

    @always_inline
    def __len__(self) -> Int:
        """Counts the connections that wait for a turn."""
        return len(self._before) + len(self._within)

    def add(mut self, token: UInt64):
        """Adds a connection, for the next round."""
        self._within.append(token)

    @always_inline
    def begin_round(mut self):
        """Begins a round: all that wait have their turn in it."""
        if len(self._within) > 0:
            self._before.extend(self._within.copy())
            self._within.clear()

    def take(mut self) -> List[UInt64]:
        """Takes the tokens of those that have their turn now; some may be of
        connections that are gone."""
        var tokens = List[UInt64]()
        swap(tokens, self._before)
        return tokens^
