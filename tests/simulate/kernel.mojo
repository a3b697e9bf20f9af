"""A kernel of one thread: stream sockets, pipes, epoll and clocks without any of
the system's, in which time passes only when it is waited for.

Octets are on their way for some time; they arrive in other portions than they
were sent in; buffers are small or large; connections are refused, ended and reset.
All of that is by the dice. One end of each connection belongs to the program that is
simulated, by its number, the other one to an actor of the simulation, by its index.
"""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.sys.epoll import (
    EPOLLERR,
    EPOLLET,
    EPOLLHUP,
    EPOLLIN,
    EPOLLOUT,
    EPOLLRDHUP,
)
from flare.sys.errno import (
    EAGAIN,
    EBADF,
    ECONNREFUSED,
    ECONNRESET,
    EEXIST,
    EINPROGRESS,
    EMFILE,
    ENOENT,
    EPIPE,
)
from tests.simulate.dice import Dice

comptime FIRST_NUMBER = 4_096
"""The number of the first descriptor; the system's own are below."""

comptime START_NS = 1_000_000_000_000
"""When each world begins. A coarse clock of milliseconds reads 0 at no time."""

comptime NOBODY = -1

comptime HTTP2_PORT = 9_003
"""Where upstreams speak HTTP/2."""

comptime LENGTH_MAX = 700_000
"""How much content there is at most, in bytes."""


@fieldwise_init
struct FileKind(Equatable, TrivialRegisterPassable):
    var _number: UInt8

    comptime CLOSED = FileKind(0)
    comptime SOCKET = FileKind(1)
    """A stream socket that is not connected, and does not listen."""
    comptime LISTENER = FileKind(2)
    comptime STREAM = FileKind(3)
    comptime READING = FileKind(4)
    """The end of a pipe that is read."""
    comptime WRITING = FileKind(5)
    comptime EPOLL = FileKind(6)


struct File(Movable):
    """An open descriptor."""

    var kind: FileKind
    var index: Int
    """The end of a connection, or the pipe."""
    var port: Int
    var waiting: List[Int]
    """Ends of connections that wait to be accepted."""
    var watcher: Int
    """The number of the epoll that watches it."""
    var interest: UInt32
    var token: UInt64
    var has_news: Bool
    """True if something has happened to it since it was reported last."""

    def __init__(out self, kind: FileKind, index: Int = NOBODY):
        self.kind = kind
        self.index = index
        self.port = 0
        self.waiting = []
        self.watcher = NOBODY
        self.interest = 0
        self.token = 0
        self.has_news = False


@fieldwise_init
struct Arrival(Equatable, TrivialRegisterPassable):
    var _number: UInt8

    comptime OCTETS = Arrival(0)
    comptime ANSWERED = Arrival(1)
    """The connection is made."""
    comptime END = Arrival(2)
    comptime RESET = Arrival(3)
    comptime REFUSED = Arrival(4)


@fieldwise_init
struct _Segment(TrivialRegisterPassable):
    """What arrives at some time."""

    var kind: Arrival
    var count: Int
    var at_ns: Int


struct End(Movable):
    """One end of a connection."""

    var peer: Int
    var number: Int
    """The descriptor; `NOBODY` if an actor has it, or it is closed."""
    var is_actors: Bool
    var inbox: Buffer
    """What has arrived and is not read."""
    var wire: Buffer
    """What is on its way here."""
    var segments: List[_Segment]
    var window: Int
    """How much may be on its way here and unread, in bytes."""
    var last_ns: Int
    """When the last segment arrives: none overtakes another."""
    var is_connected: Bool
    var has_ended: Bool
    """True if the peer's end has arrived."""
    var error: Int
    """An errno that waits to be told, or 0."""
    var is_dead: Bool
    """True if the connection was reset, or refused."""
    var wrote_end: Bool
    var wants_room: Bool
    """True if the last write did not take all."""
    var is_closed: Bool

    def __init__(out self, window: Int, is_actors: Bool):
        self.peer = NOBODY
        self.number = NOBODY
        self.is_actors = is_actors
        self.inbox = Buffer(0)
        self.wire = Buffer(0)
        self.segments = []
        self.window = window
        self.last_ns = 0
        self.is_connected = False
        self.has_ended = False
        self.error = 0
        self.is_dead = False
        self.wrote_end = False
        self.wants_room = False
        self.is_closed = False


