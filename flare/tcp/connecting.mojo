"""Happy Eyeballs (RFC 8305): the race of addresses, pure, and the sockets in it."""

from flare.bytes.checked import *
from flare.net.error import (
    AddressNotAvailable,
    BadAddress,
    ConnectionTimeout,
    NetworkError,
    Unreachable,
)
from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr
from flare.sys.clock import Deadline, monotonic_ms
from flare.sys.errno import ECONNREFUSED, EINTR, OsError
from flare.sys.poll import POLL_WRITE, PollEntry, poll_descriptors

# Further ahead than any deadline. Not `NEVER`: what is left until then is added to
# times of other clocks.
comptime _FAR_MS = 1 << 52


@fieldwise_init
struct Connected(Movable):
    """The winner of a race."""

    var socket: RawSocket
    var peer: SocketAddr
    """The address that answered."""

    def take_socket(deinit self) -> RawSocket:
        return self.socket^


def connect_first(
    addresses: List[SocketAddr], name: String, deadline: Deadline
) raises NetworkError -> Connected:
    """Connects to the first address that answers, best first; all others are
    closed. If none does in time, raises the first of several failures that says
    more than "unreachable"."""
    if len(addresses) == 0:
        raise NetworkError(
            materialize[BadAddress](),
            "connect",
            name,
            "there is no address to connect to",
        )
    var race = AddressRace(addresses.copy(), deadline)
    var winner = race.run()
    if winner >= 0:
        return race^.take(winner)
    raise race^.error(name, deadline)


def is_connected_to_itself(socket: RawSocket) raises NetworkError -> Bool:
    """Tells whether both sides of a connection are one socket. With nobody
    listening on a port of this machine, the kernel may choose that very port
    for the client, whose two requests then meet (RFC 9293 section 3.5,
    simultaneous open). No server is there: it counts as refused. Raises if the
    connection is gone already."""
    return socket.local_addr() == socket.peer_addr()


comptime STILL_RACING = -2
"""What `AddressRace.advance` answers while there is something to wait for."""


struct AddressRace(Movable):
    """The sockets of a `ConnectionRace`."""

    var _addresses: List[SocketAddr]
    var _sockets: List[RawSocket]
    var _core: ConnectionRace
    var _failure: Optional[NetworkError]

    var _wait_until_ms: Int

    def __init__(out self, var addresses: List[SocketAddr], deadline: Deadline):
        """Makes a race that has not begun, of at least one address, best first."""
        var now_ms = monotonic_ms()
        var left_ms = deadline.left_ms()
        var end_ms = _FAR_MS if left_ms < 0 else now_ms + left_ms
        if left_ms > 0:
            # Its clock has whole milliseconds, and the first has begun: who asks
            # after the race has to find the deadline over.
            end_ms += 1
        self._core = ConnectionRace(len(addresses), now_ms, end_ms)
        self._addresses = addresses^
        self._sockets = []
        self._failure = None
        self._wait_until_ms = now_ms

    def run(mut self) raises NetworkError -> Int:
        """Waits for the end of the race. Returns the index of the winner, or -1
        if there is none."""
        while True:
            var winner = self.advance()
            if winner != STILL_RACING:
                return winner
            winner = self._wait(self.wait_ms())
            if winner >= 0:
                self._core.succeeded()
                return winner

    def advance(mut self) raises NetworkError -> Int:
        """Goes on without waiting, for a reactor that watches the `numbers`.
        Returns the index of the winner, -1 if there is none, or `STILL_RACING`:
        call again when a socket is writable, and `wait_ms` from now at the
        latest."""
        while True:
            var step = self._core.next_step(monotonic_ms())
            var winner: Int
            if step.is_start():
                winner = self._start(step.value)
            elif step.is_wait():
                var failed_count = self._core.failed_count()
                winner = self._wait(0)
                if winner < 0 and failed_count == self._core.failed_count():
                    self._wait_until_ms = step.value
                    return STILL_RACING
            else:
                return -1
            if winner >= 0:
                self._core.succeeded()
                return winner

    def wait_ms(self) -> Int:
        """Tells when there is something to do although no socket is ready."""
        return max(self._wait_until_ms - monotonic_ms(), 0)

    def fds(self) -> List[Int32]:
        """Lends the descriptors of the attempts that are under way; one stays
        watched until its socket is closed."""
        var numbers = List[Int32]()
        for index in range(len(self._sockets)):
            if self._sockets.at(index).is_open():
                numbers.append(self._sockets.at(index).fd())
        return numbers^

    def _start(mut self, index: Int) -> Int:
        """Starts an attempt; its index if it succeeds at once, else -1."""
        var address = self._addresses.at(index)
        try:
            var socket = RawSocket.tcp(address.ip.is_v6())
            var is_connected = socket.connect(address)
            self._sockets.append(socket^)
            return index if is_connected else -1
        except error:
            # A closed socket in its place keeps the lists in step.
            if len(self._sockets) == index:
                self._sockets.append(RawSocket(owned=-1))
            self._note(error^)
            return -1

    def _wait(mut self, time_ms: Int) raises NetworkError -> Int:
        """Waits for attempts; the index of one that succeeded, or -1."""
        var entries = List[PollEntry](capacity=len(self._sockets))
        for index in range(len(self._sockets)):
            var number = self._sockets.at(index).fd()
            entries.append(PollEntry(number, POLL_WRITE, 0))
        var result = poll_descriptors(entries, time_ms)
        if result < 0 and result != -EINTR:
            raise NetworkError(OsError("poll", -result))
        for index in range(len(entries)):
            if entries.at(index).found == 0:
                continue
            try:
                self._check(index)
                return index
            except error:
                self._sockets.at(index).close()
                self._note(error^)
        return -1

    def _check(self, index: Int) raises NetworkError:
        var address = self._addresses.at(index)
        self._sockets.at(index).check_connected(address)
        if is_connected_to_itself(self._sockets.at(index)):
            raise NetworkError(
                OsError("connect", ECONNREFUSED), String(address)
            )

    def _note(mut self, var error: NetworkError):
        """Keeps the first failure that tells the most."""
        if not self._failure or (
            _says_little(self._failure.value()) and not _says_little(error)
        ):
            self._failure = error^
        self._core.failed(monotonic_ms())

    def take(deinit self, winner: Int) -> Connected:
        """Gives the winner that `run` or `advance` gave; the other sockets are
        closed."""
        var sockets = self._sockets^
        return Connected(sockets.pop(winner), self._addresses.at(winner))

    def error(deinit self, name: String, deadline: Deadline) -> NetworkError:
        """Explains why there is no connection."""
        var tried = String()
        if len(self._addresses) > 1:
            tried.write("; ", len(self._sockets), " of ")
            tried.write(len(self._addresses), " addresses tried")
        if self._failure and self._core.has_all_failed():
            var failure = self._failure.take()
            if failure.address != name:
                failure.address = String(
                    name, " (", failure.address, tried, ")"
                )
            return failure^
        var reason = String("no answer within ", deadline.timeout_ms, " ms")
        reason.write(tried, "; allow more time, or look for a firewall")
        return NetworkError(
            materialize[ConnectionTimeout](), "connect", name, reason^
        )


