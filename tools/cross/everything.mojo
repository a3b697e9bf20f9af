"""Uses the library's every part, so that a cross build type-checks it.

Mojo compiles only what a program reaches. `make test` has the compiler instantiate
this file for the system that the tests cannot run on; see `processors.mojo`, too.
"""

from flare.bytes.buffer import Buffer
from flare.compress import ContentCoding, Format, compress, is_available
from flare.http import (
    AcceptEncoding,
    BasicAuth,
    BearerAuth,
    ClientConfig,
    ClientRequest,
    ContentDecoder,
    Cookie,
    CookieJar,
    FilePart,
    FormData,
    HandlerFunction,
    HttpClient,
    HttpServer,
    ListenerMode,
    MediaType,
    MultipartForm,
    MultipartWriter,
    OwnedRequest,
    Request,
    RequestBody,
    Response,
    Router,
    ServerConfig,
    Url,
    get,
    not_found,
    ok,
    ok_json,
    parse_content_encoding,
    parse_set_cookie_header,
    proxy_from_env,
)
from flare.io import BufReader, BufWriter, MemoryReader, MemoryWriter
from flare.json import JsonWriter, dumps, parse
from flare.net import SocketAddr
from flare.runtime import (
    ChildProcess,
    NoHooks,
    Prefork,
    PreforkConfig,
    PreforkProgram,
    default_worker_count,
)
from tools.cross.applications import applications
from tools.cross.compiled import compiled
from tools.cross.files import files, signed
from tools.cross.sockets import addresses, datagrams, event_loop, streams
from tools.cross.web_sockets import add_room, web_sockets
from std.os import Process
from std.subprocess import run
from flare.tcp import TcpListener
from flare.tls import (
    TlsClientContext,
    TlsConfig,
    TlsServerConfig,
    TlsServerContext,
    TlsStream,
)


def hello(req: Request) raises -> Response:
    """Reaches the views of a request.

    Args:
        req: The request.

    Returns:
        Some response.
    """
    if req.url == "/missing":
        return not_found(req.url)
    return ok("hello " + req.param("name"))


def data(req: Request) -> Response:
    """Reaches the handlers that do not raise.

    Args:
        req: The request.

    Returns:
        Some response.
    """
    return ok_json("{}")


def values() raises:
    """Reaches JSON both ways, URLs, forms, owned requests and streams."""
    var writer = JsonWriter()
    writer.begin_object()
    writer.key("a")
    writer.value(parse("[1, 2.5, null]")[0].int_value())
    writer.end_object()
    print(writer^.finish(), dumps(parse('{"b": "c"}')))
    print(Url.parse("http://example.com/a b?c#d"), FormData.parse("a=b+c"))
    var owned = OwnedRequest("POST", "/a?b=c")
    print(owned.view().query_param("b"), len(owned.view().cookies()))
    var reader = BufReader(MemoryReader([UInt8(97), 10]))
    print(reader.read_line().value())
    var sink = BufWriter(MemoryWriter())
    sink.write_all("octets".as_bytes())
    print(len(sink^.finish().octets))


@fieldwise_init
struct Napping(PreforkProgram):
    """Reaches worker processes without a server."""

    var steps: Int
    """How often the child looks for its master."""

    def work(mut self, mut child: ChildProcess) raises:
        """Looks for the master.

        Args:
            child: The process.
        """
        child.ready()
        for _ in range(self.steps):
            print(child.worker, child.row, child.is_orphan())