struct Weather(Copyable):
    """What the network is like."""

    var delay_ns_max: Int
    """How long a segment may take."""
    var window_max: Int
    """The largest buffer of an end, in bytes."""
    var refuses_one_in: Int
    """How many connections are tried for one that is refused; 0 for none."""
    var lacks_numbers_one_in: Int
    """How many descriptors are asked for until there is none; 0 for never."""
    var interrupts_one_in: Int
    """How many calls a signal does not interrupt for one that it does; 0 for
    all."""
    var is_slow: Bool
    """True if a client that does all it can may be too slow for a server."""
    var length_max: Int
    """How much content a message may have, in bytes: with a window of an octet
    each, all else would have to wait for it."""

    def __init__(out self, mut dice: Dice):
        self.is_slow = dice.one_in(4)
        if self.is_slow:
            self.delay_ns_max = 1 << dice.between(10, 30)
            self.window_max = 1 << dice.between(0, 17)
        else:
            self.delay_ns_max = 1 << dice.between(10, 22)
            self.window_max = 1 << dice.between(10, 17)
        self.length_max = min(40_000, 200 * self.window_max)
        # More than any window of the server's.
        if not self.is_slow and dice.one_in(12):
            self.length_max = LENGTH_MAX
        self.refuses_one_in = dice.between(5, 20) if dice.one_in(4) else 0
        self.lacks_numbers_one_in = dice.between(10, 40) if dice.one_in(
            8
        ) else 0
        self.interrupts_one_in = dice.between(2, 20) if dice.one_in(4) else 0