def _says_little(error: NetworkError) -> Bool:
    return error.kind == Unreachable or error.kind == AddressNotAvailable


comptime ATTEMPT_DELAY_MS = 250
"""Time between the starts of two attempts, in milliseconds (RFC 8305 section
5: the recommended fixed delay; 10 at least, 2000 at most)."""


struct RaceStep(Equatable, TrivialRegisterPassable, Writable):
    """What to do next."""

    var kind: Int
    """Which of the steps below."""
    var value: Int
    """Of `start` the address, of `wait` a moment in milliseconds."""

    comptime _START = 0
    comptime _WAIT = 1
    comptime _WON = 2
    comptime _ALL_FAILED = 3
    comptime _TOO_LATE = 4

    comptime WON = RaceStep(RaceStep._WON)
    """There is a connection: close all others."""
    comptime ALL_FAILED = RaceStep(RaceStep._ALL_FAILED)
    comptime TOO_LATE = RaceStep(RaceStep._TOO_LATE)
    """The deadline is over: close all."""

    def __init__(out self, kind: Int, value: Int = 0):
        """Makes a step; the value is the address or the moment."""
        self.kind = kind
        self.value = value

    @staticmethod
    def start(index: Int) -> Self:
        """Tells to start an attempt."""
        return Self(Self._START, index)

    @staticmethod
    def wait(until_ms: Int) -> Self:
        """Tells to wait for the attempts that are under way, until a moment at
        most."""
        return Self(Self._WAIT, until_ms)

    def is_start(self) -> Bool:
        """Tells whether an attempt is to be started, at the address `value`."""
        return self.kind == Self._START

    def is_wait(self) -> Bool:
        """Tells whether there is nothing to do but wait until the moment
        `value`, to ask again."""
        return self.kind == Self._WAIT

    def write_to(self, mut writer: Some[Writer]):
        comptime names = ["start ", "wait ", "won", "all failed", "too late"]
        var name = materialize[names]().at(self.kind)
        writer.write(name)
        if self.kind <= Self._WAIT:
            writer.write(self.value)


struct ConnectionRace(Movable):
    """Attempts at several addresses, started one after the other.

    Source: RFC 8305 section 5. The next attempt starts a fixed delay after the
    one before, or as soon as an attempt fails; the first success ends the race.
    """

    var _address_count: Int
    var _deadline_ms: Int
    var _started_count: Int
    var _failed_count: Int
    var _next_start_ms: Int
    var _is_won: Bool

    def __init__(out self, address_count: Int, now_ms: Int, deadline_ms: Int):
        """Begins a race; the first attempt starts at once."""
        self._address_count = address_count
        self._deadline_ms = deadline_ms
        self._started_count = 0
        self._failed_count = 0
        self._next_start_ms = now_ms
        self._is_won = False

    def next_step(mut self, now_ms: Int) -> RaceStep:
        """Decides what to do; a step that starts an attempt counts as done."""
        if self._is_won:
            return RaceStep.WON
        if self.has_all_failed():
            return RaceStep.ALL_FAILED
        if now_ms >= self._deadline_ms:
            return RaceStep.TOO_LATE
        if self._started_count == self._address_count:
            return RaceStep.wait(self._deadline_ms)
        if now_ms < self._next_start_ms:
            return RaceStep.wait(min(self._next_start_ms, self._deadline_ms))
        self._started_count += 1
        self._next_start_ms = now_ms + ATTEMPT_DELAY_MS
        return RaceStep.start(self._started_count - 1)

    def has_all_failed(self) -> Bool:
        """Tells whether no address is left; there may have been none."""
        return self._failed_count == self._address_count

    def failed_count(self) -> Int:
        return self._failed_count

    def failed(mut self, now_ms: Int):
        """Notes that an attempt has failed: the next one starts at once."""
        self._failed_count += 1
        self._next_start_ms = now_ms

    def succeeded(mut self):
        """Notes that an attempt has succeeded."""
        self._is_won = True
