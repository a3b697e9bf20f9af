# 20 Streaming: content that is made while it is sent, as fast as the client
# takes it. One buffer is held, however long the content is.
#
# Expected output:
#   line 1
#   line 2
#   line 3
#   a million lines have 11888896 bytes

from flare.bytes.buffer import Buffer
from flare.http import HttpServer, Request, Response, ok_stream
from flare.http.message import BodySource, Poll
from flare.net import SocketAddr
from std.os import Process


struct Lines(BodySource):
    var next: Int
    var last: Int

    def __init__(out self, count: Int):
        self.next = 1
        self.last = count

    def fill(mut self, mut out: Buffer) raises -> Poll:
        while len(out) < 16_384:
            if self.next > self.last:
                return Poll.DONE
            out.write_string(String("line ", self.next, "\n"))
            self.next += 1
        return Poll.READY


def lines(req: Request) raises -> Response:
    return ok_stream(Lines(Int(req.query)), "text/plain; charset=utf-8")


def main() raises:
    var server = HttpServer.bind(SocketAddr.localhost(0))
    var url = String("http://", server.local_addr(), "/?")
    var script = String(
        "curl -s ",
        url,
        "3; echo a million lines have $(curl -s ",
        url,
        "1000000 | wc -c) bytes; kill -TERM $PPID",
    )
    var client = Process.run("/bin/sh", ["-c", script])
    server.serve(lines)
    _ = client.wait()
