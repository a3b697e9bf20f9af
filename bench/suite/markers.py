"""Replaces what stands between markers in a page, so that no table is typed."""

import re
from pathlib import Path


def _pattern(name: str) -> re.Pattern:
    begin, end = f"<!-- bench: begin {name} -->", f"<!-- bench: end {name} -->"
    return re.compile(f"({re.escape(begin)}\n)(.*?)({re.escape(end)})", re.DOTALL)


def section(page: str, name: str) -> str | None:
    """Gives what stands between the markers of a name, or None without them."""
    found = _pattern(name).search(page)
    return found[2] if found else None


def replaced(page: str, name: str, text: str) -> str:
    """Puts text between the markers. Raises ValueError if there are none."""
    if section(page, name) is None:
        raise ValueError(f"the page has no markers `bench: begin {name}` and `bench: end {name}`")
    return _pattern(name).sub(lambda found: found[1] + text + found[3], page)


def replace_in(path: Path, name: str, text: str) -> None:
    """Puts text between the markers of a file."""
    path.write_text(replaced(path.read_text(), name, text))
