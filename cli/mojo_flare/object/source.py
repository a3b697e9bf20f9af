"""Reads Mojo sources as far as the object needs it: definitions, signatures, names.

Sources are laid out by the formatter, so indentation and brackets tell where
each definition begins and ends; nothing within a body is read.
"""

import re
from dataclasses import dataclass, field

SELF = re.compile(r"\bSelf\b")
_TOKEN = re.compile(r"#[^\n]*|\"\"\"|'''|\"|'")
_WORD = re.compile(r"[A-Za-z_]\w*")
_START = re.compile(
    r"(?P<indent> *)(?P<kind>def|struct|trait|comptime|__extension|__enum|var)\b"
    r"\s*(?P<name>`[^`]+`|\w+)"
)
_IMPORT = re.compile(r"from\s+(?P<module>[\w.]+)\s+import\s+(?P<names>.*)", re.S)


def blank(text: str) -> str:
    """Blanks comments and the insides of strings; every octet keeps its place."""
    out, at = [], 0
    while found := _TOKEN.search(text, at):
        out.append(text[at : found.start()])
        quote = found.group()
        if quote[0] == "#":
            out.append(" " * len(quote))
            at = found.end()
            continue
        end = _string_end(text, found.end(), quote)
        out += [quote, re.sub(r"[^\n]", " ", text[found.end() : end]), quote]
        at = end + len(quote)
    out.append(text[at:])
    return "".join(out)


def _string_end(text: str, at: int, quote: str) -> int:
    while at < len(text) and not text.startswith(quote, at):
        at += 2 if text[at] == "\\" else 1
    return min(at, len(text))


def words(text: str) -> set[str]:
    """The names in a piece of blanked source."""
    return set(_WORD.findall(text))


def split_top(text: str) -> list[str]:
    """Splits at the commas that stand in no bracket."""
    parts, depth, start = [], 0, 0
    for at, octet in enumerate(text):
        if octet in "([{":
            depth += 1
        elif octet in ")]}":
            depth -= 1
        elif octet == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


@dataclass(frozen=True)
class Argument:
    """One argument; `type` is empty for a bare `self`, `*` and `/`."""

    name: str
    convention: str
    type: str
    by_name: bool
    default: str = ""


@dataclass
class Signature:
    """What stands between a function's name and its body."""

    name: str
    parameters: str
    arguments: list[Argument]
    raises: str
    result: str
    is_plain: bool
    """False if something in it is beyond this reader."""


@dataclass
class Definition:
    """A definition with its decorators; lines count from 0, ends are behind."""

    kind: str
    name: str
    indent: int
    start: int
    line: int
    """Where it begins behind decorators."""
    body: int
    """The first line of its body."""
    end: int
    decorators: list[str]
    header: str
    """Its text up to the colon, comments blanked."""
    members: list["Definition"] = field(default_factory=list)

    @property
    def parameters(self) -> str:
        """What stands in brackets behind the name."""
        rest = self.header.split(self.name, 1)[1].lstrip()
        return rest[1 : _closing(rest, 0)] if rest.startswith("[") else ""


@dataclass
class Module:
    """One file: imports, and definitions at its top."""

    name: str
    lines: list[str]
    code: list[str]
    imports: dict[str, tuple[str, str]]
    """Names as they are here, with the module they come from and their name there."""
    stars: list[str]
    """Modules whose every name is taken."""
    import_lines: set[int]
    definitions: list[Definition]

    @classmethod
    def read(cls, name: str, text: str) -> "Module":
        lines = text.splitlines()
        code = blank(text).splitlines()
        module = cls(name, lines, code, {}, [], set(), [])
        module._read()
        return module

    def text(self, start: int, end: int) -> str:
        return "\n".join(self.lines[start:end])

    def blanked(self, start: int, end: int) -> str:
        return "\n".join(self.code[start:end])

    def _read(self) -> None:
        at = 0
        while at < len(self.code):
            line = self.code[at]
            if line.startswith("from "):
                end = bracket_end(self.code, at)
                self._import(at, end)
                at = end
            elif line.startswith("@") or _START.match(line) and line[0] != " ":
                found = _definition(self.code, at, 0)
                self.definitions.append(found)
                at = found.end
            else:
                at += 1

    def _import(self, start: int, end: int) -> None:
        found = _IMPORT.match(" ".join(self.code[start:end]))
        assert found, self.code[start]
        self.import_lines.update(range(start, end))
        names = found["names"].strip().strip("()")
        if names == "*":
            self.stars.append(found["module"])
            return
        for part in split_top(names):
            there, _, here = part.partition(" as ")
            self.imports[(here or there).strip()] = (found["module"], there.strip())


