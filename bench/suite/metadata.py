"""Reads the metadata files, each of which describes one program and its rows."""

import re
import tomllib
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

CATEGORIES = ("micro", "platform")
CORES_MAX = 64
# What a reader has to know of a server before comparing its row with another.
LABELS = {
    "router": ("yes", "no"),
    "headers": ("parsed", "not parsed"),
    "deadlines": ("on", "partly", "off"),
    "date": ("sent", "not sent"),
    "settings": (),  # "default", or "tuned: " with what was changed
}
KINDS = ("single", "multi")


@dataclass(frozen=True)
class Program:
    """What is built once: `key` is the name of its folder or source file."""

    key: str
    here: Path
    root: Path
    framework: str
    language: str
    category: str
    needs: dict[str, str] = field(default_factory=dict)
    build: list[str] = field(default_factory=list)
    build_env: dict[str, str] = field(default_factory=dict)
    versions: dict[str, list[str]] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """One way to run a program, and one row of the tables.

    `cores` is how many CPUs the server is given. `parses` is False for a
    server that stands for the limit of the machine and is held to no rules.
    `tls` rows take part in the workloads over TLS, the others in the rest, and
    `http2` rows in those over HTTP/2. `odd_fields` are those that the server
    sends otherwise than the workload file says, and cannot be told not to.
    `websocket` rows echo messages at /ws. `gateway` rows pass requests on to the
    raw C server, which is started for them, and take part in the workloads for
    gateways alone.
    `headline` rows take part in every workload of a run that names no servers,
    the others in those that are for all.
    """

    program: Program
    name: str
    cores: int
    run: list[str]
    env: dict[str, str] = field(default_factory=dict)
    parses: bool = True
    tls: bool = False
    http2: bool = False
    odd_fields: list[str] = field(default_factory=list)
    headline: bool = False
    websocket: bool = False
    gateway: bool = False


def read_rows(text: str, key: str, here: Path, root: Path) -> list[Row]:
    """Reads one metadata file of a server.

    Raises ValueError, naming the file's key, for anything that is wrong.
    """
    rows = read_entries(text, key, here, root, Row)
    check_labels(rows[0].program)
    for row in rows:
        if not 1 <= row.cores <= CORES_MAX:
            raise ValueError(f"{key}: cores is {row.cores}; write 1 to {CORES_MAX}")
    return rows


def check_labels(program: Program) -> None:
    """Raises ValueError unless each label is there and says something known."""
    for name, allowed in LABELS.items():
        found = program.labels.get(name)
        is_known = found in allowed if allowed else found and re.match(r"default$|tuned: .", found)
        if not is_known:
            words = ", ".join(allowed) or "default, or tuned: and what was changed"
            raise ValueError(f"{program.key}: the label {name} is {found!r}; write one of {words}")


def read_entries(text: str, key: str, here: Path, root: Path, kind: type) -> list:
    """Reads one metadata file, whose rows are of a dataclass.

    Raises ValueError, naming the file's key, for anything that is wrong.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{key}: {error}") from None
    entries = table.pop("row", None)
    if not entries:
        raise ValueError(f"{key}: there is no [[row]]; add one for each way to run it")
    program = _make(Program, table, {"key": key, "here": here, "root": root}, key)
    if program.category not in CATEGORIES:
        raise ValueError(
            f"{key}: category is {program.category!r}; write one of {', '.join(CATEGORIES)}"
        )
    return [_make(kind, entry, {"program": program}, key) for entry in entries]


def _make(kind: type, table: dict, given: dict, key: str) -> "Program | Row":
    """Fills a dataclass from a table; refuses keys and types it has not."""
    wanted = {item.name: item for item in fields(kind) if item.name not in given}
    for name, value in table.items():
        if name not in wanted:
            raise ValueError(f"{key}: there is no {name!r}; known are {', '.join(wanted)}")
        type_wanted = getattr(wanted[name].type, "__origin__", wanted[name].type)
        if type(value) is not type_wanted:
            raise ValueError(f"{key}: {name} is {value!r}; write a {type_wanted.__name__}")
    try:
        return kind(**given, **table)
    except TypeError as error:
        raise ValueError(f"{key}: {str(error).split('() ')[-1]}") from None


def load(bench: Path) -> list[Row]:
    """Reads all metadata: limits of the machine first, then ours, then peers."""
    root = bench.parent
    rows = []
    for path in sorted((bench / "servers").glob("*.toml")):
        rows += read_rows(path.read_text(), path.stem, path.parent, root)
    for path in sorted((bench / "peers").glob("*/server.toml")):
        rows += read_rows(path.read_text(), path.parent.name, path.parent, root)
    names = [row.name for row in rows]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two rows have the name {name!r}; give each its own")
    # C epoll, which the others are compared with, comes before C io_uring.
    return sorted(rows, key=lambda row: (row.parses, row.program.key if not row.parses else ""))


def select(rows: list[Row], wanted: list[str]) -> list[Row]:
    """Picks rows by folder, by their whole name, or by a part of it; by default all.

    Raises ValueError for a name that picks none.
    """
    if not wanted:
        return rows
    picked: list[Row] = []
    for name in wanted:
        key, part = name.rstrip("/").rsplit("/", 1)[-1], name.lower()
        found = (
            [row for row in rows if row.program.key == key]
            or [row for row in rows if row.name == name]
            or [row for row in rows if part in row.name.lower() or part in row.program.key]
        )
        if not found:
            keys = ", ".join(dict.fromkeys(row.program.key for row in rows))
            raise ValueError(f"no server has {name!r} in its name; there are {keys}")
        picked += found
    return [row for row in rows if row in picked]


def in_languages(rows: list[Row], languages: list[str]) -> list[Row]:
    """Keeps the rows whose server is written in one of the languages; by default all.

    Raises ValueError for a language that no row has.
    """
    there = {row.program.language.lower(): row.program.language for row in rows}
    for language in languages:
        if language.lower() not in there:
            known = ", ".join(sorted(there.values()))
            raise ValueError(f"no server here is written in {language!r}; there are {known}")
    wanted = {language.lower() for language in languages}
    return [row for row in rows if not wanted or row.program.language.lower() in wanted]


def of_kind(rows: list[Row], kind: str) -> list[Row]:
    """Keeps the rows of a run's kind: `single` has those with one core only."""
    return [row for row in rows if kind == "multi" or row.cores == 1]


def from_tree(rows: list[Row], tree: Path) -> list[Row]:
    """Copies our own rows so that they are built from another tree, as the base."""
    copies = []
    for row in rows:
        program = row.program
        if program.framework == "flare":
            here = tree / program.here.relative_to(program.root)
            base = replace(program, key=f"base_{program.key}", here=here, root=tree)
            copies.append(replace(row, program=base, name=f"{row.name} (base)"))
    return copies
