"""A client that threads share."""

from flare.http.client.connect.auth import Credentials
from flare.http.client.exchange.prepared_request import (
    ClientBase,
    prepare_request,
    PreparedRequest,
    Upload,
)
from flare.http.client.message.config import ClientConfig, accept_codings
from flare.http.client.batch import run_tasks
from flare.http.client.exchange.driver import NoStream, run_task
from flare.http.client.connect.error import ClientError, Phase, check_problem
from flare.http.client.open_request import OpenRequest
from flare.http.client.open_response import ResponseOpener
from flare.http.client.message.request import (
    ClientRequest,
    NoProgress,
    TransferProgress,
)
from flare.http.client.message.response import (
    ClientResponse,
    ContentUse,
    SendResult,
)
from flare.http.client.connect.shared_pool import ConnectionLimits, PoolFigures
from flare.http.client.exchange.state import ClientState, SharedParts
from flare.http.client.transfers import TransferMethods
from flare.http.cookie.jar import CookieJar
from flare.io.stream import Readable, Writable
from flare.net.error import NetworkError
from flare.sys.errno import OsError
from flare.sys.mutex import Mutex
from std.memory import ArcPointer

comptime SPARE_STATE_COUNT_MAX = 64
"""Most states kept for the next requests; each has some 70 KiB of buffers."""


struct _Shared(Movable):
    var config: ClientConfig
    var base: ClientBase
    var parts: SharedParts
    # Of requests that are over; each request has one for itself.
    var spare: Mutex[List[ArcPointer[ClientState]]]

    def __init__(
        out self,
        var config: ClientConfig,
        var base: ClientBase,
        limits: ConnectionLimits,
    ) raises OsError:
        self.parts = SharedParts(limits, config.pool)
        self.spare = Mutex(List[ArcPointer[ClientState]]())
        self.config = config^
        accept_codings(self.config)
        self.base = base^