def bracket_end(code: list[str], at: int) -> int:
    """The line behind the one on which all brackets are closed again."""
    depth = 0
    while at < len(code):
        depth += sum(code[at].count(c) for c in "([{")
        depth -= sum(code[at].count(c) for c in ")]}")
        at += 1
        if depth <= 0:
            return at
    return at


def _definition(code: list[str], at: int, indent: int) -> Definition:
    """Reads one definition that begins at a line, perhaps with decorators."""
    start, decorators = at, []
    while code[at].lstrip().startswith("@"):
        end = bracket_end(code, at)
        decorators.append(" ".join(code[at:end]).strip())
        at = end
    found = _START.match(code[at])
    if not found:  # a decorator of something that is not read
        return Definition("other", "", indent, start, at, at + 1, at + 1, decorators, "")
    kind, line = found["kind"], at
    body = bracket_end(code, at)
    if kind in ("comptime", "var"):
        # A string may go on over lines; what follows it may be a docstring.
        while sum(x.count('"""') for x in code[line:body]) % 2 and body < len(code):
            body += 1
        end = docs_end(code, body)
        header = " ".join(code[line:body])
        return Definition(kind, found["name"], indent, start, line, body, end, decorators, header)
    # The colon may stand behind further brackets, as of a result's type.
    while not code[body - 1].rstrip().endswith(":") and not _has_inline_body(code[body - 1]):
        body = bracket_end(code, body)
    end = body
    while end < len(code) and (
        not code[end].strip() or len(code[end]) - len(code[end].lstrip()) > indent
    ):
        end += 1
    while end > body and not code[end - 1].strip():
        end -= 1
    header = " ".join(x.strip() for x in code[line:body])
    made = Definition(
        kind, found["name"], indent, start, line, body, end, decorators, header
    )
    if kind != "def":
        made.members = _members(code, body, end, indent + 4)
    return made


def _has_inline_body(line: str) -> bool:
    return bool(re.search(r":\s+\S", line)) and "(" not in line.split(":")[-1]


def code_lines(lines: list[str], has_docs: bool = True) -> list[str]:
    """Leaves comments and blank lines out, and docstrings; what stands in a longer
    string stays as it is.

    Args:
        lines: The code.
        has_docs: False if a string at the start of a line is an expression.
    """
    found, at = [], 0
    while at < len(lines):
        text = lines[at].strip()
        end = docs_end(lines, at)
        if end > at:
            found += [] if has_docs else lines[at:end]
            at = end
            continue
        end = at + 1
        while text.count('"""') % 2 and end < len(lines):
            text += lines[end]
            end += 1
        if text and not text.startswith("#"):
            found += lines[at:end]
        at = end
    return found


