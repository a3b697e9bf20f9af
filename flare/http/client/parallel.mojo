"""Many requests on one reactor."""

from flare.http.client.auth import Credentials
from flare.http.client.call import Call, Upload
from flare.http.client.client_request import ClientRequest
from flare.http.client.client_state import ClientState
from flare.http.client.error import BadRequest, ClientError, Phase
from flare.http.client.flight import Flight
from flare.http.client.preparing import prepare_call
from flare.http.client.send_result import SendResult
from flare.http.message.url import Url
from flare.net.error import NetworkError
from flare.runtime.event import Interest
from flare.runtime.reactor import Reactor
from flare.runtime.timer_wheel import TimerId
from flare.sys.errno import OsError
from flare.sys.poll import POLL_WRITE, PollEntry


struct WaitingCall(Movable):
    """A request that has not begun."""

    var index: Int
    """Its place among the caller's requests."""
    var call: Call
    """The request."""

    def __init__(out self, index: Int, var call: Call):
        """Joins the two.

        Args:
            index: Its place among the caller's requests.
            call: The request.
        """
        self.index = index
        self.call = call^

    def start(deinit self) -> Flight:
        """Begins it.

        Returns:
            The request under way.
        """
        return Flight(self.index, self.call^)


def run_parallel(
    mut state: ClientState,
    requests: List[ClientRequest],
    base: Optional[Url],
    auth: Credentials,
    max_parallel: Int,
) raises ClientError -> List[SendResult]:
    """Sends requests, so many at a time.

    Args:
        state: The client.
        requests: The requests.
        base: The client's base URL.
        auth: The client's credentials.
        max_parallel: Most requests under way at once.

    Returns:
        What became of them, each in its place.

    Raises:
        ClientError: If there is no reactor to be had.
    """
    var results = List[SendResult](capacity=len(requests))
    var waiting = List[WaitingCall]()
    for index in range(len(requests)):
        # Replaced by what becomes of the request.
        var failure = ClientError(
            materialize[Phase.REQUEST](), materialize[BadRequest](), ""
        )
        try:
            var request = requests[index].copy()
            var call = prepare_call(
                request^, Upload(), base, auth, state.config
            )
            waiting.append(WaitingCall(index, call^))
        except error:
            failure = error^
        results.append(SendResult(failure^))
    waiting.reverse()
    try:
        _run(state, waiting, max_parallel, results)
        return results^
    except error:
        raise ClientError(materialize[Phase.CONNECT](), NetworkError(error))


def _run(
    mut state: ClientState,
    mut waiting: List[WaitingCall],
    max_parallel: Int,
    mut results: List[SendResult],
) raises OsError:
    if len(waiting) == 0:
        return
    var lanes = List[_Lane]()
    var reactor = Reactor()
    var busy_count = min(max_parallel, len(waiting))
    for _ in range(busy_count):
        lanes.append(_Lane())
    for index in range(len(lanes)):
        var is_idle = lanes[index].turn(
            UInt64(index), state, reactor, waiting, results, False
        )
        busy_count -= Int(is_idle)
    # Each round costs what is ready or due, however many others are silent.
    while busy_count > 0:
        for index in range(reactor.poll()):
            var token = reactor.event(index).token
            if not lanes[Int(token)].flight:
                # It had two descriptors ready, and was over with the first.
                continue
            var is_idle = lanes[Int(token)].turn(
                token, state, reactor, waiting, results, True
            )
            busy_count -= Int(is_idle)
        while True:
            var expired = reactor.next_expired()
            if not expired:
                break
            var token = expired.value()
            var is_idle = lanes[Int(token)].turn_if_due(
                token, state, reactor, waiting, results
            )
            busy_count -= Int(is_idle)


struct _Lane(Movable):
    """Requests one after the other."""

    var flight: Optional[Flight]
    # What the reactor watches for it, and in which attempt.
    var _watched: List[PollEntry]
    var _watched_number: Int
    # Expires when the flight is due, or before.
    var _timer: TimerId

    def __init__(out self):
        self.flight = None
        self._watched = []
        self._watched_number = -1
        self._timer = TimerId.NONE

    def turn_if_due(
        mut self,
        token: UInt64,
        mut state: ClientState,
        mut reactor: Reactor,
        mut waiting: List[WaitingCall],
        mut results: List[SendResult],
    ) raises OsError -> Bool:
        """Goes on if the time for that has come; the timer has expired."""
        self._timer = TimerId.NONE
        if not self.flight:
            return False
        if not self.flight.value().is_due():
            self._set_timer(reactor, token)
            return False
        return self.turn(token, state, reactor, waiting, results, False)

    def _set_timer(mut self, mut reactor: Reactor, token: UInt64):
        _ = reactor.cancel_timer(self._timer)
        self._timer = TimerId.NONE
        var wait_ms = self.flight.value().wait_ms()
        if wait_ms >= 0:
            self._timer = reactor.insert_timer(wait_ms, token)

    def turn(
        mut self,
        token: UInt64,
        mut state: ClientState,
        mut reactor: Reactor,
        mut waiting: List[WaitingCall],
        mut results: List[SendResult],
        is_ready: Bool,
    ) raises OsError -> Bool:
        """Goes on with a request, and with the next ones if it is over.

        Returns:
            True if there is none left.
        """
        var may_read = is_ready
        while True:
            if not self.flight:
                if len(waiting) == 0:
                    break
                self._watch(reactor, token, [], -1)
                self.flight = waiting.pop().start()
                may_read = False
            if not self._advance(state, results, may_read):
                break
        if not self.flight:
            self._watch(reactor, token, [], -1)
            _ = reactor.cancel_timer(self._timer)
            return True
        ref flight = self.flight.value()
        var number = -1
        if flight.is_exchanging():
            number = flight.attempt_number
        self._watch(reactor, token, flight.watches(), number)
        self._set_timer(reactor, token)
        return False

    def _advance(
        mut self,
        mut state: ClientState,
        mut results: List[SendResult],
        is_ready: Bool,
    ) -> Bool:
        """Stores what becomes of the request; True if it is over."""
        var index = self.flight.value().index
        try:
            if not self.flight.value().advance(state, is_ready):
                return False
            results[index] = SendResult(self.flight.take().take_response())
        except error:
            results[index] = SendResult(error^)
            self.flight = None
        return True

    def _watch(
        mut self,
        mut reactor: Reactor,
        token: UInt64,
        var entries: List[PollEntry],
        number: Int,
    ) raises OsError:
        """Watches other descriptors from now on.

        Descriptors are closed without notice, which ends their watch. Until
        then nobody else can have registered their number, for all that a lane
        closes and opens, it does within one turn.
        """
        if number >= 0 and number == self._watched_number:
            # The same connection; but it may be watched for something else.
            if entries[0].wanted != self._watched[0].wanted:
                reactor.modify(entries[0].number, token, _interest(entries[0]))
            self._watched = entries^
            return
        for entry in self._watched:
            try:
                reactor.deregister(entry.number)
            except:
                # It is closed already.
                pass
        for entry in entries:
            if entry.number >= 0:
                reactor.register(entry.number, token, _interest(entry))
        self._watched = entries^
        self._watched_number = number


def _interest(entry: PollEntry) -> Interest:
    if entry.wanted == POLL_WRITE:
        return Interest.WRITE
    if (entry.wanted & POLL_WRITE) != 0:
        return Interest.READ | Interest.WRITE
    return Interest.READ
