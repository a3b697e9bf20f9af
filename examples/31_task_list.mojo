# 31 A task list: a small service with a JSON API, a page, and live updates.
#
#   31_task_list [PORT]
#
# Its parts, and how to talk to it, are in examples/task_list/README.md. It is
# started from the folder above `examples`. Without a port it takes a free one,
# and shows itself.
#
# Expected output:
#   listening on 127.0.0.1:*
#   201 {"id":1,"title":"buy tea","done":false}
#   200 {"id":1,"title":"buy tea","done":true}
#   422 *"name":"title","pointer":"#/title","detail":"must not be blank"}]}
#   200 {"revision":2,"tasks":[{"id":1,"title":"buy tea","done":true}]}
#   id: 2
#   event: changed
#   data: {"id":1,"title":"buy tea","done":true}
#
#   stopped

from examples.task_list.service import task_service
from flare.http import HttpServer, ServerConfig
from flare.http.middleware import StandardError
from flare.net import SocketAddr
from std.os import Process
from std.sys import argv

comptime SITE = StaticString("examples/task_list/site")

comptime DEMO = StaticString(
    """
    d=$(mktemp -d)
    ask() { curl -s -o $d/body -w '%{http_code} ' "$@"; cat $d/body; echo; }
    json='Content-Type: application/json'
    ask -H "$json" -d '{"title": "buy tea"}' $u/tasks
    curl -sN -D $d/head $u/events > $d/events &
    until test -s $d/head; do sleep 0.01; done
    ask -H "$json" -X PATCH -d '{"done": true}' $u/tasks/1
    ask -H "$json" -d '{"title": " "}' $u/tasks
    ask $u/tasks
    kill -TERM $PPID
    wait; cat $d/events; rm -r $d
    """
)


def main() raises:
    var words = argv()
    var port = String(words[1]) if len(words) > 1 else String("0")
    # A task is a line of text; other limits, and all times, are on by default.
    var config = ServerConfig(max_body_size=16 * 1024)
    var server = HttpServer.bind(SocketAddr.parse("127.0.0.1:" + port), config^)
    var address = server.local_addr()
    print("listening on ", address, sep="", flush=True)
    var demo: Optional[Process] = None
    if len(words) == 1:
        var url = String("u=http://", address, "/api")
        demo = Process.run("/bin/sh", ["-c", url + DEMO])
    # SIGTERM and SIGINT let it finish what is under way.
    server.serve(task_service(SITE, StandardError()), num_workers=2)
    if demo:
        _ = demo.value().wait()
    print("stopped", flush=True)
