"""Where a program will listen, before it has been built for the first time."""

import os
import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mojo_flare.dev.program import Address
from mojo_flare.dev.watch import stamps

_CALL = re.compile(
    r"""\bSocketAddr\.(?:
        (?P<name>localhost|any)\(\s*(?P<port>[0-9_]+)\s*\)
      | parse\(\s*"(?P<text>[^"]+)"\s*\)
    )""",
    re.VERBOSE,
)
_PREFIX = re.compile(r'\b(?:read_settings|settings_or_exit)\[[^\]]*\]\(\s*"([A-Z0-9_]*)"')
_HOSTS = {"localhost": "127.0.0.1", "any": "0.0.0.0"}


def parse_address(text: str) -> Address | None:
    """Reads `127.0.0.1:8080` or `[::1]:8080`; `None` if it is neither."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (colon and host and port.isascii() and port.isdigit() and int(port) < 65536):
        return None
    return host, int(port)


def guess_addresses(
    source: Path,
    arguments: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> list[Address]:
    """Finds the addresses that a program names, or that its settings give it.

    Args:
        source: Its file; those beside it count for settings alone.
        arguments: What it is started with.
        environment: Likewise; by default that of this process.
    """
    found: list[Address] = []
    for match in _CALL.finditer(_code(source)):
        if match["text"]:
            address = parse_address(match["text"])
        else:
            address = _HOSTS[match["name"]], int(match["port"].replace("_", ""))
        if address and 0 < address[1] < 65536 and address not in found:
            found.append(address)
    if found or not _has_settings(source):
        return found
    prefix = _PREFIX.search(_code(source))
    given = os.environ if environment is None else environment
    settings = _Settings(prefix[1] if prefix else "", arguments, given)
    text = f"{settings.of('address', '127.0.0.1')}:{settings.of('port', '8080')}"
    address = parse_address(text)
    return [address] if address and address[1] else []


@dataclass(frozen=True)
class _Settings:
    """What a program's `ServerSettings` will read; arguments win."""

    prefix: str
    arguments: Sequence[str]
    environment: Mapping[str, str]

    def of(self, name: str, default: str) -> str:
        option = f"--{name}"
        for index, argument in enumerate(self.arguments):
            if argument.startswith(f"{option}="):
                return argument.removeprefix(f"{option}=")
            if argument == option and index + 1 < len(self.arguments):
                return self.arguments[index + 1]
        return self.environment.get(f"{self.prefix}{name.upper()}") or default


def _has_settings(source: Path) -> bool:
    """Tells whether the program listens where `ServerSettings` says."""
    return any(
        re.search(r"\bServerSettings\b", _code(Path(path)))
        for path in stamps([source.resolve().parent])
    )


def _code(path: Path) -> str:
    """Reads a source without its comments; nothing if it cannot be read."""
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    return "\n".join(line.partition("#")[0] for line in lines)


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