struct Kernel(Movable):
    """Descriptors, connections, and the time."""

    var now_ns: Int
    var dice: Dice
    var weather: Weather
    var files: List[File]
    var ends: List[End]
    var pipes: List[Buffer]
    var news: List[Int]
    """Ends of actors to which something has happened."""
    var dialled: List[Int]
    """Ends that the program has connected to, for the actors there."""
    var open_count: Int
    """How many descriptors are open."""

    def __init__(out self, seed: UInt64):
        self.dice = Dice(seed)
        self.weather = Weather(self.dice)
        self.now_ns = START_NS
        self.files = []
        self.ends = []
        self.pipes = []
        self.news = []
        self.dialled = []
        self.open_count = 0

    # Descriptors.

    def has(self, number: Int) -> Bool:
        """Tells whether a number is of this kernel, be it open or not."""
        return number >= FIRST_NUMBER

    def _find(self, number: Int) -> Int:
        var index = number - FIRST_NUMBER
        if index < 0 or index >= len(self.files):
            return NOBODY
        if self.files.at(index).kind == FileKind.CLOSED:
            return NOBODY
        return index

    def _kind(self, number: Int) -> FileKind:
        var index = self._find(number)
        return self.files.at(index).kind if index >= 0 else FileKind.CLOSED

    def _open(mut self, var file: File) -> Int:
        """Opens the lowest number that is free."""
        self.open_count += 1
        for index in range(len(self.files)):
            if self.files.at(index).kind == FileKind.CLOSED:
                self.files.at(index) = file^
                return FIRST_NUMBER + index
        self.files.append(file^)
        return FIRST_NUMBER + len(self.files) - 1

    def _lacks_number(mut self) -> Bool:
        return self.dice.one_in(self.weather.lacks_numbers_one_in)

    def socket(mut self) -> Int:
        # The listener is there before anything goes wrong.
        if len(self.ends) > 0 and self._lacks_number():
            return -EMFILE
        return self._open(File(FileKind.SOCKET))

    def pipe(mut self) -> Int:
        """Opens two numbers, the second of which is the first and one."""
        self.pipes.append(Buffer(0))
        var first = len(self.files) + FIRST_NUMBER
        for kind in [FileKind.READING, FileKind.WRITING]:
            self.files.append(File(kind, len(self.pipes) - 1))
            self.open_count += 1
        return first

    def epoll(mut self) -> Int:
        return self._open(File(FileKind.EPOLL))

    def close(mut self, number: Int) -> Int:
        var index = self._find(number)
        if index < 0:
            return -EBADF
        self.open_count -= 1
        var kind = self.files.at(index).kind
        if kind == FileKind.STREAM:
            self.close_end(self.files.at(index).index)
        for waiting in self.files.at(index).waiting.copy():
            self.reset_end(waiting)
        self.files.at(index) = File(FileKind.CLOSED)
        return 0

    # Sockets.

    def listen(mut self, number: Int, port: Int) -> Int:
        var index = self._find(number)
        if index < 0:
            return -EBADF
        self.files.at(index).kind = FileKind.LISTENER
        self.files.at(index).port = port
        return 0

    def accept(mut self, number: Int) -> Int:
        var index = self._find(number)
        if index < 0 or self.files.at(index).kind != FileKind.LISTENER:
            return -EBADF
        if len(self.files.at(index).waiting) == 0:
            return -EAGAIN
        if self._lacks_number():
            return -EMFILE
        var end = self.files.at(index).waiting.pop(0)
        var opened = self._open(File(FileKind.STREAM, end))
        self.ends.at(end).number = opened
        return opened

    def connect(mut self, number: Int, port: Int) -> Int:
        """Begins a connection to an actor, who hears of it when it is made."""
        var index = self._find(number)
        if index < 0 or self.files.at(index).kind != FileKind.SOCKET:
            return -EBADF
        var own = self._pair(is_actors=False)
        self.ends.at(own).number = number
        self.ends.at(own).is_connected = False
        self.files.at(index).kind = FileKind.STREAM
        self.files.at(index).index = own
        self.files.at(index).port = port
        var is_refused = self.dice.one_in(self.weather.refuses_one_in)
        self._put(own, Arrival.REFUSED if is_refused else Arrival.ANSWERED, 0)
        return -EINPROGRESS

    def dial(mut self) -> Int:
        """Connects an actor to the program's listener. Returns the actor's end,
        or `NOBODY` if nobody listens."""
        for index in range(len(self.files)):
            if self.files.at(index).kind == FileKind.LISTENER:
                var own = self._pair(is_actors=True)
                var theirs = self.ends.at(own).peer
                self.files.at(index).waiting.append(theirs)
                self.files.at(index).has_news = True
                return own
        return NOBODY

    def _pair(mut self, is_actors: Bool) -> Int:
        """Makes two ends of a connection, and gives the index of the first."""
        var first = len(self.ends)
        for side in range(2):
            var window = self.weather.window_max
            window = self.dice.between((window + 1) // 2, window)
            self.ends.append(End(window, is_actors == (side == 0)))
            self.ends.at(first + side).peer = first + 1 - side
            self.ends.at(first + side).is_connected = True
            self.ends.at(first + side).last_ns = self.now_ns
        return first

    def dialled_port(self, end: Int) -> Int:
        """Tells which port the program connected to, whose other end this is."""
        return self.port_of(self.ends.at(self.ends.at(end).peer).number)

    # Ends, of the program and of actors.

    def room(self, end: Int) -> Int:
        """Tells how much can be written, in bytes."""
        ref peer = self.ends.at(self.ends.at(end).peer)
        return peer.window - len(peer.inbox) - len(peer.wire)

    def undelivered_len(self, end: Int) -> Int:
        return len(self.ends.at(self.ends.at(end).peer).wire)

    def write(mut self, end: Int, octets: Span[UInt8, _]) -> Int:
        """Takes as much as there is room for, or gives a negative errno."""
        if self.ends.at(end).error != 0:
            return -self._take_error(end)
        if self.ends.at(end).is_dead or self.ends.at(end).wrote_end:
            return -EPIPE
        var count = 0
        if self.ends.at(end).is_connected:
            count = min(len(octets), self.room(end))
        self.ends.at(end).wants_room = count < len(octets)
        if count <= 0:
            return -EAGAIN if len(octets) > 0 else 0
        var peer = self.ends.at(end).peer
        self.ends.at(peer).wire.append(octets[:count])
        var left = count
        while left > 0:
            var part = left
            if self.dice.one_in(3):
                part = self.dice.between(1, left)
            self._put(peer, Arrival.OCTETS, part)
            left -= part
        return count

    def read(mut self, end: Int, room: MutSpan[UInt8, _], peeks: Bool) -> Int:
        """Gives what has arrived, 0 at the end, or a negative errno."""
        if len(room) == 0:
            return 0
        var count = min(len(room), len(self.ends.at(end).inbox))
        if count > 0:
            room[:count].copy_from(self.ends.at(end).inbox.span()[:count])
            if not peeks:
                self.ends.at(end).inbox.consume(count)
                self._tell_room(self.ends.at(end).peer)
            return count
        if self.ends.at(end).error != 0:
            return -self._take_error(end)
        if self.ends.at(end).has_ended or self.ends.at(end).is_dead:
            return 0
        return -EAGAIN

    def _take_error(mut self, end: Int) -> Int:
        var error = self.ends.at(end).error
        self.ends.at(end).error = 0
        return error

    def _tell_room(mut self, end: Int):
        """Lets somebody write on who was short of room."""
        if self.ends.at(end).wants_room and self.room(end) > 0:
            self.ends.at(end).wants_room = False
            self._tell(end)

    def end_writing(mut self, end: Int) -> Int:
        if self.ends.at(end).is_dead:
            return -EPIPE
        if not self.ends.at(end).wrote_end:
            self.ends.at(end).wrote_end = True
            self._put(self.ends.at(end).peer, Arrival.END, 0)
        return 0

    def close_end(mut self, end: Int):
        """Ends both directions; what is unread is refused by a reset."""
        if self.ends.at(end).is_closed:
            return
        if len(self.ends.at(end).inbox) > 0:
            self.reset_end(end)
            return
        if not self.ends.at(end).is_dead:
            _ = self.end_writing(end)
        self.ends.at(end).is_closed = True
        self.ends.at(end).number = NOBODY
        self._let_all_in(end)

    def reset_end(mut self, end: Int):
        """Ends a connection by a reset."""
        if self.ends.at(end).is_closed:
            return
        if not self.ends.at(end).is_dead:
            self._put(self.ends.at(end).peer, Arrival.RESET, 0)
        self.ends.at(end).is_closed = True
        self.ends.at(end).is_dead = True
        self.ends.at(end).number = NOBODY
        self._let_all_in(end)

    def _let_all_in(mut self, end: Int):
        """Makes room for all that comes to an end that nobody has any more."""
        self.ends.at(end).inbox.clear()
        self.ends.at(end).window = 1 << 40
        self._tell_room(self.ends.at(end).peer)

    # What is on its way.

    def _put(mut self, end: Int, kind: Arrival, count: Int):
        """Sends a segment to an end."""
        var delay = self.dice.below(self.weather.delay_ns_max + 1)
        var at_ns = max(self.now_ns + delay, self.ends.at(end).last_ns)
        self.ends.at(end).last_ns = at_ns
        self.ends.at(end).segments.append(_Segment(kind, count, at_ns))

    def next_ns(self) -> Int:
        """Tells when something arrives next; `Int.MAX` if nothing is on its
        way."""
        var earliest = Int.MAX
        for index in range(len(self.ends)):
            ref segments = self.ends.at(index).segments
            if len(segments) > 0:
                earliest = min(earliest, segments.at(0).at_ns)
        return earliest

    def deliver(mut self):
        """Lets all arrive that is due."""
        for end in range(len(self.ends)):
            while (
                len(self.ends.at(end).segments) > 0
                and self.ends.at(end).segments.at(0).at_ns <= self.now_ns
            ):
                var segment = self.ends.at(end).segments.pop(0)
                self._arrive(end, segment)

    def _arrive(mut self, end: Int, segment: _Segment):
        var is_gone = self.ends.at(end).is_closed or self.ends.at(end).is_dead
        if segment.kind == Arrival.OCTETS:
            ref own = self.ends.at(end)
            if not is_gone:
                own.inbox.append(own.wire.span()[: segment.count])
            own.wire.consume(segment.count)
            if is_gone:
                self._answer_by_reset(end)
                return
        elif is_gone:
            return
        elif segment.kind == Arrival.END:
            self.ends.at(end).has_ended = True
        elif segment.kind == Arrival.ANSWERED:
            self.ends.at(end).is_connected = True
            self.dialled.append(self.ends.at(end).peer)
        else:
            self.ends.at(end).error = (
                ECONNREFUSED if segment.kind == Arrival.REFUSED else ECONNRESET
            )
            self.ends.at(end).is_dead = True
            # What has arrived and is not read may be lost by that.
            if self.dice.one_in(2):
                self.ends.at(end).inbox.clear()
        self._tell(end)

    def _answer_by_reset(mut self, end: Int):
        """Refuses octets that come to an end which is closed."""
        if not self.ends.at(end).is_dead:
            self.ends.at(end).is_dead = True
            self._put(self.ends.at(end).peer, Arrival.RESET, 0)

    def _tell(mut self, end: Int):
        """Takes note that something has happened to an end."""
        if self.ends.at(end).is_actors:
            if end not in self.news:
                self.news.append(end)
        elif self.ends.at(end).number >= 0:
            self.files.at(
                self.ends.at(end).number - FIRST_NUMBER
            ).has_news = True

    # Pipes.

    def write_pipe(mut self, number: Int, octets: Span[UInt8, _]) -> Int:
        var index = self._find(number)
        if index < 0 or self.files.at(index).kind != FileKind.WRITING:
            return -EBADF
        var pipe = self.files.at(index).index
        self.pipes.at(pipe).append(octets)
        for other in range(len(self.files)):
            if (
                self.files.at(other).kind == FileKind.READING
                and self.files.at(other).index == pipe
            ):
                self.files.at(other).has_news = True
        return len(octets)

    def read_pipe(mut self, number: Int, room: MutSpan[UInt8, _]) -> Int:
        var index = self._find(number)
        if index < 0 or self.files.at(index).kind != FileKind.READING:
            return -EBADF
        ref pipe = self.pipes.at(self.files.at(index).index)
        var count = min(len(room), len(pipe))
        if count == 0:
            return -EAGAIN
        room[:count].copy_from(pipe.span()[:count])
        pipe.consume(count)
        return count

    def is_interrupted(mut self) -> Bool:
        """Tells whether a signal ends a call before it has done anything."""
        return self.dice.one_in(self.weather.interrupts_one_in)

    # Epoll.

    def watch(
        mut self,
        epoll: Int,
        operation: Int,
        number: Int,
        interest: UInt32,
        token: UInt64,
    ) -> Int:
        comptime ADD = 1
        comptime DELETE = 2
        var index = self._find(number)
        if index < 0 or self._kind(epoll) != FileKind.EPOLL:
            return -EBADF
        ref file = self.files.at(index)
        if operation == ADD:
            if file.watcher != NOBODY:
                return -EEXIST
        elif file.watcher == NOBODY:
            return -ENOENT
        file.watcher = NOBODY if operation == DELETE else epoll
        file.interest = interest
        file.token = token
        # What is so already is told, too.
        file.has_news = True
        return 0

    def ready(mut self, epoll: Int, capacity: Int) -> List[Int]:
        """Gives indices of files that are to be reported, in an order by
        chance."""
        var found = List[Int]()
        for index in range(len(self.files)):
            ref file = self.files.at(index)
            if file.kind == FileKind.CLOSED or file.watcher != epoll:
                continue
            if (file.interest & EPOLLET) != 0 and not file.has_news:
                continue
            if self.mask(index) != 0:
                found.append(index)
        for place in range(len(found) - 1, 0, -1):
            found.swap_elements(place, self.dice.below(place + 1))
        while len(found) > capacity:
            _ = found.pop()
        for index in found:
            self.files.at(index).has_news = False
        return found^

    def mask(self, index: Int) -> UInt32:
        """Tells what of a file is ready that it is watched for."""
        ref file = self.files.at(index)
        var mask = UInt32(0)
        if file.kind == FileKind.LISTENER:
            if len(file.waiting) > 0:
                mask = EPOLLIN
        elif file.kind == FileKind.READING:
            if len(self.pipes.at(file.index)) > 0:
                mask = EPOLLIN
        elif file.kind == FileKind.STREAM:
            mask = self._stream_mask(file.index)
        return mask & (file.interest | EPOLLERR | EPOLLHUP)

    def _stream_mask(self, end: Int) -> UInt32:
        ref own = self.ends.at(end)
        var mask = UInt32(0)
        if own.error != 0:
            mask |= EPOLLERR
        if own.is_dead:
            return mask | EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLHUP
        if len(own.inbox) > 0:
            mask |= EPOLLIN
        if own.has_ended:
            mask |= EPOLLIN | EPOLLRDHUP
            if own.wrote_end:
                mask |= EPOLLHUP
        if own.is_connected and self.room(end) > 0:
            mask |= EPOLLOUT
        return mask

    def poll(self, number: Int, wanted: Int32) -> Int32:
        """Tells what is ready of a descriptor; the bits are those of epoll."""
        var end = self.end_of(number)
        if end < 0:
            return 0
        return Int32(
            self._stream_mask(end) & (UInt32(wanted) | EPOLLERR | EPOLLHUP)
        )

    def end_of(self, number: Int) -> Int:
        """Gives the end of a connection that a descriptor has, or `NOBODY`."""
        var index = self._find(number)
        if index < 0 or self.files.at(index).kind != FileKind.STREAM:
            return NOBODY
        return self.files.at(index).index

    def port_of(self, number: Int) -> Int:
        """Gives the port that a descriptor listens on, or is connected to."""
        var index = self._find(number)
        return self.files.at(index).port if index >= 0 else 0

    def stream_count(self) -> Int:
        """Counts the connections that the program holds open."""
        var count = 0
        for index in range(len(self.files)):
            if self.files.at(index).kind == FileKind.STREAM:
                count += 1
            count += len(self.files.at(index).waiting)
        return count
