# 04 TCP echo: a server on a thread of its own, and a client that talks to it.
#
# Expected output:
#   client: Hello, server
#   server: 2 lines from 127.0.0.1
#   client: one more
#   client: nothing left

from flare.io import BufReader
from flare.net import SocketAddr
from flare.runtime import Task, Thread
from flare.tcp import Shutdown, TcpListener, TcpStream


@fieldwise_init
struct EchoServer(Task):
    """Serves one client, then ends."""

    var listener: TcpListener

    def run(mut self) raises:
        var conn = self.listener.accept(timeout_ms=5_000)
        conn.set_read_timeout(5_000)
        var peer = conn.peer_addr()
        var room = Array[UInt8, 1_024](fill=0)
        var lines = 0
        while True:
            var count = conn.read(Span(room))
            if count == 0:
                break
            for octet in Span(room)[0:count]:
                lines += 1 if octet == 10 else 0
            conn.write_all(Span(room)[0:count])
        print("server:", lines, "lines from", peer.ip)


def main() raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var port = listener.local_addr().port
    var server = Thread(EchoServer(listener^))

    # All addresses of the name are tried; the first to answer wins.
    var conn = TcpStream.connect("localhost", port, timeout_ms=5_000)
    _ = conn.write("Hello, server\n".as_bytes())
    var buf = List[UInt8](length=64, fill=0)
    var count = conn.read(buf)
    print("client:", StringSpan(from_utf8=buf[0 : count - 1]))

    conn.write_all("one more\n".as_bytes())
    conn.shutdown(Shutdown.WRITE)
    server^.join()
    # A stream is a source of octets, so a reader of lines can take it over.
    var reader = BufReader(conn^)
    print("client:", reader.read_line().value())
    if not reader.read_line():
        print("client: nothing left")
