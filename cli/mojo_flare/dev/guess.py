"""Where a program will listen, before it has been built for the first time."""

import re
import socket
from pathlib import Path

from mojo_flare.dev.program import Address

_CALL = re.compile(
    r"""\bSocketAddr\.(?:
        (?P<name>localhost|any)\(\s*(?P<port>[0-9_]+)\s*\)
      | parse\(\s*"(?P<text>[^"]+)"\s*\)
    )""",
    re.VERBOSE,
)
_HOSTS = {"localhost": "127.0.0.1", "any": "0.0.0.0"}


def parse_address(text: str) -> Address | None:
    """Reads `127.0.0.1:8080` or `[::1]:8080`; `None` if it is neither."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (colon and host and port.isascii() and port.isdigit() and int(port) < 65536):
        return None
    return host, int(port)


def guess_addresses(source: Path) -> list[Address]:
    """Finds the addresses that a source names; comments do not count."""
    try:
        lines = source.read_text(errors="replace").splitlines()
    except OSError:
        return []
    found: list[Address] = []
    for line in lines:
        for match in _CALL.finditer(line.partition("#")[0]):
            if match["text"]:
                address = parse_address(match["text"])
            else:
                address = _HOSTS[match["name"]], int(match["port"].replace("_", ""))
            if address and 0 < address[1] < 65536 and address not in found:
                found.append(address)
    return found


def listen(address: Address) -> socket.socket | None:
    """Listens at an address as the library does; `None` if it cannot be had."""
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind(address)
        listener.listen(LISTEN_BACKLOG)
    except OSError:
        listener.close()
        return None
    listener.setblocking(False)
    return listener


LISTEN_BACKLOG = 4096
"""As the library's own listeners have."""
