"""Writes the configuration of nginx as a gateway into a folder, then becomes nginx.

Usage: serve.py PORT UPSTREAM_PORT FOLDER [CERTIFICATE KEY]; BENCH_HOST is the address.
"""

import os
import sys
from pathlib import Path

CONFIGURATION = """
worker_processes 1;
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
  access_log off; keepalive_requests 1000000000; keepalive_timeout 75s; tcp_nodelay on;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi; client_body_buffer_size 64k;
  upstream raw {{
    server 127.0.0.1:{upstream};
    keepalive 1024; keepalive_requests 1000000000;
  }}
  server {{
    listen {host}:{port}{options};{tls}
    location / {{
      proxy_pass http://raw; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_set_header Host $http_host; proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-Proto $scheme;
      # The same as the others: content streams, and goes through no file.
      proxy_buffering off; proxy_request_buffering off; client_max_body_size 10m;
    }}
  }}
}}
"""

# Nobody gives tickets, so that every handshake is a full one.
TLS = """
    ssl_certificate {certificate}; ssl_certificate_key {key};
    ssl_protocols TLSv1.2 TLSv1.3; ssl_session_tickets off; ssl_session_cache off;
"""


def main() -> None:
    port, upstream, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    # Started by root, nginx would change to a user who may not read the folder.
    user = "user root;" if os.geteuid() == 0 else ""
    options, tls = "", ""
    if len(sys.argv) > 4:
        options = " ssl"
        tls = TLS.format(certificate=sys.argv[4], key=sys.argv[5])
    text = CONFIGURATION.format(
        port=port,
        upstream=upstream,
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
