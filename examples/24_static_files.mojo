# 24 Static files: a folder as a handler, with ranges, entity tags, media types
# and neighbours that are compressed already.
#
# Expected output:
#   200 text/css; charset=utf-8
#   206 bytes 0-3/17 body
#   304
#   404

from flare.http import FileServer, HttpServer, Router
from flare.net import SocketAddr
from std.os import Process
from std.pathlib import Path
from std.tempfile import TemporaryDirectory


def main() raises:
    with TemporaryDirectory() as folder:
        Path(folder + "/site.css").write_text("body{ margin: 0 }")
        var router = Router()
        router.get("/static/*rest", FileServer(folder))
        var server = HttpServer.bind(SocketAddr.localhost(0))
        var url = String("http://", server.local_addr(), "/static/")
        var script = String(
            "touch -d 2026-01-01 ",
            folder,
            "/site.css; u=",
            url,
            "site.css; f='%{http_code} %{content_type}\\n';",
            ' curl -s -o /dev/null -w "$f" $u;',
            " r=$(curl -s -D - -r 0-3 $u | tr -d '\\r');",
            ' echo 206 $(echo "$r" | grep -i ^content-range | cut -d: -f2)',
            ' $(echo "$r" | tail -n 1);',
            " t=$(curl -s -I $u | grep -i ^etag | cut -d' ' -f2 | tr -d '\\r');",
            ' curl -s -o /dev/null -w "%{http_code}\\n" -H "If-None-Match: $t" $u;',
            ' curl -s -o /dev/null -w "%{http_code}\\n" --path-as-is ',
            url,
            "../secret; kill -TERM $PPID",
        )
        var client = Process.run("/bin/sh", ["-c", script])
        server.serve(router^)
        _ = client.wait()
