"""Writes haproxy's configuration into a folder, then becomes haproxy.

Usage: serve.py PORT THREADS FOLDER [CERTIFICATE KEY]; BENCH_HOST is the address.

There is no server behind it: `http-request return` answers.
"""

import os
import sys
from pathlib import Path

CONFIGURATION = """
global
  nbthread {threads}
  # A body that is returned has to fit into a buffer.
  tune.bufsize 98304
  maxconn 4096
  ssl-default-bind-options no-tls-tickets
defaults
  mode http
  timeout client 75s
  timeout http-request 10s
  timeout server 10s
  timeout connect 1s
frontend bench
  bind {host}:{port}{tls}
  option http-buffer-request
  http-after-response set-header Date %[date,http_date]
  http-request return status 200 content-type "text/plain; charset=utf-8" string "Hello, World!" if {{ path / }}
  http-request return status 200 content-type application/json string '{{"message":"Hello, World!"}}' if {{ path /json }}
  http-request return status 200 content-type "text/plain; charset=utf-8" file {folder}/64k if {{ path /64k }}
  http-request return status 200 content-type "text/plain; charset=utf-8" lf-string "user %[path,field(3,/)]" if {{ path_beg /users/ }}
  http-request return status 200 content-type "text/plain; charset=utf-8" string "OK" if {{ path /upload }} METH_POST
  http-request return status 404
"""


def main() -> None:
    port, threads, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    (folder / "64k").write_text("x" * 65536)
    tls = ""
    if len(sys.argv) > 4:
        # It wants certificate and key in one file.
        both = Path(sys.argv[4]).read_text() + Path(sys.argv[5]).read_text()
        (folder / "both.pem").write_text(both)
        tls = f" ssl crt {folder}/both.pem alpn http/1.1"
    text = CONFIGURATION.format(
        port=port,
        threads=threads,
        folder=folder,
        tls=tls,
        host=os.environ.get("BENCH_HOST", "127.0.0.1"),
    )
    (folder / "haproxy.cfg").write_text(text)
    os.execvp("haproxy", ["haproxy", "-db", "-q", "-f", str(folder / "haproxy.cfg")])


if __name__ == "__main__":
    main()
