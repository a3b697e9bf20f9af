"""Uses the library's every part, so that a cross build type-checks it.

Mojo compiles only what a program reaches. `make test` builds this file to an
object for each platform that the tests cannot run on.
"""

from flare.dns import resolve, resolve_v4, resolve_v6
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
from flare.net import IpAddr, IpNetwork, RawSocket, SocketAddr
from flare.runtime import (
    ChildProcess,
    Interest,
    NoHooks,
    Prefork,
    PreforkConfig,
    PreforkProgram,
    Reactor,
    Waker,
    default_worker_count,
)
from flare.sys.process import descriptor_limit, set_descriptor_limit
from flare.sys.signal import SIGHUP, SignalPipe
from flare.sys.thread import Task, Thread
from tools.cross.applications import applications
from tools.cross.compiled import compiled
from tools.cross.files import files, signed
from tools.cross.web_sockets import add_room, web_sockets
from std.os import Process
from std.subprocess import run
from flare.tcp import KeepAlive, Shutdown, TcpListener, TcpStream
from flare.udp import MulticastInterface, UdpSocket
from flare.unix import UnixDatagram, UnixListener, UnixStream
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


def addresses() raises:
    """Reaches parsing and printing of addresses."""
    print(IpAddr.parse("fe80::1").is_link_local())
    print(IpNetwork.parse("10.0.0.0/8").contains(IpAddr.parse("10.1.2.3")))
    print(SocketAddr.parse("[::1]:8080"))


@fieldwise_init
struct Waking(Task):
    """Reaches threads."""

    var waker: Waker
    """Rung by the thread."""

    def run(mut self) raises:
        """Wakes the reactor."""
        self.waker.wake()


def event_loop() raises:
    """Reaches sockets, selector, timers, threads, signals and limits."""
    set_descriptor_limit(descriptor_limit())
    var reactor = Reactor()
    var bell = SignalPipe([SIGHUP])
    reactor.register(bell.fd(), 1, Interest.READ)
    var socket = RawSocket.udp()
    socket.bind(SocketAddr.localhost(0))
    reactor.register(socket.fd(), 2, Interest.READ)
    reactor.modify(socket.fd(), 3, Interest.STREAM)
    var thread = Thread(Waking(reactor.waker()))
    _ = reactor.insert_timer(1, 4)
    for index in range(reactor.poll()):
        print(reactor.event(index).token, len(bell.take()))
    print(reactor.next_expired().__bool__())
    reactor.deregister(socket.fd())
    thread^.join()
    socket.close()


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


def streams() raises:
    """Reaches names, TCP and Unix streams."""
    print(len(resolve("localhost")), len(resolve_v4("localhost", -1)))
    print(resolve_v6("::1")[0])
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var client = TcpStream.connect("localhost", listener.local_addr().port)
    client = TcpStream.connect(listener.local_addr())
    client.set_keepalive(KeepAlive.ON)
    client.write_all("octets".as_bytes())
    client.shutdown(Shutdown.WRITE)
    var room = List[UInt8](length=64, fill=0)
    var server = listener.accept(1_000)
    print(server.read(room), server.write(room), server.nodelay())
    server.set_read_timeout(1_000)
    var local_listener = UnixListener.bind("/tmp/flare.sock", True)
    var local = UnixStream.connect(local_listener.local_addr())
    local.write_all("octets".as_bytes())
    print(local.read(room), local_listener.accept(1_000).peer_addr())


def datagrams() raises:
    """Reaches UDP and Unix datagrams."""
    var room = List[UInt8](length=64, fill=0)
    var socket = UdpSocket.bind(SocketAddr.any(0))
    var interface = MulticastInterface.numbered(1)
    socket.join_multicast(IpAddr.v4(233, 252, 0, 1), interface)
    socket.leave_multicast(IpAddr.v4(233, 252, 0, 1), interface)
    socket.set_multicast_interface(interface)
    socket.set_broadcast(True)
    _ = socket.send_to("octets".as_bytes(), SocketAddr.localhost(9))
    print(socket.recv_from(room).sender)
    var peer = UdpSocket.connect(socket.local_addr())
    print(peer.send(room), peer.recv(room))
    var local = UnixDatagram.bind("/tmp/flare.datagram.sock", True)
    _ = local.send_to("octets".as_bytes(), "/tmp/flare.datagram.sock")
    print(local.recv_from(room).sender)
    local.connect_to("/tmp/flare.datagram.sock")
    print(local.send(room), UnixDatagram.unbound().fd())


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
