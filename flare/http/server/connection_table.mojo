"""Connections of a worker by token, those that go on in the next round of its loop,
and the tokens of what else it watches.

Tokens say what an event belongs to. A connection's has its slot in the low
half, which is never as high as the tokens of what is watched beside them, nor
as `TASK_TOKEN` of `WorkerLoop`.
"""

from flare.bytes.checked import *
from flare.http.server.connection.connection import Connection
from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr

comptime _SLOT_BITS: UInt64 = 32
comptime SLOT_MASK: UInt64 = 0xFFFFFFFF
"""The low half of a token."""


struct ConnectionTable(Defaultable, Movable, Sized):
    """Slots for connections; a slot is used again, its token never is.

    A token is a slot and the slot's generation. An event or a timer that
    belongs to a connection which is gone has an old generation, so it cannot
    reach the next one.
    """

    var _slots: List[Connection]
    var _free: List[Int]

    def __len__(self) -> Int:
        return len(self._slots) - len(self._free)

    def slot_count(self) -> Int:
        """Counts the slots, free ones included: one more than the highest ever
        used."""
        return len(self._slots)

    def open(mut self, var socket: RawSocket, peer: SocketAddr) -> Int:
        if len(self._free) == 0:
            self._free.append(len(self._slots))
            self._slots.append(Connection())
        var slot = self._free.pop()
        self._slots.at(slot).open(socket^, peer)
        self._slots.at(slot).token = self.token(slot)
        return slot

    def close(mut self, slot: Int):
        """Ends the open connection of a slot: closes its socket and frees the
        slot."""
        ref connection = self._slots.at(slot)
        connection.close()
        connection.generation += 1
        self._free.append(slot)

    @always_inline
    def token(self, slot: Int) -> UInt64:
        return UInt64(slot) | (
            UInt64(self._slots.at(slot).generation) << _SLOT_BITS
        )

    @always_inline
    def find(self, token: UInt64) -> Int:
        """Finds the slot of the connection that the token of an event or a
        timer belongs to; -1 if it is gone."""
        var slot = Int(token & SLOT_MASK)
        if slot >= len(self._slots):
            return -1
        ref connection = self._slots.at(slot)
        if UInt64(connection.generation) != token >> _SLOT_BITS:
            return -1
        return slot if connection.socket.is_open() else -1

    @always_inline
    def at(ref self, slot: Int) -> ref[self._slots[0]] Connection:
        return self._slots.at(slot)


comptime LISTENER_TOKEN: UInt64 = 0xFFFFFFFF
"""Connections wait; as a timer, accepting is to be tried again."""

comptime STOP_TOKEN: UInt64 = 0xFFFFFFFE
"""Another thread wants the worker to stop."""

comptime SIGNAL_TOKEN: UInt64 = 0xFFFFFFFD

comptime LIFELINE_TOKEN: UInt64 = 0xFFFFFFFC
"""The master of this process has ended."""

comptime DONE_TOKEN: UInt64 = 0xFFFFFFFB
"""Handlers on other threads have answered."""

comptime WAKE_TOKEN: UInt64 = 0xFFFFFFFA
"""Sources of content have something."""

comptime ORDER_TOKEN: UInt64 = 0xFFFFFFF9
"""The master of this process has orders."""


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
