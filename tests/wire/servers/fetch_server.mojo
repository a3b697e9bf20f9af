"""The server of the tests of `fetch_later`: its handlers ask `upstream`.

    fetch_server PORT upstream=URL workers=N prior_knowledge=1 ca=PATH read_timeout_ms=N
                 max_per_host=N queue_timeout_ms=N max_waiting=N retries=N
"""

from flare.http import (
    ClientConfig,
    ClientRequest,
    ClientResponse,
    HttpServer,
    Request,
    Response,
    Router,
    ok,
)
from flare.http.client import (
    CancelToken,
    ConnectionLimits,
    RetryPolicy,
    SendResult,
    SharedClient,
)
from flare.http.fetch import (
    Continuation,
    NextStep,
    fetch_failure,
    fetch_later,
)
from flare.http.routing import Deferred, Handler
from flare.net import SocketAddr
from flare.tls import TlsConfig
from std.sys import argv


@fieldwise_init
struct Relay(Copyable, Handler):
    """Passes on what `?path` of the upstream is, or what it answers to the
    content."""

    var client: SharedClient

    def serve(self, req: Request) raises -> Response:
        var request = ClientRequest(String(req.method_name), target(req))
        if req.method_name == "POST":
            request.body = req.text()
        return fetch_later(req, self.client, request^)


def target(req: Request) raises -> String:
    return req.query_param_or("path", "/")


def length(var answer: ClientResponse) raises -> Response:
    return ok(String(answer.status.code, " ", len(answer.body)))


def processing(req: Request) -> Response:
    return Response(102)


def switching(var answer: ClientResponse) raises -> Response:
    return Response(101)


def fail(var answer: ClientResponse) raises -> Response:
    raise Error("no use for ", answer.status.code)


@fieldwise_init
struct Told(Copyable, Handler):
    """Makes something of its own of the response."""

    var client: SharedClient
    var answer: def(var ClientResponse) raises thin -> Response

    def serve(self, req: Request) raises -> Response:
        return fetch_later(
            req, self.client, ClientRequest("GET", target(req)), self.answer
        )


struct Joined(Continuation):
    """Joins responses, or names what there is instead."""

    def __init__(out self):
        pass

    def go_on(mut self, var results: List[SendResult]) raises -> NextStep:
        var parts = List[String]()
        for index in range(len(results)):
            if results[index].error:
                parts.append(String(results[index].error.value().kind))
            else:
                parts.append(results[index].response.value().text())
        return ok(" ".join(parts))


@fieldwise_init
struct Fan(Copyable, Handler):
    """Asks for `?count` things at once."""

    var client: SharedClient

    def serve(self, req: Request) raises -> Response:
        var requests = List[ClientRequest]()
        for number in range(Int(req.query_param("count"))):
            requests.append(ClientRequest("GET", String("/", number)))
        return fetch_later(req, self.client, requests^, Joined())


struct Steps(Continuation, Defaultable):
    """Asks for a token, then with it, then for two things."""

    var step: Int

    def go_on(mut self, var results: List[SendResult]) raises -> NextStep:
        self.step += 1
        if results[0].error:
            return fetch_failure(results[0].error.value())
        var text = results[0].response.value().text()
        if self.step == 1:
            var next = ClientRequest("GET", "/with")
            next.headers.set("Token", text)
            return next^
        if self.step == 2:
            return [
                ClientRequest("GET", "/" + text),
                ClientRequest("GET", "/b"),
            ]
        return ok(text + results[1].response.value().text())


@fieldwise_init
struct Endless(Continuation):
    """Never has enough: the same again, or nothing at all."""

    var url: String

    def go_on(mut self, var results: List[SendResult]) raises -> NextStep:
        if self.url == "":
            return List[ClientRequest]()
        return ClientRequest("GET", self.url)


@fieldwise_init
struct Stepping(Copyable, Handler):
    var client: SharedClient

    def serve(self, req: Request) raises -> Response:
        if req.path == "/steps":
            return fetch_later(
                req, self.client, [ClientRequest("GET", "/token")], Steps()
            )
        var url = target(req)
        return fetch_later(
            req, self.client, [ClientRequest("GET", "/")], Endless(url^)
        )


@fieldwise_init
struct Cancelling(Copyable, Handler):
    """Begins what a token ends, or ends it."""

    var client: SharedClient
    var token: CancelToken

    def serve(self, req: Request) raises -> Response:
        if req.path == "/cancel":
            self.token.cancel()
            return ok("cancelled")
        var request = ClientRequest("GET", "/never")
        request.cancel = self.token
        return fetch_later(req, self.client, [request^], Joined())


@fieldwise_init
struct Fresh(Copyable, Handler):
    """Uses a client for one request."""

    var url: String

    def serve(self, req: Request) raises -> Response:
        var client = SharedClient(self.url)
        return fetch_later(req, client, ClientRequest("GET", "/"))


def no_requests(req: Request) raises -> Response:
    return fetch_later(req, SharedClient(), List[ClientRequest](), Joined())


def main() raises:
    var upstream = String()
    var workers = 1
    var config = ClientConfig()
    var limits = ConnectionLimits(max_connections=2_000, max_per_host=2_000)
    for index in range(2, len(argv())):
        var parts = String(argv()[index]).split("=", 1)
        var name = String(parts[0])
        var value = String(parts[1])
        if name == "upstream":
            upstream = value
        elif name == "workers":
            workers = Int(value)
        elif name == "prior_knowledge":
            config.http2_prior_knowledge = value == "1"
        elif name == "ca":
            config.tls = TlsConfig(ca_file=value)
        elif name == "read_timeout_ms":
            config.read_timeout_ms = Int(value)
        elif name == "max_per_host":
            limits.max_per_host = Int(value)
        elif name == "queue_timeout_ms":
            limits.queue_timeout_ms = Int(value)
        elif name == "max_waiting":
            limits.max_waiting = Int(value)
        elif name == "retries":
            config.retries = RetryPolicy(max_attempts=Int(value))
        else:
            raise Error("no such option: ", name)
    var client = SharedClient(upstream, config=config^, limits=limits)
    var router = Router()
    router.get("/relay", Deferred(Relay(client)))
    router.post("/relay", Deferred(Relay(client), waits_for_content=True))
    router.get("/length", Deferred(Told(client, length)))
    router.get("/fail", Deferred(Told(client, fail)))
    router.get("/processing", Deferred(processing))
    router.get("/switching", Deferred(Told(client, switching)))
    router.get("/fan", Deferred(Fan(client)))
    router.get("/steps", Deferred(Stepping(client)))
    router.get("/endless", Deferred(Stepping(client)))
    var cancelling = Cancelling(client, CancelToken())
    router.get("/cancellable", Deferred(cancelling.copy()))
    router.get("/cancel", cancelling^)
    router.get("/fresh", Deferred(Fresh(upstream)))
    router.get("/no-requests", Deferred(no_requests))
    router.get("/not-deferred", Relay(client))
    var server = HttpServer.bind(SocketAddr.localhost(UInt16(Int(argv()[1]))))
    print("listening on", server.local_addr(), flush=True)
    server.serve(router^, num_workers=workers)
