"""The HTTP client, and single requests without one."""

from flare.http.client.message.arguments import (
    DataContent,
    FormContent,
    JsonContent,
    QueryParams,
    RequestHeaders,
)
from flare.http.client.connect.auth import Credentials
from flare.http.client.exchange.prepared_request import (
    ClientBase,
    prepare_request,
    Upload,
)
from flare.http.client.message.config import ClientConfig
from flare.http.client.batch import run_tasks
from flare.http.client.exchange.driver import NoStream, run_task
from flare.http.client.connect.error import ClientError, check_problem
from flare.http.client.open_response import ResponseOpener
from flare.http.client.message.request import (
    CLIENTS_OWN,
    ClientRequest,
    RequestBody,
    NoProgress,
    TransferProgress,
)
from flare.http.client.message.response import (
    ClientResponse,
    ContentUse,
    SendResult,
)
from flare.http.client.exchange.state import ClientState
from flare.http.client.message.verbs import bare_request, with_content
from flare.http.client.transfers import TransferMethods
from flare.http.cookie.jar import CookieJar
from flare.trace.core.span import TraceSpan
from flare.io.stream import Readable, Writable
from std.memory import ArcPointer


struct HttpClient(TransferMethods):
    """Sends requests, and keeps connections alive between them.

        with HttpClient("https://api.example.com", BearerAuth(token)) as client:
            var items = client.get("/items").json()
            client.post("/items", '{"name": "new"}').raise_for_status()

    A client belongs to one thread. A process that forks keeps its connections,
    and the child opens its own. All its errors are `ClientError`, which
    name the phase; a status of 400 or more is a response like any other.
    """

    comptime Failure = ClientError
    # Shared with the client of a `with` block.
    var _state: ArcPointer[ClientState]
    var _base: ClientBase

    def __init__(
        out self,
        base_url: StringSpan = "",
        auth: Credentials = Credentials(),
        var config: ClientConfig = ClientConfig(),
    ) raises ClientError:
        """Makes a client without connections.

        Args:
            base_url: What URLs without a scheme are appended to.
            auth: `BasicAuth`, `BearerAuth` or `DigestAuth`. With a base URL
                they are only sent to its origin.
            config: Times, limits and habits.

        Raises:
            ClientError: If the base URL is none, or the configuration or the
                credentials cannot work.
        """
        check_problem(config.problem())
        self._base = ClientBase(base_url, auth)
        self._state = ArcPointer(ClientState(config^))

    def __init__(out self, *, sharing: Self):
        """Makes a client that shares everything with another one.

        Args:
            sharing: The other one.
        """
        self._state = sharing._state
        self._base = sharing._base.copy()

    def __enter__(self) -> Self:
        """Lets the client live as long as a `with` block.

        Returns:
            A client that shares everything with this one.
        """
        return Self(sharing=self)

    def __exit__(mut self):
        """Closes idle connections at the end of a `with` block."""
        self.close()

    def __exit__(mut self, error: Error) -> Bool:
        """Closes idle connections when a `with` block fails.

        Because of this method, errors of any type leave the block, as `Error`.

        Args:
            error: Why it fails.

        Returns:
            False, for the error goes on.
        """
        self.close()
        return False

    def with_cookies(var self, var jar: CookieJar = CookieJar()) -> Self:
        """Keeps cookies from now on (RFC 6265).

            var client = HttpClient("https://example.com").with_cookies()

        Args:
            jar: Cookies to begin with.

        Returns:
            The same client.
        """
        self._state[].jar = jar^
        return self^

    def cookies(self) -> CookieJar:
        """Copies the cookies that are kept; none if none are kept."""
        if self._state[].jar:
            return self._state[].jar.value().copy()
        return CookieJar()

    def close(mut self):
        """Closes idle connections; the client can still be used."""
        self._state[].leave_to_parent()
        self._state[].pool.clear()

    def idle_count(self) -> Int:
        """Counts the connections that wait for a request."""
        self._state[].leave_to_parent()
        return len(self._state[].pool)

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
        return ResponseOpener(self._state, self._base.copy())

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
        var prepared = prepare_request(
            request^, upload, self._base, Pointer(to=self._state[].config)
        )
        prepared.content_use = use
        return run_task(self._state[], prepared^, source, sink, progress)

    def _run_all(
        mut self, requests: List[ClientRequest], max_parallel: Int
    ) raises ClientError -> List[SendResult]:
        return run_tasks(self._state, requests, self._base, max_parallel)


def _single[
    method: StaticString
](
    url: StringSpan,
    *,
    var headers: RequestHeaders = RequestHeaders(),
    var params: QueryParams = QueryParams(),
    timeout_ms: Int = CLIENTS_OWN,
    auth: Credentials = Credentials(),
    trace: TraceSpan = TraceSpan(),
) raises ClientError -> ClientResponse:
    """Sends one request over a connection of its own, with the arguments of
    `HttpClient.get`. Raises if there is no response."""
    var client = HttpClient()
    return client.send(
        bare_request(method, url, headers^, params^, timeout_ms, auth, trace)
    )


def _single_with_content[
    method: StaticString
](
    url: StringSpan,
    var body: RequestBody = RequestBody(),
    *,
    var headers: RequestHeaders = RequestHeaders(),
    var params: QueryParams = QueryParams(),
    var json: JsonContent = JsonContent(),
    var form: FormContent = FormContent(),
    var data: DataContent = DataContent(),
    timeout_ms: Int = CLIENTS_OWN,
    auth: Credentials = Credentials(),
    trace: TraceSpan = TraceSpan(),
) raises ClientError -> ClientResponse:
    """Sends one request over a connection of its own, with the arguments of
    `HttpClient.request`. Raises if there is no response, or content is given
    twice."""
    var client = HttpClient()
    var bare = bare_request(
        method, url, headers^, params^, timeout_ms, auth, trace
    )
    return client.send(with_content(bare^, body^, json^, form^, data^))


comptime get = _single["GET"]
"""Fetches a resource, over a connection of its own."""
comptime head = _single["HEAD"]
"""Fetches what is said of a resource, without its content, over a connection of its own."""
comptime options = _single["OPTIONS"]
"""Asks what a resource allows, over a connection of its own."""
comptime delete = _single_with_content["DELETE"]
"""Removes a resource, over a connection of its own."""
comptime post = _single_with_content["POST"]
"""Lets a resource process content, over a connection of its own."""
comptime put = _single_with_content["PUT"]
"""Replaces a resource, over a connection of its own."""
comptime patch = _single_with_content["PATCH"]
"""Changes a part of a resource, over a connection of its own."""
