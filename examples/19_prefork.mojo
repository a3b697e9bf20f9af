# 19 Prefork: worker processes under a supervisor, which restarts those that
# crash. Here a client asks, kills a worker, asks again, and stops all.
#
# Expected output:
#   all 2 workers are ready
#   hello
#   worker 0 is back
#   hello
#   stopped; restarts: 1

from flare.http import HttpServer, Request, Response, ok
from flare.net import SocketAddr
from flare.runtime import PreforkConfig, PreforkHooks
from std.os import Process


def hello(req: Request) -> Response:
    return ok("hello\n")


struct Demo(PreforkHooks):
    """Is told of what happens, in the supervisor."""

    var url: String
    var workers: List[Int]

    def __init__(out self, var url: String):
        self.url = url^
        self.workers = []

    def on_child_spawned(mut self, worker: Int, process_id: Int):
        self.workers.append(process_id)

    def on_master_ready(mut self, worker_count: Int):
        print("all", worker_count, "workers are ready", flush=True)
        self.run(String("; kill -KILL ", self.workers[0]))

    def on_child_recovered(mut self, worker: Int, process_id: Int):
        print("worker", worker, "is back", flush=True)
        self.run("; kill -TERM $PPID")

    def run(self, what: String):
        try:
            var ask = String("curl -s ", self.url, what)
            _ = Process.run("/bin/sh", ["-c", ask])
        except error:
            print(error)


def main() raises:
    var server = HttpServer.bind(SocketAddr.localhost(0))
    var demo = Demo(String("http://", server.local_addr(), "/"))
    server.serve_prefork(hello, PreforkConfig(workers=2), demo^)
    print("stopped; restarts:", server.stats().restarts)
