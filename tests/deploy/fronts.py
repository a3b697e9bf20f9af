"""nginx and haproxy with the configuration of deploy/, on ports of a test."""

import os
from pathlib import Path

from conftest import DEPLOY, PLACE, Running, Started, listening, program, with_values

NGINX = """
{user}
daemon off;
worker_processes 1;
pid {here}/pid;
error_log {here}/error.log warn;
events {{ worker_connections 256; }}
http {{
  access_log off;
  client_body_temp_path {here}/body;
  proxy_temp_path {here}/proxy;
  fastcgi_temp_path {here}/fastcgi;
  uwsgi_temp_path {here}/uwsgi;
  scgi_temp_path {here}/scgi;
  include {here}/service.conf;
}}
"""


def start_nginx(started: Started, here: Path, service: Running) -> Running:
    """Puts nginx in front of a service."""
    nginx = program("nginx", "nginx-light")
    with listening() as inherited:
        port, number = inherited.getsockname()[1], inherited.fileno()
        values = {
            PLACE: f"127.0.0.1:{service.port}",
            "listen 80;": f"listen 127.0.0.1:{port};",
        }
        text = (DEPLOY / "nginx" / "service.conf").read_text()
        (here / "service.conf").write_text(with_values(text, values))
        # Else the workers of a nginx started by root run as nobody.
        user = "user root;" if os.geteuid() == 0 else ""
        (here / "nginx.conf").write_text(NGINX.format(here=here, user=user))
        process = started.run(
            [nginx, "-c", f"{here}/nginx.conf", "-p", str(here), "-e", f"{here}/error.log"],
            env={**os.environ, "NGINX": f"{number};"},
            pass_fds=[number],
        )
    return Running(process, port)


def start_haproxy(
    started: Started, here: Path, service: Running, name: str = "haproxy.cfg"
) -> Running:
    """Puts haproxy in front of a service."""
    haproxy = program("haproxy", "haproxy")
    with listening() as inherited:
        port, number = inherited.getsockname()[1], inherited.fileno()
        bind = "bind :80" if name == "haproxy.cfg" else "bind :443"
        text = (DEPLOY / "haproxy" / name).read_text()
        values = {
            PLACE: f"127.0.0.1:{service.port}",
            bind: f"bind fd@{number}",
            "inter 2s": "inter 100ms",
            "maxconn 20000": "maxconn 200",  # twice that of descriptors is wanted
        }
        (here / name).write_text(with_values(text, values))
        process = started.run([haproxy, "-db", "-f", f"{here}/{name}"], pass_fds=[number])
    return Running(process, port)
