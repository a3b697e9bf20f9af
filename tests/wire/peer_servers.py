"""Servers of others, for the client's tests: nginx, Go's net/http, httpbin."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from ports import claim_port
from processes import next_line
from toolchain import BUILD, ROOT

START_TIMEOUT_S = 20
STOP_TIMEOUT_S = 10
FOLDER = BUILD / "wire" / "peers"
GO_SOURCES = ROOT / "tests" / "wire" / "peers"

NGINX = """
{user}
daemon off;
worker_processes 1;
pid {here}/pid;
error_log {here}/error.log warn;
events {{ worker_connections 256; }}
http {{
  access_log off;
  default_type text/plain;
  client_body_temp_path {here}/body;
  proxy_temp_path {here}/proxy;
  fastcgi_temp_path {here}/fastcgi;
  uwsgi_temp_path {here}/uwsgi;
  scgi_temp_path {here}/scgi;
  client_max_body_size 200m;
  gzip_types *;
  gzip_min_length 1;
  server {{
    listen 127.0.0.1:{port}{listens};
    {tls}
    root {here}/files;
    location /zipped/ {{ gzip on; alias {here}/files/; }}
    location /saved/ {{
      dav_methods PUT DELETE;
      create_full_put_path on;
    }}
    location /secret/ {{
      auth_basic "here";
      auth_basic_user_file {here}/users;
      alias {here}/files/;
    }}
    location /which {{
      return 200 "$connection $connection_requests";
    }}
    location /echo {{
      return 200 "$request_method $request_uri $server_protocol";
    }}
    location /authorization {{ return 200 "[$http_authorization]"; }}
    {redirects}
    location /small/ {{ client_max_body_size 1k; proxy_pass http://127.0.0.1:1; }}
    location /gone {{ return 444; }}
  }}
}}
"""


def program(name: str, package: str) -> str:
    """Finds a program, or skips the tests that need it."""
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    if not found:
        pytest.skip(f"{name} is not here: apt-get install {package}")
    return found


class Peer:
    """A running server on a port of its own."""

    def __init__(self, command: list[str], port: int, **options) -> None:
        FOLDER.mkdir(parents=True, exist_ok=True)
        self.log = open(FOLDER / f"{Path(command[0]).name}-{os.getpid()}.log", "w")
        self.process = subprocess.Popen(command, stderr=self.log, **options)
        self.port = port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(STOP_TIMEOUT_S)
        self.log.close()


def go_program(name: str) -> Path:
    """Builds a program of Go, or skips the tests that need it."""
    go = program("go", "golang-go")
    FOLDER.mkdir(parents=True, exist_ok=True)
    binary = FOLDER / name
    built = subprocess.run(
        [go, "build", "-o", str(binary), "."],
        cwd=GO_SOURCES / name,
        env={**os.environ, "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local"},
        capture_output=True,
        text=True,
    )
    if "dial tcp" in built.stderr or "module lookup disabled" in built.stderr:
        pytest.skip(f"the modules of {name} cannot be had: {built.stderr[-300:]}")
    assert built.returncode == 0, built.stderr
    return binary


def start_go(*arguments: str) -> Peer:
    """Starts Go's server: with a certificate and its key over TLS, with `h2c`
    for HTTP/2 without TLS."""
    binary = go_program("go_net_http")
    return _started([str(binary), *arguments])


def start_node(*arguments: str) -> Peer:
    """Starts Node's HTTP/2 server, with a certificate and its key over TLS."""
    node = program("node", "nodejs")
    return _started([node, str(GO_SOURCES / "node_http2.js"), *arguments])


def start_node_echo() -> Peer:
    """Starts Node's HTTP/1.1 server, which says what it was asked."""
    node = program("node", "nodejs")
    return _started([node, str(GO_SOURCES / "node_echo.js")])


def start_node_websocket(certs: Path) -> Peer:
    """Starts a WebSocket echo over Node's HTTP/2."""
    node = program("node", "nodejs")
    return _started([node, str(GO_SOURCES / "node_websocket.js"), *_shown(certs)])


def start_hypercorn(certs: Path) -> Peer:
    """Starts a WebSocket echo over hypercorn's HTTP/2."""
    source = str(GO_SOURCES / "hypercorn_websocket.py")
    return _started([sys.executable, source, *_shown(certs)])


def _shown(certs: Path) -> list[str]:
    return [str(certs / name) for name in ("good_chain.pem", "good.key")]


def _started(command: list[str]) -> Peer:
    peer = Peer(command, 0, stdout=subprocess.PIPE)
    line = next_line(peer.process, START_TIMEOUT_S)
    if not line.startswith("listening on"):
        pytest.skip(line.strip())
    peer.port = int(line.rsplit(":", 1)[1])
    return peer


def start_nghttpd(folder: Path, *arguments: str) -> Peer:
    """Starts nghttp2's server of files, with a key and its certificate over TLS.
    """
    nghttpd = program("nghttpd", "nghttp2-server")
    tls = [] if arguments else ["--no-tls"]
    command = [nghttpd, *tls, "-d", str(folder), "-a", "127.0.0.1"]
    return _on_a_port(lambda port: [*command, str(port), *arguments])


def start_h2o(folder: Path, *arguments: str) -> Peer:
    """Starts h2o with a folder of files, with a certificate and its key over TLS.
    """
    h2o = program("h2o", "h2o")
    FOLDER.mkdir(parents=True, exist_ok=True)
    config = FOLDER / f"h2o-{os.getpid()}-{len(arguments)}.conf"

    def command(port: int) -> list[str]:
        listen: dict[str, object] = {"host": "127.0.0.1", "port": port}
        if arguments:
            names = ["certificate-file", "key-file"]
            listen["ssl"] = dict(zip(names, arguments))
        paths = {"/": {"file.dir": str(folder)}}
        hosts = {"default": {"listen": listen, "paths": paths}}
        settings = {"hosts": hosts, "num-threads": 1}
        if os.geteuid() == 0:
            settings["user"] = "root"
        # JSON is YAML.
        config.write_text(json.dumps(settings))
        return [h2o, "-c", str(config)]

    return _on_a_port(command)


def start_hyper() -> Peer:
    """Starts the benchmarks' hello server on hyper, over HTTP/2 without TLS, which
    they have built; building it takes longer than all tests of it."""
    binary = BUILD / "bench" / "rust_target" / "release" / "bench_hyper"
    if not binary.exists():
        pytest.skip("hyper's server is not built: make bench")
    return _on_a_port(lambda port: [str(binary), str(port), "1", "h2"])


def _on_a_port(command: Callable[[int], list[str]]) -> Peer:
    """Starts a server that opens its port itself, and says nothing when it has."""
    port = claim_port()
    peer = Peer(command(port), port)
    if is_up(peer):
        return peer
    peer.stop()
    raise AssertionError(f"{command(port)[0]} does not start")


def is_up(peer: Peer) -> bool:
    """Waits until somebody listens on a peer's port; False if it ends first."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while peer.process.poll() is None and time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", peer.port)) == 0:
                return True
        time.sleep(0.02)
    return False


def listening() -> socket.socket:
    """Makes a listening socket that a server is to inherit: so nobody else can
    take its port, and whoever connects waits until the server is there."""
    return socket.create_server(("127.0.0.1", 0), backlog=512)


def start_nginx(users: dict[str, str], tls: str = "", listens: str = "") -> Peer:
    """Starts nginx: `listens` completes its `listen`, such as " ssl http2", and
    `tls` holds more directives."""
    nginx = program("nginx", "nginx")
    here = FOLDER / f"nginx-{os.getpid()}"
    (here / "files" / "saved").mkdir(parents=True, exist_ok=True)
    lines = [f"{name}:{{PLAIN}}{password}\n" for name, password in users.items()]
    (here / "users").write_text("".join(lines))
    redirects = "".join(
        f"location = /to/{code} {{ return {code} /echo?from={code}; }}\n"
        for code in (301, 302, 303, 307, 308)
    )
    # Else the workers of a nginx started by root run as nobody.
    user = "user root;" if os.geteuid() == 0 else ""
    with listening() as inherited:
        port = inherited.getsockname()[1]
        config = here / "nginx.conf"
        config.write_text(
            NGINX.format(here=here, port=port, redirects=redirects, user=user,
                         tls=tls, listens=listens)
        )
        number = inherited.fileno()
        peer = Peer(
            [nginx, "-c", str(config), "-p", str(here), "-e", str(here / "error.log")],
            port,
            env={**os.environ, "NGINX": f"{number};"},
            pass_fds=[number],
        )
    peer.files = here / "files"
    return peer


def start_httpbin() -> Peer:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with listening() as inherited:
        number = inherited.fileno()
        return Peer(
            [
                sys.executable, "-m", "gunicorn", "httpbin:app",
                "--bind", f"fd://{number}", "--worker-class", "gthread",
                "--threads", "8", "--keep-alive", "60", "--log-level", "error",
                "--no-control-socket",
            ],
            inherited.getsockname()[1],
            pass_fds=[number],
        )
