"""Fuzzes the reactor with descriptors that come, change, go and come again.

Beside it stands a table of what is registered and ready. A poll hands out the
tokens that the table names, each once: no event reaches the token of one that
was changed, deregistered or closed, though its number is used again, and none
is lost.
"""

from flare.runtime.event import Interest
from flare.runtime.reactor import Reactor
from flare.sys.descriptor import Pipe
from fuzz.engine import Target, fuzz_main

comptime _SLOT_COUNT = 5


struct _Slot(Movable):
    """One pipe, whose reading end may be registered."""

    var pipe: Pipe
    var token: UInt64
    """0 if it is not registered."""
    var is_edge: Bool
    var has_octets: Bool
    var is_hung_up: Bool
    var is_armed: Bool
    """It has become ready, or was registered or changed, since the last poll.
    """

    def __init__(out self) raises:
        self.pipe = Pipe()
        self.token = 0
        self.is_edge = False
        self.has_octets = False
        self.is_hung_up = False
        self.is_armed = False

    def is_due(self) -> Bool:
        var is_ready = self.has_octets or self.is_hung_up
        return (
            self.token != 0 and is_ready and (self.is_armed or not self.is_edge)
        )

    def ring(mut self):
        if not self.is_hung_up:
            self.pipe.notify()
            self.has_octets = True
            self.is_armed = True

    def drain(mut self):
        _ = self.pipe.drain()
        self.has_octets = False

    def hang_up(mut self):
        if not self.is_hung_up:
            _ = self.pipe.take_writing()
            self.is_hung_up = True
            self.is_armed = True


struct _Pair:
    """A reactor, and the table of what it should know."""

    var reactor: Reactor
    var slots: List[Optional[_Slot]]
    var last_token: UInt64

    def __init__(out self) raises:
        self.reactor = Reactor()
        self.slots = List[Optional[_Slot]]()
        for _ in range(_SLOT_COUNT):
            self.slots.append(None)
        self.last_token = 0

    def watch(mut self, index: Int, is_edge: Bool, is_new: Bool) raises:
        """Registers or changes one; the one that does not fit is refused."""
        ref slot = self.slots[index].value()
        var interest = Interest.READ
        if is_edge:
            interest = Interest.READ | Interest.EDGE
        self.last_token += 1
        var is_refused = False
        try:
            if is_new:
                self.reactor.register(
                    slot.pipe.reading_fd(), self.last_token, interest
                )
            else:
                self.reactor.modify(
                    slot.pipe.reading_fd(), self.last_token, interest
                )
        except:
            is_refused = True
        if is_refused != (is_new == (slot.token != 0)):
            raise Error("registered: ", slot.token, "; refused: ", is_refused)
        if not is_refused:
            slot.token = self.last_token
            slot.is_edge = is_edge
            slot.is_armed = True

    def forget(mut self, index: Int) raises:
        """Deregisters one; one that is not registered is refused."""
        ref slot = self.slots[index].value()
        var is_refused = False
        try:
            self.reactor.deregister(slot.pipe.reading_fd())
        except:
            is_refused = True
        if is_refused != (slot.token == 0):
            raise Error("registered: ", slot.token, "; refused: ", is_refused)
        slot.token = 0

    def poll(mut self) raises:
        """Compares the events of one poll with the table."""
        var seen = Array[Bool, _SLOT_COUNT](fill=False)
        for number in range(self.reactor.poll(0)):
            var event = self.reactor.event(number)
            var found = -1
            for index in range(_SLOT_COUNT):
                if self.slots[index]:
                    if self.slots[index].value().token == event.token:
                        found = index
            if found < 0 or seen[found]:
                raise Error("an event of nobody, or a second: ", event.token)
            seen[found] = True
            ref slot = self.slots[found].value()
            if not event.is_readable or event.is_closed != slot.is_hung_up:
                raise Error("the event is not what has happened")
        for index in range(_SLOT_COUNT):
            if not self.slots[index]:
                continue
            ref slot = self.slots[index].value()
            if slot.is_due() != seen[index]:
                raise Error(slot.token, " is due: ", slot.is_due())
            slot.is_armed = slot.is_armed and slot.token == 0


@fieldwise_init
struct ReactorTarget(Target):
    """Octets are steps: the low bits say what, the others with which pipe."""

    def seeds(self) -> List[String]:
        """Lists programs."""
        return ["@AHI@ABCI", "@HAIIEI@HAI", "@PHXAQIGIFI", "@HAHKAI@HAI"]

    def tokens(self) -> List[String]:
        """Lists steps."""
        return ["@", "A", "I", "@HAI", "DI", "BI", "CI", "PX"]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Does each step with both."""
        var pair = _Pair()
        for octet in input[0 : min(len(input), 200)]:
            _step(pair, Int(octet & 15), Int(octet >> 4) % _SLOT_COUNT)
        pair.poll()


def _step(mut pair: _Pair, what: Int, index: Int) raises:
    if what >= 12:
        pair.poll()
    elif what == 11:
        pair.reactor.waker().wake()
    elif not pair.slots[index]:
        pair.slots[index] = _Slot()
        pair.watch(index, what % 2 == 0, True)
    elif what < 3:
        pair.slots[index].value().ring()
    elif what == 3:
        pair.slots[index].value().drain()
    elif what == 4:
        pair.slots[index].value().hang_up()
    elif what < 9:
        pair.watch(index, what % 2 == 0, what < 7)
    elif what == 9:
        pair.forget(index)
    else:
        # Closed without a word: its number is the next one to be used.
        pair.slots[index] = None


def main() raises:
    """Runs the target."""
    fuzz_main("reactor", ReactorTarget())
