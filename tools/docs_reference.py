"""Writes the reference: a page a package front, from the docstrings.

What is listed is what users import: the names that a package's `__init__.mojo`
re-exports. A name that several fronts export is described in one of them, the
deepest that its file lies in; the others link there.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from check_layers import Layers
from mojo_source import Source
from toolchain import BUILD, mojo

KINDS = ("structs", "traits", "functions", "aliases")
SIGNATURE_WIDTH = 76
DEFAULT_WIDTH = 40
NUMBER = re.compile(r"\b(?:Int|UInt8|UInt16|Float64|Bool)\((-?[\w.]+)\)")
LEFT_TO = re.compile(r"\bthe rest\s+is\s+as\s+for\s+`([\w.]+)`", re.IGNORECASE)
RAISED = re.compile(r"\bEach (?:\w+ )?raises `(\w+)` (if [^.]+)\.")
# Summaries that say what is given.
TELLING = re.compile(
    r"(Tells|Counts|Gives|Lends|Names|Copies|Finds|Reads|Takes) |[^.]*[;,] (and )?gives "
)
Node = dict[str, Any]
# What methods of the language's own traits take, the same for every type.
OF_LANGUAGE: dict[str, Node] = {
    "write_to": {"args": [{"name": "writer", "description": "Where to."}]},
    "__deinit__": {"summary": "Drops what it holds."},
}


@dataclass(frozen=True)
class Entry:
    """One public name: where it is defined, and what the compiler says of it."""

    name: str
    module: str
    node: Node

    @property
    def path(self) -> Path:
        """The file that defines it."""
        return Path(*self.module.split(".")).with_suffix(".mojo")

    @property
    def summary(self) -> str:
        """What it is, in a sentence."""
        node = self.node
        if "overloads" in node:
            node = node["overloads"][0]
        return flat(node.get("summary") or "")


def read_library() -> Node:
    """Lets the compiler read every docstring."""
    target = BUILD / "docs" / "api.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    result = mojo("doc", "flare", "-o", str(target))
    if result.returncode:
        raise SystemExit(result.stdout)
    return json.loads(target.read_text())["decl"]


def declarations(package: Node, prefix: str = "") -> dict[tuple[str, str], Node]:
    """Finds every declaration by its module and name."""
    name = f"{prefix}{package['name']}"
    found = {}
    for module in package["modules"]:
        for kind in KINDS:
            for node in module[kind]:
                found[(f"{name}.{module['name']}", node["name"])] = node
    for inner in package["packages"]:
        found |= declarations(inner, f"{name}.")
    return found


@dataclass(frozen=True)
class Front:
    """A package front: its name, its first docstring, and what it exports."""

    package: str
    summary: str
    entries: list[Entry]

    @property
    def page(self) -> str:
        """Its page below `reference/`."""
        return f"{self.package}.md"


class Reference:
    """All fronts, and where each public name is described."""

    def __init__(self, root: Path, library: Node) -> None:
        self.root = root
        self.found = declarations(library)
        self.fronts = list(self._read_fronts())

    def _read_fronts(self) -> Iterator[Front]:
        layers = Layers.read(self.root / "tools" / "layers.toml")
        for package in layers.fronts:
            path = Path(package) / "__init__.mojo"
            if not (self.root / path).exists():
                continue
            source = Source.read(self.root, path)
            summary = source.text.split('"""')[1].strip()
            entries = {
                name: Entry(name, entry.module, self.told(entry.module, name))
                for entry in source.imports
                for name in entry.names
                if (entry.module, name) in self.found
            }
            if entries:
                name = package.replace("/", ".")
                yield Front(name, summary, list(entries.values()))

    def told(self, module: str, name: str) -> Node:
        """What is said of a public name, in its own docstring or elsewhere."""
        return completed(self.found[(module, name)], self.found)

    def is_told(self, path: Path, name: str, member: str) -> bool:
        """Tells whether a type's method or compile-time member, or a function, which
        has no `member`, lacks no words."""
        module = ".".join(path.with_suffix("").parts)
        if (module, name) not in self.found:
            return False
        node = self.told(module, name)
        methods = [one for one in node.get("functions", []) if one["name"] == member]
        if node["kind"] == "function" and not member:
            methods = [node]
        found = [overload for method in methods for overload in method["overloads"]]
        found += [alias for alias in node.get("aliases", []) if alias["name"] == member]
        return bool(found) and all(map(is_complete, found))

    @cached_property
    def homes(self) -> dict[str, str]:
        """The package that describes each public name."""
        homes: dict[str, str] = {}
        for front in self.fronts:
            for entry in front.entries:
                old = homes.get(entry.name)
                if old is None or closeness(front.package, entry.module) > closeness(
                    old, entry.module
                ):
                    homes[entry.name] = front.package
        return homes

    def link(self, name: str) -> str:
        """Where a public name is described, from the folder of the reference."""
        return f"{self.homes[name]}.md#{name}"

    def page(self, front: Front) -> str:
        """Writes the page of one front."""
        out = [f"# {front.package}", "", front.summary, ""]
        out += ["| name | what it is |", "| --- | --- |"]
        for entry in sorted(front.entries, key=lambda entry: entry.name.lower()):
            home = self.homes[entry.name]
            note = "" if home == front.package else f" (in `{home}`)"
            text = first_sentence(entry.summary).replace("|", "\\|")
            out.append(f"| [`{entry.name}`]({self.link(entry.name)}) | {text}{note} |")
        out.append("")
        for entry in front.entries:
            if self.homes[entry.name] == front.package:
                out += self._section(entry)
        return "\n".join(out).rstrip() + "\n"

    def _section(self, entry: Entry) -> list[str]:
        """Describes one name with all that belongs to it."""
        lines = Lines(Source.read(self.root, entry.path))
        node = entry.node
        out = [f"## `{entry.name}` {{ #{entry.name} }}", ""]
        out += [f"`from {self.homes[entry.name]} import {entry.name}`"]
        out += [f"· {self._source_link(entry, lines.top(entry.name))}", ""]
        if "overloads" in node:
            for overload in node["overloads"]:
                out += describe_function(overload)
            return out
        if signature := node.get("signature"):
            out += code(signature)
        out += prose(node)
        out += describe_members(node)
        for method in node.get("functions", []):
            name = method["name"]
            if name.startswith("_") and name != "__init__":
                continue
            # Underscores in an anchor would be taken for emphasis.
            out += [f"### `{name}` {{ #{entry.name}.{name.strip('_')} }}", ""]
            for number, overload in enumerate(method["overloads"]):
                line = lines.member(entry.name, name, number)
                out += describe_function(overload, self._source_link(entry, line))
        return out + self._inherited(node)

    def _source_link(self, entry: Entry, line: int) -> str:
        return f"[source](../source/{entry.path}.md#__codelineno-0-{line})"

    def _inherited(self, node: Node) -> list[str]:
        """Names, a line a trait of ours, the methods that a struct has from it."""
        own = {method["name"] for method in node.get("functions", [])}
        out = []
        for parent in node.get("parentTraits", []):
            module, _, name = parent.get("path", "").strip("/").rpartition("/")
            methods = self.found.get((module.replace("/", "."), name), {})
            names = [
                method["name"]
                for method in methods.get("functions", [])
                if not method["name"].startswith("_") and method["name"] not in own
            ]
            if names:
                listed = ", ".join(f"`{name}`" for name in dict.fromkeys(names))
                shown = f"[`{name}`]({self.link(name)})" if name in self.homes else f"`{name}`"
                out += [f"Also has, from {shown}: {listed}.", ""]
        return out


