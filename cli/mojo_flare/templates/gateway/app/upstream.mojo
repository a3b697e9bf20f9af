"""Asks the service behind the gateway, and gives its answer back."""

from app.forwarding import answer_for_client, request_for_upstream
from flare.http import (
    ClientConfig,
    ClientError,
    ClientResponse,
    Handler,
    HttpClient,
    Request,
    Response,
    State,
    not_found,
)
from flare.net import ConnectionTimeout, Timeout

comptime CONNECT_MS = 1_000
comptime TOTAL_MS = 10_000
"""How long the upstream may take for all of an answer."""
comptime IDLE_CLIENT_COUNT_MAX = 64
"""Most clients that are kept, with their connections, for later requests."""


struct Upstream(Handler):
    """Sends requests on.

    A client belongs to one thread at a time, so there are as many as requests
    wait for answers at once. Each keeps its connection.
    """

    var _url: String
    var _prefix: String
    var _idle: State[List[HttpClient]]

    def __init__(out self, url: String, prefix: String) raises:
        """Chooses the upstream.

        Args:
            url: Where it is, such as `http://127.0.0.1:9000`.
            prefix: What paths begin with there; nothing else is asked for.
        """
        self._url = url
        self._prefix = prefix
        self._idle = State(List[HttpClient]())
        # A URL that is none is found out now, not at the first request.
        self._give_back(self._new_client())

    def serve(self, req: Request) raises -> Response:
        """Sends a request on, and gives the answer back: 504 if the upstream
        takes too long, 502 if there is none."""
        var request = request_for_upstream(req, self._url, self._prefix)
        if not request:
            return not_found(req.url)
        var client = self._take()
        var answer: ClientResponse
        try:
            answer = client.send(request.take())
        except error:
            # The client goes, and with it a connection that may be broken.
            return _failure(error)
        self._give_back(client^)
        return answer_for_client(answer)

    def _new_client(self) raises -> HttpClient:
        var config = ClientConfig()
        config.connect_timeout_ms = CONNECT_MS
        config.total_timeout_ms = TOTAL_MS
        # Clients of the gateway follow redirections and decode by themselves.
        config.max_redirects = 0
        config.decodes_content = False
        return HttpClient(self._url, config=config^)

    def _take(self) raises -> HttpClient:
        var idle = self._idle.lock()
        if len(idle[]) > 0:
            return idle[].pop()
        return self._new_client()

    def _give_back(self, var client: HttpClient):
        var idle = self._idle.lock()
        if len(idle[]) < IDLE_CLIENT_COUNT_MAX:
            idle[].append(client^)


def _failure(error: ClientError) -> Response:
    """Tells a client what its answer lacks; why is for the log alone."""
    var is_late = error.kind == Timeout or error.kind == ConnectionTimeout
    return Response(504 if is_late else 502)
