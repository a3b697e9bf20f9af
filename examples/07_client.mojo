# 07 The client: connections that are kept, credentials, cookies, redirections,
# many requests at once, and errors that say what failed, and when.
#
# Expected output:
#   Bearer tok, then Basic bWU6cGFzc3dvcmQ=
#   visit=1 after 1 redirection
#   0 1 2 3 4 5 6 7
#   *: the server answered 401 Unauthorized; it accepts Digest; this client has *
#   total: Timeout

from flare.http import BasicAuth, BearerAuth, ClientConfig, ClientRequest
from flare.http import Cookie, HttpClient, HttpServer, Request, Response
from flare.http import Router, ok, redirect, unauthorized
from flare.net import SocketAddr
from flare.runtime import Task, Thread
from flare.tcp import TcpListener


def who(req: Request) raises -> Response:
    return ok(String(req.headers["Authorization"]))


def old(req: Request) raises -> Response:
    var response = redirect("/new")
    response.set_cookie(Cookie("visit", "1"))
    return response^


def new(req: Request) raises -> Response:
    return ok(String(req.headers["Cookie"]))


def number(req: Request) raises -> Response:
    return ok(String(req.param("n")))


def secret(req: Request) raises -> Response:
    return unauthorized("no", 'Digest realm="a", nonce="b"')


@fieldwise_init
struct Serving(Task):
    var server: HttpServer

    def run(mut self) raises:
        var router = Router()
        router.get("/who", who)
        router.get("/old", old)
        router.get("/new", new)
        router.get("/number/:n", number)
        router.get("/secret", secret)
        self.server.serve(router^)


def use_client(url: String) raises:
    with HttpClient(url, BearerAuth("tok")).with_cookies() as client:
        print(client.get("/who").text(), end=", then ")
        print(client.get("/who", auth=BasicAuth("me", "password")).text())
        var response = client.get("/old")
        print(response.text(), "after", response.redirect_count, "redirection")

        var requests = List[ClientRequest]()
        for n in range(8):
            requests.append(ClientRequest("GET", String("/number/", n)))
        var results = client.send_all(requests, max_parallel=4)
        for n in range(8):
            print(
                results[n].response.value().text(), end=" " if n < 7 else "\n"
            )

        response = client.get("/secret")
        try:
            response.raise_for_status()
        except error:
            print(error)


def main() raises:
    var server = HttpServer.bind(SocketAddr.localhost(0))
    var stopper = server.shutdown_handle()
    var url = String("http://", server.local_addr())
    var thread = Thread(Serving(server^))
    use_client(url)
    stopper.shutdown()
    thread^.join()

    var silent = TcpListener.bind(SocketAddr.localhost(0))
    var config = ClientConfig()
    config.total_timeout_ms = 100
    url = String("http://", silent.local_addr())
    var client = HttpClient(url, config=config^)
    try:
        _ = client.get("/")
    except error:
        print(error.phase, error.kind, sep=": ")
    silent.close()
