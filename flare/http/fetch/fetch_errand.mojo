"""The errand of a handler that waits for responses of others."""

from flare.bytes.checked import *
from flare.bytes.padding import Padding
from flare.bytes.text import Text
from flare.http.client.error import BadRequest, ClientError, Phase
from flare.http.client.request import ClientRequest
from flare.http.client.response import SendResult
from flare.http.client.shared_client import SharedClient
from flare.http.fetch.continuation import AnyContinuation
from flare.http.client.loop_calls import (
    FetchUser,
    WorkerClient,
    drop_call,
    settle,
    start_call,
    worker_client,
)
from flare.http.handler.later import Completion, Errand
from flare.runtime.worker_loop import WorkerLoop
from std.memory import ArcPointer

comptime ROUND_COUNT_MAX = 100
"""Most rounds of requests for one response: a continuation that always wants
another one must not go on for ever."""


struct FetchErrand(Errand, FetchUser):
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
        var worker = worker_client(errand[]._loop, errand[]._client)
        for token in errand[]._calls.copy():
            drop_call(worker, token)
        settle(worker)

    @staticmethod
    def on_result(user: ArcPointer[Self], index: Int, var result: SendResult):
        """Takes what became of a request; behind the last one it goes on."""
        ref self = user[]
        self._results[index] = result^
        self._waiting_count -= 1
        if self._waiting_count > 0 or self._is_sending or not self._completion:
            return
        if not _go_on(user):
            _run(user)


def _run(errand: ArcPointer[FetchErrand]):
    """Sends requests, round after round, until one has to be waited for."""
    var worker = worker_client(errand[]._loop, errand[]._client)
    while True:
        _send(errand, worker)
        if errand[]._waiting_count > 0 or _go_on(errand):
            return


def _send(errand: ArcPointer[FetchErrand], worker: ArcPointer[WorkerClient]):
    ref self = errand[]
    var requests = List[ClientRequest]()
    swap(requests, self._requests)
    var count = len(requests)
    self._results = List[SendResult](capacity=count)
    for _ in range(count):
        # Replaced by what becomes of the request.
        self._results.append(
            SendResult(
                ClientError(
                    materialize[Phase.REQUEST](), materialize[BadRequest](), ""
                )
            )
        )
    self._waiting_count = count
    self._is_sending = True
    self._calls.clear()
    requests.reverse()
    for index in range(count):
        self._calls.append(start_call(worker, requests.pop(), errand, index))
    settle(worker)
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
