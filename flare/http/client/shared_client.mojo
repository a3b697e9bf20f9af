"""A client that threads share."""

from flare.http.client.auth import Credentials
from flare.http.client.config import ClientConfig, accept_codings
from flare.http.client.batch import run_tasks
from flare.http.client.driver import NoStream, run_task
from flare.http.client.error import BadRequest, ClientError, Phase
from flare.http.client.prepared_request import (
    PreparedRequest,
    UNKNOWN_LEN,
    Upload,
    prepare_request,
)
from flare.http.client.progress import NoProgress
from flare.http.client.proxy import credentials_of
from flare.http.client.open_response import (
    OpenResponse,
    OpenTimes,
    ResponseOpener,
)
from flare.http.client.request import (
    CLIENTS_OWN,
    ClientRequest,
    parse_request_url,
)
from flare.http.client.response import (
    ClientResponse,
    ContentUse,
    SendResult,
)
from flare.http.client.shared_pool import ConnectionLimits, PoolFigures
from flare.http.client.state import ClientState, SharedParts
from flare.http.client.verbs import RequestMethods
from flare.http.cookie.jar import CookieJar
from flare.io.stream import Readable, Writable
from flare.net.error import NetworkError
from flare.sys.errno import OsError
from flare.sys.mutex import Mutex
from flare.url.url import Url
from std.memory import ArcPointer

comptime SPARE_STATE_COUNT_MAX = 64
"""Most states kept for the next requests; each has some 70 KiB of buffers."""


struct _Shared(Movable):
    var config: ClientConfig
    var base: Optional[Url]
    var auth: Credentials
    var parts: SharedParts
    # Of requests that are over; each request has one for itself.
    var spare: Mutex[List[ArcPointer[ClientState]]]

    def __init__(
        out self,
        var config: ClientConfig,
        var base: Optional[Url],
        var auth: Credentials,
        limits: ConnectionLimits,
    ) raises OsError:
        self.parts = SharedParts(limits, config.pool)
        self.spare = Mutex(List[ArcPointer[ClientState]]())
        self.config = config^
        accept_codings(self.config)
        self.base = base^
        self.auth = auth^


