"""The errand of a handler that waits for responses of others."""

from flare.bytes.checked import *
from flare.bytes.padding import Padding
from flare.bytes.text import Text
from flare.http.client.connect.error import BadRequest, ClientError, Phase
from flare.http.client.exchange.loop_calls import (
    NO_CALL,
    CallUser,
    LoopCalls,
    drop_call,
    settle,
    start_call,
)
from flare.http.client.message.request import ClientRequest
from flare.http.client.message.response import SendResult
from flare.http.client.shared_client import SharedClient
from flare.http.fetch.continuation import AnyContinuation
from flare.http.handler.later import Completion, Errand
from flare.runtime.worker_loop import WorkerLoop
from std.memory import ArcPointer

comptime ROUND_COUNT_MAX = 100
"""Most rounds of requests for one response: a continuation that always wants
another one must not go on for ever."""


comptime _KEY = 2
# Of what the loop keeps; no address is so low.


struct _Clients(Defaultable, Movable):
    """The clients of one worker, and its calls of each."""

    var clients: List[SharedClient]
    var calls: List[ArcPointer[LoopCalls]]

    def drop_unused(mut self):
        """Forgets clients of which there is no other copy left."""
        for index in range(len(self.clients) - 1, -1, -1):
            if (
                self.calls.at(index)[].is_idle()
                and self.clients.at(index).is_last()
            ):
                self.calls.pop(index)[].end()
                _ = self.clients.pop(index)


def _calls_of(
    loop: ArcPointer[WorkerLoop], client: SharedClient
) -> ArcPointer[LoopCalls]:
    """Finds what a worker has of a client, or makes it; the same for all copies
    of the client."""
    var kept = loop[].unsafe_local[_Clients](_KEY)
    if not kept:
        kept = ArcPointer(_Clients())
        loop[].keep_local(_KEY, kept.held())
    ref known = kept.held()[]
    for index in range(len(known.clients)):
        if known.clients.at(index).is_same(client):
            return known.calls.at(index).copy()
    known.drop_unused()
    known.clients.append(client)
    known.calls.append(ArcPointer(LoopCalls(loop, client.new_state())))
    return known.calls.at(len(known.calls) - 1).copy()


struct FetchErrand(CallUser, Errand):
    """Sends requests, and makes a response of what becomes of them."""

    var _padding: Padding[200]
    var _loop: ArcPointer[WorkerLoop]
    var _client: SharedClient
    # What is sent first.
    var _requests: List[ClientRequest]
    var _continuation: AnyContinuation
    var _completion: Optional[Completion]
    var _results: List[SendResult]
    var _calls: List[UInt64]
    var _waiting_count: Int
    var _round_count: Int
    # True while requests are begun, so that one which fails at once does not
    # begin the next round within this one.
    var _is_sending: Bool

    def __init__(
        out self,
        loop: ArcPointer[WorkerLoop],
        client: SharedClient,
        var requests: List[ClientRequest],
        var continuation: AnyContinuation,
    ):
        """Makes one that has not begun."""
        self._padding = {}
        self._loop = loop.copy()
        self._client = client
        self._requests = requests^
        self._continuation = continuation^
        self._completion = None
        self._results = []
        self._calls = []
        self._waiting_count = 0
        self._round_count = 0
        self._is_sending = False

    @staticmethod
    def begin(errand: ArcPointer[Self], var completion: Completion):
        """Sends the first requests."""
        errand[]._completion = completion^
        _run(errand)

    @staticmethod
    def on_content(errand: ArcPointer[Self]):
        """Ignores content: it is not read."""
        return

    @staticmethod
    def cancel(errand: ArcPointer[Self]):
        errand[]._completion = None
        var calls = _calls_of(errand[]._loop, errand[]._client)
        for token in errand[]._calls.copy():
            drop_call(calls, token)
        settle(calls)

    @staticmethod
    def on_result(user: ArcPointer[Self], index: Int, var result: SendResult):
        """Takes what became of a request; after the last one it goes on."""
        ref self = user[]
        self._results[index] = result^
        self._waiting_count -= 1
        if self._waiting_count > 0 or self._is_sending or not self._completion:
            return
        if not _go_on(user):
            _run(user)


def _run(errand: ArcPointer[FetchErrand]):
    """Sends requests, round after round, until one has to be waited for."""
    var calls = _calls_of(errand[]._loop, errand[]._client)
    while True:
        _send(errand, calls)
        if errand[]._waiting_count > 0 or _go_on(errand):
            return


def _send(errand: ArcPointer[FetchErrand], calls: ArcPointer[LoopCalls]):
    ref self = errand[]
    var requests = List[ClientRequest]()
    swap(requests, self._requests)
    var count = len(requests)
    self._results = List[SendResult](capacity=count)
    for _ in range(count):
        # Replaced by what becomes of the request.
        self._results.append(
            SendResult(ClientError(Phase.REQUEST, BadRequest, ""))
        )
    self._waiting_count = count
    self._is_sending = True
    self._calls.clear()
    requests.reverse()
    for index in range(count):
        var token = NO_CALL
        try:
            var request = self._client.prepare(requests.pop())
            token = start_call(calls, request^, errand, index)
        except error:
            FetchErrand.on_result(errand, index, SendResult(error^))
        self._calls.append(token)
    settle(calls)
    self._is_sending = False


def _go_on(errand: ArcPointer[FetchErrand]) -> Bool:
    """Lets the continuation go on; True if that was the end."""
    ref self = errand[]
    var results = List[SendResult]()
    swap(results, self._results)
    self._round_count += 1
    try:
        var next = self._continuation.go_on(results^)
        if next.response:
            self._completion.take().finish(next.response.take())
            return True
        if len(next.requests) == 0:
            raise Error(
                "the continuation of fetch_later gave neither a response nor"
                " requests"
            )
        if self._round_count >= ROUND_COUNT_MAX:
            raise Error(
                Text()
                .add("the continuation of fetch_later wanted requests ")
                .add(ROUND_COUNT_MAX)
                .add(" times, and gave no response")
                .end()
            )
        swap(self._requests, next.requests)
        return False
    except error:
        self._completion.take().fail(error^)
        return True
