"""Fetches packages from npm, pinned by version and digest."""

import base64
import hashlib
import subprocess
import tarfile
from pathlib import Path

TIMEOUT_S = 120


class NoPackage(Exception):
    """npm has no such package, or there is no npm."""


def unpack(package: str, digest: str, folder: Path) -> Path:
    """Unpacks a package into a folder, unless that is there; its archive stays beside.

    Args:
        package: Name and version, as `name@1.0.0`.
        digest: The SHA-512 of its archive, in base64.
        folder: Where to; the folder it is in is made.

    Raises:
        NoPackage: If it cannot be had.
        ValueError: If its archive is another one.
    """
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        packed = subprocess.run(
            ["npm", "pack", "--silent", package],
            cwd=folder.parent,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
        )
    except FileNotFoundError:
        raise NoPackage(f"there is no npm for {package}") from None
    if packed.returncode != 0:
        raise NoPackage(f"npm has no {package}: {packed.stderr[-200:]}")
    archive = folder.parent / packed.stdout.split()[-1]
    found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if found != digest:
        raise ValueError(f"{package} is another one than was pinned")
    part = folder.with_suffix(".part")
    with tarfile.open(archive) as content:
        content.extractall(part, filter="data")
    (part / "package").rename(folder)
    return folder
