"""The threads that share a connection of HTTP/2. One of those that wait leads:
it waits for the connection, and wakes the others when there is news for them.

A leader that goes its way hands the lead on, so that whenever somebody waits,
somebody leads, or has been woken to do so. Who is at its own source, sink or
hook waits for nothing, and nobody waits for it.
"""

from flare.bytes.checked import *
from flare.runtime.event import Waker

comptime NOBODY = -1


struct _Member(Movable):

    var number: Int
    var bell: Waker
    var is_waiting: Bool
    # Since it waited last.
    var has_news: Bool
    # True if its bell is to be silenced.
    var was_rung: Bool

    def __init__(out self, number: Int, var bell: Waker):
        self.number = number
        self.bell = bell^
        self.is_waiting = False
        self.has_news = False
        self.was_rung = False

    def ring(mut self):
        """Ends its wait, if it waits."""
        if self.is_waiting and not self.was_rung:
            self.was_rung = True
            self.bell.wake()


struct Crowd(Movable):
    """Who shares a connection, under the lock that guards the connection, too."""

    var leader: Int
    """Who waits for the connection; `NOBODY` if nobody does."""
    var _leader_writes: Bool
    var _members: List[_Member]
    var _next_number: Int

    def __init__(out self):
        self.leader = NOBODY
        self._leader_writes = False
        self._members = []
        self._next_number = 0

    def join(mut self, var bell: Waker) -> Int:
        """Takes in a request, whose waits the bell ends, nobody else's
        meanwhile. Returns its number, as the connection's owners have one."""
        self._next_number += 1
        self._members.append(_Member(self._next_number, bell^))
        return self._next_number

    def leave(mut self, number: Int):
        var index = self._find(number)
        if index >= 0:
            _ = self._members.pop(index)

    def begin_wait(mut self, number: Int, wants_write: Bool) -> Bool:
        """Notes that a request waits from now on, and tells whether it leads.
        `wants_write` if the connection has something to send."""
        ref member = self._members.at(self._find(number))
        member.is_waiting = True
        if self.leader != NOBODY:
            return False
        self.leader = number
        self._leader_writes = wants_write
        return True

    def end_wait(mut self, number: Int):
        """Notes that a request waits no longer, and that it leads no more."""
        ref member = self._members.at(self._find(number))
        member.is_waiting = False
        if member.was_rung:
            member.was_rung = False
            _ = member.bell.drain()
        if self.leader == number:
            self.leader = NOBODY

    def hand_over(mut self):
        """Wakes one of those that wait, to lead, if nobody does. One that was
        woken for its news, and is on its way, will do this, too."""
        if self.leader != NOBODY:
            return
        var first = -1
        for index in range(len(self._members)):
            ref member = self._members.at(index)
            if member.is_waiting and member.was_rung:
                return
            if member.is_waiting and first < 0:
                first = index
        if first >= 0:
            self._members.at(first).ring()

    def tell(mut self, numbers: List[Int]):
        """Tells requests that there is news."""
        for number in numbers:
            var index = self._find(number)
            if index >= 0:
                self._members.at(index).has_news = True
                self._members.at(index).ring()

    def take_news(mut self, number: Int) -> Bool:
        """Tells whether there is news for a request since this was asked last."""
        ref member = self._members.at(self._find(number))
        var has_news = member.has_news
        member.has_news = False
        return has_news

    def ring_leader(mut self):
        """Has the leader look for itself: what is to be read will not be told."""
        if self.leader != NOBODY:
            self._members.at(self._find(self.leader)).ring()

    def watch_writing(mut self):
        """Lets the leader wait until the connection takes octets, too."""
        if self.leader == NOBODY or self._leader_writes:
            return
        self._leader_writes = True
        self._members.at(self._find(self.leader)).ring()

    def _find(self, number: Int) -> Int:
        for index in range(len(self._members)):
            if self._members.at(index).number == number:
                return index
        return -1
