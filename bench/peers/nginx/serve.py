"""Writes nginx's configuration into a folder, then becomes nginx.

Usage: serve.py PORT WORKERS FOLDER [CERTIFICATE KEY]; BENCH_HOST is the address,
BENCH_HTTP2 makes it speak HTTP/2, in clear text nothing else.
"""

import os
import sys
from pathlib import Path

CONFIGURATION = """
worker_processes {workers};
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
  access_log off; keepalive_requests 1000000000; keepalive_timeout 75s;
  sendfile on; tcp_nopush on; tcp_nodelay on; default_type "text/plain; charset=utf-8";
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi; client_body_buffer_size 64k;
  open_file_cache max=100;
  # The answers carry the same fields as everyone's.
  etag off; max_ranges 0; add_header Last-Modified "";
  server {{
    listen {host}:{port}{options};{tls}
    location = / {{ return 200 "Hello, World!"; }}
    location = /json {{ default_type application/json; return 200 '{{"message":"Hello, World!"}}'; }}
    location ~ ^/users/([^/]+)$ {{ return 200 "user $1"; }}
    location = /upload {{ client_max_body_size 1m; return 200 "OK"; }}
    location = /64k {{ root {folder}/html; }}
  }}
}}
"""

# Nobody gives tickets, so that every handshake is a full one.
TLS = """
    ssl_certificate {certificate}; ssl_certificate_key {key};
    ssl_protocols TLSv1.2 TLSv1.3; ssl_session_tickets off; ssl_session_cache off;
"""


def main() -> None:
    port, workers, folder = (int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
    html = folder / "html"
    html.mkdir(exist_ok=True)
    (html / "64k").write_bytes(b"x" * 65536)
    # Started by root, nginx would change to a user who may not read the folder.
    user = "user root;" if os.geteuid() == 0 else ""
    # A listener for each worker, as the others have, once there are two.
    options, tls = " reuseport" if workers > 1 else "", ""
    if os.environ.get("BENCH_HTTP2"):
        options += " http2"
    if len(sys.argv) > 4:
        options += " ssl"
        tls = TLS.format(certificate=sys.argv[4], key=sys.argv[5])
    text = CONFIGURATION.format(
        port=port,
        workers=workers,
        folder=folder,
        options=options,
        tls=tls,
        host=os.environ.get("BENCH_HOST", "127.0.0.1"),
    )
    path = folder / "nginx.conf"
    path.write_text(user + text)
    os.execvp("nginx", ["nginx", "-p", str(folder), "-c", str(path)])


if __name__ == "__main__":
    main()