struct SharedClient(ImplicitlyCopyable, RequestMethods):
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
    and not for ever. A connection carries one request at a time, also over
    HTTP/2, but those of one `send_all`.
    """

    comptime Failure = ClientError
    """What is raised when there is no response."""
    var _shared: ArcPointer[_Shared]

    def __init__(
        out self,
        base_url: StringSpan = "",
        auth: Credentials = Credentials(),
        var config: ClientConfig = ClientConfig(),
        *,
        limits: ConnectionLimits = ConnectionLimits(),
    ) raises ClientError:
        """Makes a client without connections.

        Args:
            base_url: What URLs without a scheme are appended to.
            auth: `BasicAuth`, `BearerAuth` or `DigestAuth`. With a base URL
                they are only sent to its origin.
            config: Times, limits and habits of each request.
            limits: How many connections there may be, and who waits.

        Raises:
            ClientError: If the base URL is none, or the configuration or the
                credentials cannot work.
        """
        auth.check()
        var problem = config.problem()
        if problem.byte_length() == 0:
            problem = limits.problem()
        if problem.byte_length() > 0:
            raise ClientError(
                materialize[Phase.REQUEST](),
                materialize[BadRequest](),
                problem^,
            )
        var base = Optional[Url](None)
        var credentials = auth.copy()
        if base_url.byte_length() > 0:
            var url = parse_request_url(base_url)
            if not auth:
                credentials = credentials_of(url)
            base = url^
        try:
            self._shared = ArcPointer(
                _Shared(config^, base^, credentials^, limits)
            )
        except error:
            raise ClientError(materialize[Phase.REQUEST](), NetworkError(error))

    def with_cookies(
        var self, var jar: CookieJar = CookieJar()
    ) raises ClientError -> Self:
        """Keeps cookies from now on (RFC 6265), for all threads together.

        Call it before the client is used.

        Args:
            jar: Cookies to begin with.

        Returns:
            The same client.

        Raises:
            ClientError: If the system has no more locks.
        """
        try:
            self._shared[].parts.jar = Mutex(jar^)
        except error:
            raise ClientError(materialize[Phase.REQUEST](), NetworkError(error))
        return self^

    def cookies(self) -> CookieJar:
        """Copies the cookies that are kept.

        Returns:
            The cookies; none if none are kept.
        """
        ref jar = self._shared[].parts.jar
        return jar.value().snapshot() if jar else CookieJar()

    def figures(self) -> PoolFigures:
        """Tells what the connections do, for metrics.

        Returns:
            The figures now.
        """
        return self._shared[].parts.connections.figures()

    def close(self):
        """Closes idle connections; the client can still be used."""
        self._shared[].parts.connections.clear()

    def send(
        mut self, var request: ClientRequest
    ) raises ClientError -> ClientResponse:
        """Sends a request.

        Args:
            request: The request.

        Returns:
            The response.

        Raises:
            ClientError: If there is none.
        """
        var source = NoStream()
        var sink = NoStream()
        return self._run(request^, Upload(), False, source, sink)

    def open(
        mut self,
        var request: ClientRequest,
        *,
        raw: Bool = False,
        head_timeout_ms: Int = CLIENTS_OWN,
        idle_timeout_ms: Int = CLIENTS_OWN,
    ) raises ClientError -> OpenResponse:
        """Sends a request, and gives its response as soon as the head is there,
        as `HttpClient.open` does. The response belongs to one thread; its
        connection is in use until it is read to its end, or closed.

        Args:
            request: The request.
            raw: True to read the content as it is transferred, not decoded.
            head_timeout_ms: Time until the head is there.
            idle_timeout_ms: Longest silence while the caller reads.

        Returns:
            The response, to be read.

        Raises:
            ClientError: If there is none.
        """
        ref shared = self._shared[]
        var opener = ResponseOpener(
            self._take_state(), shared.base.copy(), shared.auth.copy()
        )
        return opener.open(
            request^,
            ContentUse.LEND_RAW if raw else ContentUse.LEND,
            OpenTimes(head_timeout_ms, idle_timeout_ms, False),
        )

    def send_all(
        mut self, requests: List[ClientRequest], max_parallel: Int = 10
    ) raises ClientError -> List[SendResult]:
        """Sends many requests at once, on this thread and one reactor, as
        `HttpClient.send_all` does.

        Args:
            requests: The requests. All responses are in memory at the end.
            max_parallel: Most requests under way at the same time; 1 or more.

        Returns:
            What became of them, in the order of the requests.

        Raises:
            ClientError: If `max_parallel` is 0 or less, or the system has no
                descriptors for a reactor.
        """
        if max_parallel < 1:
            raise ClientError(
                materialize[Phase.REQUEST](),
                materialize[BadRequest](),
                "send_all: max_parallel must be 1 or more",
            )
        ref shared = self._shared[]
        var state = self._take_state()
        var results: List[SendResult]
        try:
            results = run_tasks(
                state[], requests, shared.base, shared.auth, max_parallel
            )
        except error:
            self._give_state(state^)
            raise error^
        self._give_state(state^)
        return results^

    def download[
        W: Writable
    ](
        mut self, var request: ClientRequest, mut sink: W
    ) raises ClientError -> ClientResponse:
        """Sends a request, and writes the response's content to a sink, as
        `HttpClient.download` does.

        Parameters:
            W: The sink's type.

        Args:
            request: The request.
            sink: Gets the decoded content of a 2xx response; that of others
                is the response's body.

        Returns:
            The response.

        Raises:
            ClientError: If there is none, or the sink fails (`SinkFailed`).
        """
        var source = NoStream()
        return self._run(request^, Upload(), True, source, sink)

    def upload[
        R: Readable
    ](
        mut self,
        var request: ClientRequest,
        mut source: R,
        content_len: Int = UNKNOWN_LEN,
    ) raises ClientError -> ClientResponse:
        """Sends a request whose content comes from a source, as
        `HttpClient.upload` does.

        Parameters:
            R: The source's type.

        Args:
            request: The request; its own content is not sent.
            source: The content.
            content_len: Its length in bytes; if it is not known, the content
                is sent in chunks.

        Returns:
            The response.

        Raises:
            ClientError: If there is none, or the source fails
                (`SourceFailed`).
        """
        var sink = NoStream()
        return self._run(request^, Upload(content_len), False, source, sink)

    def _run[
        R: Readable, W: Writable
    ](
        mut self,
        var request: ClientRequest,
        upload: Upload,
        wants_stream: Bool,
        mut source: R,
        mut sink: W,
    ) raises ClientError -> ClientResponse:
        var prepared = self.prepare(request^, upload)
        if wants_stream:
            prepared.content_use = ContentUse.PASS_ON
        var state = self._take_state()
        var progress = NoProgress()
        var response: ClientResponse
        try:
            response = run_task(state[], prepared^, source, sink, progress)
        except error:
            self._give_state(state^)
            raise error^
        self._give_state(state^)
        return response^

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
            request^,
            upload,
            shared.base,
            shared.auth,
            Pointer(to=shared.config),
        )

    def new_state(self) -> ArcPointer[ClientState]:
        """Makes what one thread needs to send requests.

        Returns:
            Buffers and the like, and the connections that all threads share.
        """
        var state = ArcPointer(ClientState(self._shared[].config.copy()))
        state[].share(self._shared[].parts.copy())
        return state^

    def is_same(self, other: Self) -> Bool:
        """Tells whether another one is a copy.

        Args:
            other: The other one.

        Returns:
            True if they are the same client.
        """
        return self._shared is other._shared

    def is_last(self) -> Bool:
        """Tells whether there is no other copy.

        Returns:
            True if so.
        """
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