struct SharedClient(ImplicitlyCopyable, TransferMethods):
    """An `HttpClient` that many threads use at once; copies are the same one.

        var client = SharedClient("https://api.example.com", BearerAuth(token))
        var app = App(state=Services(client), handler=router^)

    and in a handler, on whatever thread it runs,

        var client = State[Services].of(req).lock()[].client
        var items = client.get("/items").json()

    The copy takes the client out of the state, so that the state's lock is not
    held during the request. Connections, tickets of TLS and cookies are in
    common, under locks that are held for bookkeeping alone. `ConnectionLimits`
    bounds the connections; who finds all of them in use waits for one, in turn
    and not for ever. Over HTTP/1.1 a connection carries one request at a time.
    Over HTTP/2 one carries those of all threads to a server, as many at once as
    the server allows, and who takes its content slowly, or not at all, holds back
    nobody else; a `send_all` has connections for itself meanwhile. What is
    opened, such as a response that is read as it comes, belongs to one thread,
    and has its connection, or its part in one, until it is read to its end, or
    closed.
    """

    comptime Failure = ClientError
    var _shared: ArcPointer[_Shared]

    def __init__(
        out self,
        base_url: StringSpan = "",
        auth: Credentials = Credentials(),
        var config: ClientConfig = ClientConfig(),
        *,
        limits: ConnectionLimits = ConnectionLimits(),
    ) raises ClientError:
        """Makes a client without connections; the rest is as for
        `HttpClient.__init__`.

        Args:
            limits: How many connections there may be, and who waits.
        """
        check_problem(config.problem())
        check_problem(limits.problem())
        var base = ClientBase(base_url, auth)
        try:
            self._shared = ArcPointer(_Shared(config^, base^, limits))
        except error:
            raise ClientError(Phase.REQUEST, NetworkError(error))

    def with_cookies(
        var self, var jar: CookieJar = CookieJar()
    ) raises ClientError -> Self:
        """Keeps cookies from now on (RFC 6265), for all threads together.

        Call it before the client is used; the rest is as for
        `HttpClient.with_cookies`.

        Raises:
            ClientError: If the system has no more locks.
        """
        try:
            self._shared[].parts.jar = Mutex(jar^)
        except error:
            raise ClientError(Phase.REQUEST, NetworkError(error))
        return self^

    def cookies(self) -> CookieJar:
        """Copies the cookies that are kept; none if none are kept."""
        ref jar = self._shared[].parts.jar
        return jar.value().snapshot() if jar else CookieJar()

    def figures(self) -> PoolFigures:
        """Tells what the connections do now, for metrics."""
        return self._shared[].parts.connections.figures()

    def close(self):
        """Closes idle connections; the client can still be used."""
        self._shared[].parts.connections.hold()[].clear()

    def send(
        mut self, var request: ClientRequest
    ) raises ClientError -> ClientResponse:
        """Sends a request; the rest is as for `RequestMethods.send`."""
        var source = NoStream()
        var sink = NoStream()
        var nobody = NoProgress()
        return self._run(
            request^, Upload(), source, sink, nobody, ContentUse.KEEP
        )

    def _opener(self) -> ResponseOpener:
        ref shared = self._shared[]
        return ResponseOpener(self._take_state(), shared.base.copy())

    def take_back(self, var request: OpenRequest):
        """Ends a request of `open_request`, as dropping it does, and keeps its
        buffers for the next ones.

        Args:
            request: What this client, or a copy of it, has opened.
        """
        self._give_state(request^.into_state())

    def _run[
        R: Readable, W: Writable, P: TransferProgress
    ](
        mut self,
        var request: ClientRequest,
        upload: Upload,
        mut source: R,
        mut sink: W,
        mut progress: P,
        use: ContentUse,
    ) raises ClientError -> ClientResponse:
        var prepared = self.prepare(request^, upload)
        prepared.content_use = use
        var state = self._take_state()
        var response: ClientResponse
        try:
            response = run_task(state[], prepared^, source, sink, progress)
        except error:
            self._give_state(state^)
            raise error^
        self._give_state(state^)
        return response^

    def _run_all(
        mut self, requests: List[ClientRequest], max_parallel: Int
    ) raises ClientError -> List[SendResult]:
        ref shared = self._shared[]
        var state = self._take_state()
        var results: List[SendResult]
        try:
            results = run_tasks(state, requests, shared.base, max_parallel)
        except error:
            self._give_state(state^)
            raise error^
        self._give_state(state^)
        return results^

    def prepare(
        self, var request: ClientRequest, upload: Upload = Upload()
    ) raises ClientError -> PreparedRequest:
        """Fills in what a request leaves to the client.

        Args:
            request: The request.
            upload: Where its content comes from.

        Returns:
            What is to be sent.

        Raises:
            ClientError: If it cannot be sent.
        """
        ref shared = self._shared[]
        return prepare_request(
            request^, upload, shared.base, Pointer(to=shared.config)
        )

    def new_state(self) -> ArcPointer[ClientState]:
        """Gives what one thread needs to send requests: buffers and the like,
        and the connections that all threads share."""
        var state = ArcPointer(ClientState(self._shared[].config.copy()))
        state[].share(self._shared[].parts.copy())
        return state^

    def is_same(self, other: Self) -> Bool:
        """Tells whether another client is a copy of this one.

        Args:
            other: The other one.
        """
        return self._shared is other._shared

    def is_last(self) -> Bool:
        """Tells whether there is no other copy."""
        return self._shared.count() == 1

    def _take_state(self) -> ArcPointer[ClientState]:
        """Gives buffers and the like to a request, for itself alone."""
        var spare = self._shared[].spare.lock()
        if len(spare[]) > 0:
            return spare[].pop()
        deinit(spare^)
        return self.new_state()

    def _give_state(self, var state: ArcPointer[ClientState]):
        var spare = self._shared[].spare.lock()
        if len(spare[]) < SPARE_STATE_COUNT_MAX:
            spare[].append(state^)
