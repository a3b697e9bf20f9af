"""nginx, haproxy and our gateway in front of a server of ours, which share its
connections among their clients: what one of them leaves behind another would get."""

import os

from conftest import Server
from peer_servers import FOLDER, Peer, is_up, listening, program
from wire_programs import built

NGINX = """
{user}
daemon off;
worker_processes 1;
pid {here}/pid;
error_log {here}/error.log crit;
events {{ worker_connections 256; }}
http {{
  access_log off;
  client_body_temp_path {here}/body;
  proxy_temp_path {here}/proxy;
  fastcgi_temp_path {here}/fastcgi;
  uwsgi_temp_path {here}/uwsgi;
  scgi_temp_path {here}/scgi;
  upstream service {{ server 127.0.0.1:{behind}; keepalive 1; }}
  server {{
    listen 127.0.0.1:{port}{listens};
    location / {{
      proxy_pass http://service;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_request_buffering off;
      proxy_next_upstream off;
    }}
  }}
}}
"""

HAPROXY = """
global
  maxconn 100
defaults
  mode http
  timeout connect 5s
  timeout client 5s
  timeout server 5s
frontend front
  bind fd@{number}
  default_backend service
backend service
  http-reuse always
  retries 0
  server one 127.0.0.1:{behind} maxconn 4{protocol}
"""


def start_nginx(behind: int, listens: str = "") -> Peer:
    """Starts nginx, which speaks HTTP/1.1 with the server; `listens` may be " http2"."""
    nginx = program("nginx", "nginx")
    here = FOLDER / f"hop-nginx-{os.getpid()}-{behind}{listens.strip()}"
    here.mkdir(parents=True, exist_ok=True)
    # Else the workers of a nginx started by root run as nobody.
    user = "user root;" if os.geteuid() == 0 else ""
    with listening() as inherited:
        port, number = inherited.getsockname()[1], inherited.fileno()
        config = here / "nginx.conf"
        config.write_text(
            NGINX.format(here=here, user=user, behind=behind, port=port, listens=listens)
        )
        return Peer(
            [nginx, "-c", str(config), "-p", str(here), "-e", str(here / "error.log")],
            port, env={**os.environ, "NGINX": f"{number};"}, pass_fds=[number],
        )


def start_haproxy(behind: int, protocol: str = "") -> Peer:
    """Starts haproxy, which takes both versions; `protocol` may be " proto h2", which
    it then speaks with the server."""
    haproxy = program("haproxy", "haproxy")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with listening() as inherited:
        port, number = inherited.getsockname()[1], inherited.fileno()
        config = FOLDER / f"hop-haproxy-{os.getpid()}-{port}.cfg"
        config.write_text(HAPROXY.format(number=number, behind=behind, protocol=protocol))
        peer = Peer([haproxy, "-db", "-f", str(config)], port, pass_fds=[number])
    assert is_up(peer), "haproxy has ended"
    return peer


def start_flare(behind: int, *options: str) -> Server:
    """Starts our gateway."""
    upstream = f"upstream=http://127.0.0.1:{behind}"
    return Server(built("proxy_server"), [upstream, "server_logs_errors=0", *options])


# (who stands in front, which versions its clients speak, whether it reads as we do)
FRONTS = {
    "nobody": (None, ["1.1", "2"], True),
    "nginx": (start_nginx, ["1.1"], False),
    "nginx, HTTP/2 before it": (lambda behind: start_nginx(behind, " http2"), ["2"], False),
    "haproxy": (start_haproxy, ["1.1", "2"], False),
    "haproxy, HTTP/2 behind it": (
        lambda behind: start_haproxy(behind, " proto h2"), ["1.1", "2"], False,
    ),
    "flare": (start_flare, ["1.1", "2"], True),
    "flare, HTTP/2 behind it": (
        lambda behind: start_flare(behind, "http2_prior_knowledge=1"), ["1.1", "2"], True,
    ),
}


def fronts(version: str) -> list[str]:
    """Those whose clients speak a version."""
    return [name for name, (_, versions, _) in FRONTS.items() if version in versions]