def completed(node: Node, found: dict[tuple[str, str], Node]) -> Node:
    """Adds to a type what its docstrings leave to others, so that it stands once.

    A method is told of by the method that its docstring names ("the rest is as for
    `request`"), by a trait of ours that has it, and by its other overloads; its
    arguments by the public fields of their names, if it is an initializer, and by
    the first method of the type, or of its traits, that says what they are; what
    it raises by the type ("Each method raises `Error` if ...").
    """
    if "functions" not in node:
        return node
    fields = [
        {"name": field["name"], "description": flat(" ".join(prose(field)))}
        for field in node.get("fields", [])
    ]
    others: dict[str, Node] = {**OF_LANGUAGE, "__init__": {"args": fields}}
    spoken = [*node["functions"]]
    for above in traits_of(node, found):
        trait = completed(above, found)
        spoken += trait.get("functions", [])
        for method in trait.get("functions", []):
            others.setdefault(method["name"], method["overloads"][0])
        for alias in trait.get("aliases", []):
            others.setdefault(alias["name"], alias)
    known = {method["name"]: method["overloads"] for method in node["functions"]}
    last = {"args": spoken_of(spoken), "raisesDoc": raised_by_each(node)}
    methods = []
    for method in node["functions"]:
        overloads = [
            filled(
                one,
                *said_elsewhere(one, known, found),
                others.get(method["name"], {}),
                # The one before it first.
                *reversed(method["overloads"][:index]),
                *method["overloads"][index + 1 :],
                last,
            )
            for index, one in enumerate(method["overloads"])
        ]
        methods.append({**method, "overloads": overloads})
    aliases = [filled(alias, others.get(alias["name"], {})) for alias in node.get("aliases", [])]
    return {**node, "functions": methods, "aliases": aliases}