def without_docs(module: Module) -> str:
    """Leaves comments, blank lines and docstrings out of a module: what is left is
    what the compiler compiles. A string within brackets is no docstring, and one
    that is all of a body stays."""
    lines, code = module.lines, module.code
    found: list[str] = []
    at, depth = 0, 0
    while at < len(lines):
        end = docs_end(code, at) if depth == 0 else at
        if end > at and not _is_all_of_a_body(code, found, end):
            at = end
            continue
        end = max(end, at + 1)
        while "".join(code[at:end]).count('"""') % 2 and end < len(code):
            end += 1
        if any(x.strip() for x in code[at:end]):
            found += lines[at:end]
        for octet in "".join(code[at:end]):
            depth += (octet in "([{") - (octet in ")]}")
        at = end
    return "".join(f"{line}\n" for line in found)


def _is_all_of_a_body(code: list[str], before: list[str], end: int) -> bool:
    """Tells whether nothing follows a docstring in the body that it begins."""
    if not before or not before[-1].rstrip().endswith(":"):
        return False
    rest = [x for x in code[end:] if x.strip()][:1]
    return not rest or _indent(rest[0]) <= _indent(before[-1])


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def docs_end(code: list[str], at: int) -> int:
    """The line behind a docstring, if one begins at a line; else that line."""
    if at < len(code) and code[at].strip().startswith('"""'):
        opening = code[at].count('"""')
        at += 1
        while opening % 2 and at < len(code):
            opening += code[at].count('"""')
            at += 1
    return at


def _members(code: list[str], at: int, end: int, indent: int) -> list[Definition]:
    found = []
    lead = " " * indent
    while at < end:
        line = code[at]
        if line.startswith(lead) and line[indent : indent + 1] not in ("", " "):
            rest = line[indent:]
            if rest.startswith("@") or _START.match(rest):
                made = _definition(code, at, indent)
                found.append(made)
                at = max(made.end, at + 1)
                continue
        at += 1
    return found


def _closing(text: str, at: int) -> int:
    """Finds the bracket that closes the one at an offset."""
    depth = 0
    for index in range(at, len(text)):
        if text[index] in "([{":
            depth += 1
        elif text[index] in ")]}":
            depth -= 1
            if depth == 0:
                return index
    raise ValueError(text)


_CONVENTIONS = ("mut", "var", "imm", "out", "deinit", "ref")


def signature(definition: Definition) -> Signature:
    """Reads a function's signature out of its header."""
    rest = definition.header.split("def", 1)[1].strip()
    name = definition.name
    rest = rest[len(name) :].lstrip()
    parameters = ""
    if rest.startswith("["):
        end = _closing(rest, 0)
        parameters, rest = rest[1:end].strip().rstrip(","), rest[end + 1 :].lstrip()
    end = _closing(rest, 0)
    inside, rest = rest[1:end], rest[end + 1 :].strip()
    is_plain = rest.endswith(":")
    rest = rest.rstrip(":").strip()
    effects, _, result = rest.partition("->")
    effects, result = effects.strip(), result.strip()
    raises = ""
    if effects.startswith("raises"):
        raises = effects
    elif effects:
        is_plain = False
    if " where " in f" {rest} ":
        is_plain = False
    arguments, by_name = [], False
    for part in split_top(inside):
        if part == "*":
            by_name = True
            continue
        if part in ("/", "//"):
            continue
        made = _argument(part, by_name)
        is_plain = is_plain and made is not None
        if made:
            arguments.append(made)
    return Signature(name, parameters, arguments, raises, result, is_plain)


def _argument(part: str, by_name: bool) -> Argument | None:
    if part.startswith("*") or part.startswith("ref[") or part.startswith("ref "):
        return None
    convention = ""
    for word in _CONVENTIONS:
        if part.startswith(word + " "):
            convention, part = word, part[len(word) :].strip()
    if part.startswith("*"):
        return None
    name, _, rest = part.partition(":")
    type_, default = rest.strip(), ""
    depth = 0
    for at, octet in enumerate(type_):
        depth += (octet in "([{") - (octet in ")]}")
        if octet == "=" and depth == 0:
            type_, default = type_[:at].strip(), type_[at + 1 :].strip()
            break
    return Argument(name.strip(), convention, " ".join(type_.split()), by_name, default)
