# 21 Server-Sent Events: a hub sends events to all who listen, on whatever
# worker they are; one that comes back names the last event it had.
#
# Expected output:
#   id: 1
#   event: price
#   data: 42
#
#   id: 2
#   event: price
#   data: 43

from flare.http import EventHub, Handler, HttpServer, Request, Response
from flare.http import ServerSentEvent, no_content
from flare.net import SocketAddr
from std.os import Process


@fieldwise_init
struct Prices(Handler):
    var hub: EventHub

    def serve(self, req: Request) raises -> Response:
        if req.method == "GET":
            return self.hub.subscribe(req)
        if req.method == "DELETE":
            # Ends all streams, once everybody has what was published.
            self.hub.close()
            return no_content()
        self.hub.publish(
            ServerSentEvent(req.text(), name="price", id=String(req.query))
        )
        return no_content()


def main() raises:
    var hub = EventHub(history=100, heartbeat_ms=15_000)
    var server = HttpServer.bind(SocketAddr.localhost(0))
    var url = String("http://", server.local_addr(), "/")
    var script = String(
        "curl -sd 41 ",
        url,
        "?0; curl -sd 42 ",
        url,
        "?1; curl -sN -H 'Last-Event-ID: 0' ",
        url,
        " & curl -sd 43 ",
        url,
        "?2; curl -sX DELETE ",
        url,
        "; wait; kill -TERM $PPID",
    )
    var client = Process.run("/bin/sh", ["-c", script])
    server.serve(Prices(hub^), num_workers=2)
    _ = client.wait()