def traits_of(node: Node, found: dict[tuple[str, str], Node]) -> Iterator[Node]:
    """The traits of ours that a type has, each before those that it has itself."""
    for parent in node.get("parentTraits", []):
        module, _, name = parent.get("path", "").strip("/").rpartition("/")
        if trait := found.get((module.replace("/", "."), name)):
            yield trait
            yield from traits_of(trait, found)


def spoken_of(methods: list[Node]) -> list[Node]:
    """The arguments and parameters of methods, each as the first says what it is."""
    words: dict[str, Node] = {}
    for method in methods:
        for overload in method["overloads"]:
            for part in overload.get("args", []) + overload.get("parameters", []):
                if part.get("description"):
                    words.setdefault(part["name"].lstrip("*"), part)
    return list(words.values())


def said_elsewhere(
    own: Node, known: dict[str, list[Node]], found: dict[tuple[str, str], Node]
) -> Iterator[Node]:
    """The method that a docstring leaves the rest to: of the same type, `known`, or
    of another, which is named before it."""
    if not (match := LEFT_TO.search(" ".join(prose(own)))):
        return
    owner, _, name = match[1].rpartition(".")
    if not owner and name in known:
        yield from known[name]
    for (_, other), node in found.items():
        for method in node.get("functions", []) if owner and other == owner else []:
            if method["name"] == name:
                yield from method["overloads"]


def raised_by_each(node: Node) -> str:
    """What a type says that all of its methods raise."""
    match = RAISED.search(flat(" ".join(prose(node))))
    return f"{match[1]}: {match[2][0].upper()}{match[2][1:]}." if match else ""


def filled(own: Node, *others: Node) -> Node:
    """What a docstring says, and where it is silent what others say, the first one
    first."""
    made = {**own}
    for other in others:
        words = {
            part["name"].lstrip("*"): part.get("description", "")
            for key in ("args", "parameters")
            for part in other.get(key, [])
        }
        for key in {"args", "parameters"} & own.keys():
            made[key] = [
                {
                    **part,
                    "description": part.get("description")
                    or words.get(part["name"].lstrip("*"), ""),
                }
                for part in made[key]
            ]
        if not made.get("summary"):
            made["summary"] = other.get("summary", "")
            made["description"] = other.get("description", "")
        if made.get("raises") and not made.get("raisesDoc"):
            made["raisesDoc"] = other.get("raisesDoc", "")
        if (returns := made.get("returns")) and not returns.get("doc"):
            made["returns"] = {**returns, "doc": (other.get("returns") or {}).get("doc", "")}
    return made


def is_complete(node: Node) -> bool:
    """Tells whether a function or a compile-time member lacks no words."""
    parts = node.get("args", []) + node.get("parameters", [])
    returns = node.get("returns")
    gives = bool(returns) and node["name"] != "__init__" and returns["type"] != "None"
    gives = gives and not TELLING.match(flat(node.get("summary") or ""))
    return (
        bool(node.get("summary"))
        and all(part.get("description") for part in parts if part["name"] != "self")
        and (not gives or bool(returns.get("doc")))
        and (not node.get("raises") or bool(node.get("raisesDoc")))
    )


class Lines:
    """Finds the lines of definitions in a file."""

    def __init__(self, source: Source) -> None:
        self._code = source.code

    def top(self, name: str) -> int:
        """The line that defines a name, counted from 1."""
        pattern = re.compile(rf"(struct|trait|def|comptime|enum)\s+{name}\b")
        for index, line in enumerate(self._code):
            if pattern.match(line):
                return index + 1
        return 1

    def member(self, name: str, member: str, number: int) -> int:
        """The line of one of the overloads of a member, or of its owner."""
        first = self.top(name)
        pattern = re.compile(rf"\s+def\s+{member}\b")
        seen = 0
        for index in range(first, len(self._code)):
            line = self._code[index]
            if line and not line[0].isspace() and not line.startswith((")", "]", "#")):
                break
            if pattern.match(line):
                if seen == number:
                    return index + 1
                seen += 1
        return first


def closeness(package: str, module: str) -> int:
    """Tells how near a front is to a file: the deepest around it is nearest."""
    is_around = module.startswith(f"{package}.")
    return len(package) if is_around else package.count(".") - 10


