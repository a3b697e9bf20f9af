"""Which Mojo files of a project there are, and when one of them changes."""

import asyncio
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

INTERVAL_S = 0.2
"""How often files are looked at."""

SETTLE_S = 0.1
"""How long nothing may change before a change counts: editors write in steps."""

SKIPPED = {"build", "node_modules", "__pycache__"}
"""Folders with nothing to watch, beside those with a dot in front."""

Stamp = tuple[int, int, int]


def stamps(folders: Iterable[Path]) -> dict[str, Stamp]:
    """Takes down what tells versions of files apart, for each Mojo file."""
    found = {}
    for folder in folders:
        for entry in _mojo_files(str(folder)):
            try:
                status = entry.stat()
            except FileNotFoundError:
                continue
            found[entry.path] = (status.st_mtime_ns, status.st_size, status.st_ino)
    return found


def _mojo_files(folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.name in SKIPPED:
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _mojo_files(entry.path)
        elif entry.name.endswith(".mojo"):
            yield entry


class Watcher:
    """Looks at the Mojo files below some folders, again and again."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self._folders = list(folders)
        self._known = stamps(self._folders)

    async def changed(self) -> list[str]:
        """Waits for a change that has settled; gives the paths, in order."""
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            now = stamps(self._folders)
            if now != self._known:
                break
            # A tenth of a CPU at most, however large the folders are.
            await asyncio.sleep(max(INTERVAL_S, 9 * (loop.time() - began)))
        while True:
            await asyncio.sleep(SETTLE_S)
            later = stamps(self._folders)
            if later == now:
                break
            now = later
        before, self._known = self._known, now
        paths = before.keys() | now.keys()
        return sorted(path for path in paths if before.get(path) != now.get(path))
