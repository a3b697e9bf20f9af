# 35 A chat room over three worker processes, with a page. What carries messages
# from worker to worker is said in one line: memory that they share, or Redis,
# which carries them to other machines, too.
#
#   35_chat_on_workers [--port 8080] [--redis redis://127.0.0.1]
#
# Its parts are in examples/chat_on_workers; start it from the folder above
# `examples`. Without a port two visitors come, and it ends.
#
# Also with: redis-server --redis
# Expected output:
#   ann and bob are at two workers
#   bob reads: ann: good morning
#   ann sees: ann, bob
#   bob sees: ann, bob
#   ann's worker is killed
#   ann reads: bob: are you still there?
#   ann sees: ann, bob
#   bob sees: ann, bob

from examples.chat_on_workers.room import HISTORY, chat
from examples.chat_on_workers.visitors import visit
from flare.backplane import RedisBackplane, SharedMemoryBackplane
from flare.http import HttpServer, RequestMetrics, Router, SecurityHeaders
from flare.net import SocketAddr
from flare.runtime import PreforkConfig, PreforkHooks
from flare.settings import read_settings
from std.os import Process
from std.sys import argv

comptime SITE = StaticString("examples/chat_on_workers/site")


@fieldwise_init
struct Settings(Copyable, Defaultable):
    var port: Optional[Int]
    var redis: String
    var visit: Int

    def __init__(out self):
        self = Self(None, String(), 0)


@fieldwise_init
struct Demo(PreforkHooks):
    var port: Int
    var is_wanted: Bool

    def on_master_ready(mut self, worker_count: Int):
        # In the background: a hook that waits keeps the supervisor from its work.
        var visitors = String(argv()[0], " --visit ", self.port)
        var script = String("(", visitors, "; kill $PPID) &")
        try:
            if self.is_wanted:
                _ = Process.run("/bin/sh", ["-c", script])
        except error:
            print(error)


def room(settings: Settings) raises -> RequestMetrics[Router]:
    if settings.redis.byte_length() == 0:
        # One machine: the workers of this program.
        return chat(
            SITE,
            SharedMemoryBackplane(),
            SharedMemoryBackplane(),
            SharedMemoryBackplane(),
        )
    # Many machines: this line instead.
    return chat(
        SITE,
        RedisBackplane(settings.redis, "messages", history=HISTORY),
        RedisBackplane(settings.redis, "news"),
        RedisBackplane(settings.redis, "presence"),
    )


def main() raises:
    var settings = read_settings[Settings]("").value.copy()
    if settings.visit > 0:
        return visit(settings.visit)
    var port = settings.port.or_else(0)
    if not 0 <= port <= 65_535:
        raise Error("--port is ", port, "; allowed are 0 to 65535")
    var server = HttpServer.bind(SocketAddr.localhost(UInt16(port)))
    var demo = Demo(Int(server.local_addr().port), not settings.port)
    if settings.port:
        print("listening on", server.local_addr(), flush=True)
    server.serve_prefork(
        SecurityHeaders(room(settings)), PreforkConfig(workers=3), demo^
    )