def workers(router: HandlerFunction) raises:
    """Reaches threads, processes and handler threads, beside the standard
    library's own processes.

    Args:
        router: Answers requests.
    """
    print(run("true"))
    var process = Process.run("/bin/true", List[String]())
    _ = process.wait()
    var config = ServerConfig(
        handler_threads=2,
        inherits_listeners=True,
        listener=ListenerMode.SHARED,
    )
    var threads = HttpServer.bind(SocketAddr.localhost(0), config.copy())
    var secure = HttpServer.bind_tls(
        SocketAddr.localhost(0),
        TlsServerConfig("chain.pem", "key.pem"),
        config.copy(),
    )
    secure.reload_handle().reload_tls()
    var local = HttpServer.bind_unix("@app", replace_stale=True)
    local.serve(router)
    threads.serve(router, num_workers=default_worker_count())
    print(threads.stats(), threads.stats_handle().worker(0))
    var processes = HttpServer.bind(SocketAddr.localhost(0), config.copy())
    processes.serve_prefork(router, workers=2)
    var prefork = Prefork(PreforkConfig(workers=1, notifies_manager=True))
    prefork.run(Napping(1), NoHooks())


def codings() raises:
    """Reaches compression both ways, and the fields about it."""
    print(is_available("br"), AcceptEncoding("gzip").weight(ContentCoding.BR))
    var names = List[ContentCoding]()
    parse_content_encoding("gzip, br", names)
    var decoder = ContentDecoder(names)
    var output = Buffer()
    decoder.receive(compress("octets".as_bytes(), Format.GZIP), output)
    decoder.finish()


def cookies() raises:
    """Reaches cookies of servers and clients."""
    var response = ok("set")
    response.set_cookie(Cookie("id", "42", expires=0))
    var jar = CookieJar()
    jar.set(parse_set_cookie_header("a=b; Expires=1 Jan 2030 00:00:00"))
    var url = Url.parse("https://example.com/")
    print(jar.to_request_header(), jar.store(url, "c=d; Max-Age=1", 0))
    print(jar.header_for(url, 0))


def encrypted() raises:
    """Reaches TLS on both sides."""
    var server = TlsServerContext(TlsServerConfig("chain.pem", "key.pem"))
    server.reload()
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var accepted = TlsStream.accept(listener.accept(), server)
    var client = TlsClientContext(TlsConfig(crl_file="lists.pem", ca_dir="ca"))
    var stream = TlsStream.connect("localhost", 443, client)
    accepted.write_all("octets".as_bytes())
    accepted.close()
    var reader = BufReader(stream^)
    print(reader.read_line().value())


def uploads() raises:
    """Reaches media types and forms with files."""
    print(MediaType.parse("text/plain; charset=utf-8").parameter("charset"))
    var writer = MultipartWriter(Array[UInt8, 16](fill=1))
    var output = Buffer()
    writer.add_field(output, "a", "b")
    writer.add_file(output, FilePart("c", "d", "e/f"), "g".as_bytes())
    writer.finish(output)
    print(writer.content_type(), len(output))


def requests() raises:
    """Reaches the HTTP client."""
    var config = ClientConfig()
    config.proxy = proxy_from_env()
    var client = HttpClient("http://a.test", BearerAuth("tok"), config^)
    client = client^.with_cookies()
    var form = MultipartForm()
    form.add("a", "b")
    form.add_file("c", "d", "e".as_bytes())
    print(client.post("/", form^).json()["a"].string_value())
    var sink = MemoryWriter()
    var request = ClientRequest("GET", "/", RequestBody.json(parse("{}")))
    request.auth = BasicAuth("user", "password")
    print(client.download(request.copy(), sink).text())
    var source = MemoryReader([1, 2, 3])
    print(client.upload(request.copy(), source).reason)
    var results = client.send_all([request.copy()], max_parallel=2)
    print(results.pop().take().ok(), get("http://a.test/").status)


def main() raises:
    """Reaches the server with each kind of handler."""
    addresses()
    streams()
    datagrams()
    values()
    codings()
    cookies()
    uploads()
    applications()
    compiled()
    files()
    signed()
    event_loop()
    encrypted()
    web_sockets()
    var router = Router()
    router.get("/hello/:name", hello)
    router.post("/data", data)
    add_room(router)
    var server = HttpServer.bind(SocketAddr.localhost(0))
    server.serve(router^)
    var plain = HttpServer.bind(SocketAddr.localhost(0), ServerConfig())
    plain.serve(hello)
    workers(hello)
    requests()