def describe_members(node: Node) -> list[str]:
    """Lists the public fields and compile-time members of a struct."""
    out = []
    for member in node.get("aliases", []) + node.get("fields", []):
        if not member["name"].startswith("_"):
            type_name = member.get("type")
            shown = f"`{member['name']}: {type_name}`" if type_name else f"`{member['name']}`"
            text = flat(" ".join(prose(member)))
            out.append(f"- {shown}: {text}" if text else f"- {shown}")
    return out + [""] if out else []


def describe_function(node: Node, link: str = "") -> list[str]:
    """Writes one overload of a function."""
    signature = node["signature"]
    if node["raises"] and " raises" not in signature:
        head, arrow, result = signature.rpartition(" -> ")
        signature = f"{head} raises -> {result}" if arrow else f"{signature} raises"
    out = code(signature)
    if node.get("deprecated"):
        out += [f"Deprecated: {flat(node['deprecated'])}", ""]
    out += prose(node)
    listed = [
        f"- `{entry['name']}`: {flat(entry['description'])}"
        for entry in node["parameters"] + node["args"]
        if entry.get("description")
    ]
    if text := (node.get("returns") or {}).get("doc"):
        listed.append(f"- Returns: {flat(text)}")
    if node["raisesDoc"]:
        listed.append(f"- Raises {flat(node['raisesDoc'])}")
    if link:
        listed.append(f"- {link}")
    return [*out, *listed, ""]


def code(signature: str) -> list[str]:
    """Shows a signature, in several lines if it is long."""
    return ["```mojo", broken(shortened(signature)), "```", ""]


def shortened(signature: str) -> str:
    """Writes defaults as a caller would, and leaves out what is in long ones."""
    signature = NUMBER.sub(r"\1", signature)
    at = 0
    while (start := signature.find(" = ", at)) >= 0:
        end = end_of_default(signature, start + 3)
        head, bracket, _ = signature[start + 3 : end].partition("(")
        if end - start > DEFAULT_WIDTH and bracket:
            signature = f"{signature[: start + 3]}{head}(...){signature[end:]}"
            end = start + 3 + len(head)
        at = end
    return signature


def end_of_default(signature: str, at: int) -> int:
    """Finds where a default value ends: at a comma or bracket of the outside."""
    depth = 0
    while at < len(signature):
        char = signature[at]
        if depth == 0 and char in ",)]":
            return at
        depth += (char in "([{") - (char in ")]}")
        at += 1
    return at


def broken(signature: str) -> str:
    """Breaks a long signature at the commas of its outermost lists."""
    if len(signature) <= SIGNATURE_WIDTH:
        return signature
    out, depth = "", 0
    for index, char in enumerate(signature):
        closes = char in ")]" and depth > 0
        if closes:
            depth -= 1
            if depth == 0 and is_list(signature, index):
                out += "\n"
        out += char
        if char in "([":
            depth += 1
            if depth == 1 and is_list(signature, index):
                out += "\n    "
        if char == "," and depth == 1:
            out += "\n   "
    lines = [line.rstrip() for line in out.split("\n") if line.strip()]
    return "\n".join(lines)


def is_list(signature: str, index: int) -> bool:
    """Tells whether a bracket opens or closes what is worth breaking: not `[H]`."""
    depth, start = 0, index
    if signature[index] in ")]":
        while start >= 0:
            depth += (signature[start] in ")]") - (signature[start] in "([")
            if depth == 0:
                break
            start -= 1
    depth, end = 0, start
    while end < len(signature):
        depth += (signature[end] in "([") - (signature[end] in ")]")
        if depth == 0:
            break
        end += 1
    return end - start > SIGNATURE_WIDTH // 3


def prose(node: Node) -> list[str]:
    """Gives a docstring's summary and description as paragraphs."""
    texts = (node.get("summary"), node.get("description"))
    return [line for text in texts if text for line in (fenced(text.strip("\n")), "")]


def fenced(text: str) -> str:
    """Puts the examples of a docstring, which are indented, into fences."""

    def one(block: re.Match[str]) -> str:
        lines = block[0].strip("\n").splitlines()
        code = "\n".join(line.removeprefix("    ") for line in lines)
        return f"\n```mojo\n{code}\n```\n\n" if code.strip() else block[0]

    if "```" in text:
        return text
    return re.sub(r"(?:^    .*(?:\n|\Z)|^\n)+", one, text, flags=re.MULTILINE)


def flat(text: str) -> str:
    """Joins a text to one line."""
    return " ".join(text.split())


def first_sentence(text: str) -> str:
    """Cuts a text behind its first sentence."""
    return re.split(r"(?<=[.!?])\s+(?=[A-Z`])", text, maxsplit=1)[0]
