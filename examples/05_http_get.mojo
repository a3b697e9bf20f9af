# 05 HTTP GET and friends: one function for each method, and no client to keep.
#
# Expected output:
#   200 OK GET /hello
#   application/json says world
#   PUT /item: 3 octets
#   DELETE /item: 0 octets
#   HEAD: 0 octets of 11
#   not ok: 404
#   connect: ConnectionRefused

from flare.http import HttpServer, Request, Response, delete, get, head
from flare.http import not_found, ok, ok_json, post, put
from flare.net import SocketAddr
from flare.runtime import Task, Thread


def mirror(req: Request) raises -> Response:
    if req.url == "/hello":
        return ok(String(req.method, " ", req.url))
    if req.url == "/echo":
        var text = String('{"json": ', req.text(), ', "type": "')
        return ok_json(String(text, req.headers["Content-Type"], '"}'))
    if req.url == "/item":
        return ok(String(req.method, " /item: ", len(req.body), " octets"))
    return not_found(String(req.url))


@fieldwise_init
struct Serving(Task):
    var server: HttpServer

    def run(mut self) raises:
        self.server.serve(mirror)


def main() raises:
    var server = HttpServer.bind(SocketAddr.localhost(0))
    var stopper = server.shutdown_handle()
    var url = String("http://", server.local_addr())
    var thread = Thread(Serving(server^))
    var resp = get(url + "/hello", headers={"Accept": "text/plain"})
    print(resp.status, resp.reason, resp.text())
    # A dictionary, a plain struct, or text that is JSON.
    var r = post(url + "/echo", json={"hello": "world"})
    r.raise_for_status()
    var data = r.json()
    print(data["type"].string_value(), "says", end=" ")
    print(data["json"]["hello"].string_value())
    var octets: List[UInt8] = [1, 2, 3]
    print(put(url + "/item", octets^).text())
    print(delete(url + "/item").text())
    r = head(url + "/hello")
    print("HEAD:", len(r.body), "octets of", r.headers["Content-Length"])
    print("not ok:", get(url + "/nothing").status)
    stopper.shutdown()
    thread^.join()
    try:
        _ = get(url)
    except error:
        print(error.phase, error.kind, sep=": ")
