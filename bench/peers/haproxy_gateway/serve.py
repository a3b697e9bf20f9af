"""Writes the configuration of haproxy as a gateway into a folder, then becomes haproxy.

Usage: serve.py PORT UPSTREAM_PORT FOLDER [CERTIFICATE KEY]; BENCH_HOST is the address.
"""

import os
import sys
from pathlib import Path

CONFIGURATION = """
global
  nbthread 1
  maxconn 4096
  tune.pool-low-fd-ratio 80
  tune.pool-high-fd-ratio 90
  ssl-default-bind-options no-tls-tickets
defaults
  mode http
  timeout client 75s
  timeout http-request 10s
  timeout server 10s
  timeout connect 1s
  option forwardfor
  http-reuse always
frontend bench
  bind {host}:{port}{tls}
  http-request set-header X-Forwarded-Proto {scheme}
  default_backend raw
backend raw
  server raw 127.0.0.1:{upstream} pool-max-conn 1024
"""


def main() -> None:
    port, upstream, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    tls, scheme = "", "http"
    if len(sys.argv) > 4:
        # It wants certificate and key in one file.
        both = Path(sys.argv[4]).read_text() + Path(sys.argv[5]).read_text()
        (folder / "both.pem").write_text(both)
        tls, scheme = f" ssl crt {folder}/both.pem alpn http/1.1", "https"
    text = CONFIGURATION.format(
        port=port,
        upstream=upstream,
        tls=tls,
        scheme=scheme,
        host=os.environ.get("BENCH_HOST", "127.0.0.1"),
    )
    (folder / "haproxy.cfg").write_text(text)
    os.execvp("haproxy", ["haproxy", "-db", "-q", "-f", str(folder / "haproxy.cfg")])


if __name__ == "__main__":
    main()
