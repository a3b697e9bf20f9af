"""A server that is configured from outside, and logs.

Its settings are those of `ServerSettings`, of `LogSettings` as `log`, and:
`prefork` for worker processes.
"""

from flare.http import (
    Request,
    Response,
    Router,
    ServerSettings,
    ok,
)
from flare.log import Log, LogSettings
from flare.settings import read_settings
from flare.sys.clock import monotonic_ns


struct Settings(Defaultable, Movable):
    var server: ServerSettings
    var log: LogSettings
    var prefork: Bool

    def __init__(out self):
        self.server = ServerSettings()
        self.log = LogSettings()
        self.prefork = False


def paid(req: Request) raises -> Response:
    var log = Log.of(req)
    log.debug("looking", "order", req.param("id"))
    log.info("paid", "order", req.param("id"), "agent", req.header("agent"))
    return ok("paid")


def fail(req: Request) raises -> Response:
    raise Error("no\nlevel=error forged", req.query)


def busy(req: Request) raises -> Response:
    var end = monotonic_ns() + 250_000_000
    while monotonic_ns() < end:
        pass
    return ok("busy")


def flood(req: Request) raises -> Response:
    var log = Log.of(req)
    for index in range(200):
        log.info("flood", "index", index, "filler", String("x") * 1_000)
    return ok("flood")


def main() raises:
    var read = read_settings[Settings]("APP_")
    Log(read.value.log).make_default()
    var router = Router()
    router.get("/paid/:id", paid)
    router.get("/fail", fail)
    router.get("/busy", busy)
    router.get("/flood", flood)
    var server = read.value.server.bind()
    print(read)
    print("listening on", server.local_addr(), flush=True)
    var workers = read.value.server.worker_count()
    if read.value.prefork:
        server.serve_prefork(router^, workers=workers)
    else:
        server.serve(router^, num_workers=workers)
