"""Checks the rules of style.md that can be counted (H5).

Each breach is printed with its file, its line and what to use instead.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from mojo_source import Function, Problem, Source, conclude, mojo_files

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("flare", "tests", "fuzz", "bench", "examples", "tools", "cli", "deploy")
# Folders that hold text and no Mojo.
TEXT_FOLDERS = ("docs", ".ci", ".github", "requirements")
TEXT_SUFFIXES = (
    (".mojo", ".py", ".md", ".toml", ".txt", ".sh", ".c")
    + (".yml", ".yaml", ".conf", ".cfg", ".service", ".socket")
)
TEXT_NAMES = ("Makefile", "Dockerfile", "run")
# These two have to spell what they refuse.
EXEMPT = (Path("tools/check_style.py"), Path("tests/tools"))

# Docstrings, comments and blank lines do not count (S3).
FILE_LINES_MANY = 500
FUNCTION_LINES_MANY = 60
ARGUMENTS_MANY = 5
GENERATED = "# Generated"

BANNED_NAMES = (
    "base2 common core2 fast helper helpers impl manager misc unified util utils"
).split()
BANNED_WORDS = re.compile(r"\b(stubs?|TODO|FIXME|XXX)\b", re.IGNORECASE)
MACHINE_PATH = re.compile(r"(?<![\w.])/(work|root|home|tmp/bash)/")
REGISTRY_HOST = re.compile(
    # In halves, so that this file does not name what it forbids.
    r"\b(" + "|".join(
        first + second
        for first, second in (
            ("py", r"pi\.org"), ("python", r"hosted\.org"),
            ("ana", r"conda\.(org|com)"), ("prefix", r"\.dev"),
            ("proxy.go", r"lang\.org"), ("registry.npm", r"js\.org"),
            ("crates", r"\.io"),
        )
    ) + ")"
)
SELECT = re.compile(r"\bselect\.select\(")
POINTER = re.compile(
    # A pointer with an origin that the compiler follows is as safe as a span.
    r"Pointer\[[^\]]*(Untracked|External|Any\w*Origin)|\bOpaquePointer\["
    r"|\bunsafe_(ptr|offset|load|store|bitcast|\w+_cast|at|get|set|leak|mem\w+"
    r"|write|deinit\w*|owned_ptr|subspan|lend\w*|unlocked|request|path_\w+)\b"
    r"|\b(de)?alloc\("
    # The compiler holds types equal that differ in their origins alone.
    r"|\brebind(_var)?\[[^\]]*(Span|Pointer|[Oo]rigin)"
)
ALIAS = re.compile(r"\s*comptime (\w+) = (?!def\b)")
ORIGIN_PARAMETER = re.compile(r"(\w+)\s*:\s*(?:Imm|Mut)?Origin\b")
PRINT = re.compile(r"(?<![\w.])print\(")
EXTERNAL_CALL = re.compile(r"\bexternal_call\b")
SYMBOL = re.compile(r"\bexternal_call\[\s*\"(\w+)\"")
# A program that wants the environment's proxies calls the first by name, and
# the second is such a program; nothing else may read the environment (S14).
GETENV_ALLOWED = (
    Path("flare/http/client/connect/proxy.mojo"),
    Path("examples/30_small_curl.mojo"),
)
# Where structs wait for somebody; beside a state few of them have flags (S17).
MACHINES = ("http", "ws", "grpc", "redis")
FLAGS_MAX = 2
STATE_FIELD = re.compile(r"    var (\w+): [\w.]*(?:Phase|State)\s*$")
FLAG_FIELD = re.compile(r"    var (\w+): Bool\s*$")
# Each field goes here with its last use, a lock before its guard.
DESTRUCTOR = re.compile(r"\bdef __deinit__\s*\(\s*deinit self\b")
# A field-less struct and a recursive one have to write these two out.
PASS_ALLOWED = ("__init__", "__deinit__")


def check_text(path: Path, text: str) -> Iterator[Problem]:
    """Looks for words, paths and hosts that belong in no file."""
    for number, line in enumerate(text.splitlines(), 1):
        if found := BANNED_WORDS.search(line):
            message = f"`{found[0]}`; do the work or leave it out"
            yield Problem(path, number, message)
        if MACHINE_PATH.search(line):
            yield Problem(
                path, number, "path of one machine; use a relative one"
            )
        if path.parts[0] == "tests" and path.suffix == ".py" and SELECT.search(line):
            message = "`select.select` fails at 1,024 descriptors; use `ready`"
            yield Problem(path, number, message)
        if found := REGISTRY_HOST.search(line):
            message = f"registry host {found[0]}; leave the choice to the user"
            yield Problem(path, number, message)


def check_file(source: Source) -> Iterator[Problem]:
    """Looks at a file's name and at its forbidden spellings."""
    path, code = source.path, source.code
    if path.stem in BANNED_NAMES:
        yield Problem(
            path, 1, f"`{path.stem}` is no idea; name the file for its"
        )
    for number, line in enumerate(code, 1):
        if re.match(r"\s*fn\s+\w", line):
            yield Problem(path, number, "`fn`; write `def`")
        if path.parts[0] == "tests" and re.match(
            r"\s*with TemporaryDirectory\(", line
        ):
            message = "this block hides what it raises; use `TemporaryFolder`"
            yield Problem(path, number, message)
        if path.parts[0] == "flare" and PRINT.search(line):
            message = "`print`; a library tells by `log_line`, which escapes"
            yield Problem(path, number, message)
        if path.parts[0] not in ("flare", "examples"):
            continue
        if re.search(r"\bgetenv\b", line) and path not in GETENV_ALLOWED:
            message = "`getenv`; take the value as an argument"
            yield Problem(path, number, message)
        if path.parts[:2] != ("flare", "sys") and EXTERNAL_CALL.search(line):
            message = "foreign call outside flare/sys; wrap the symbol there"
            yield Problem(path, number, message)


def _code_line_count(source: Source) -> int:
    """Counts lines of code: no blanks, no comments, no docstrings."""
    count, in_docstring = 0, False
    for line in source.code:
        quotes = line.count('"""')
        if in_docstring or line.strip().startswith('"""'):
            in_docstring = in_docstring != (quotes % 2 == 1)
        elif line.strip():
            count += 1
    return count


def check_functions(source: Source) -> Iterator[Problem]:
    """Looks at each function's body."""
    path = source.path
    if source.text.startswith(GENERATED):
        return
    for function in source.functions:
        body = source.code[function.body_line - 1 : function.end_line]
        if [line.strip() for line in body if line.strip()] == ["pass"]:
            if function.name not in PASS_ALLOWED:
                message = f"`{function.name}` does nothing; leave it out"
                yield Problem(path, function.line, message)
        head = source.code[function.line - 1 : function.body_line - 1]
        if not DESTRUCTOR.search(" ".join(head)):
            continue
        for number, line in enumerate(body, function.body_line):
            if ".lock()" in line:
                message = (
                    "a guard in a destructor outlives the lock that it gives"
                    " away; take it in a method that borrows `self`"
                )
                yield Problem(path, number, message)


def _body_length(source: Source, function: Function) -> int:
    """Counts a body's lines; in tests, the rows of a table are data."""
    body = source.code[function.body_line - 1 : function.end_line]
    if source.path.parts[0] != "tests":
        return len(body)
    count = depth = 0
    for line in body:
        count += depth == 0
        depth += sum((char in "([{") - (char in ")]}") for char in line)
    return count


def smells(source: Source) -> Iterator[Problem]:
    """Names what a reader may want to be shorter: warnings, not breaches. Where to
    cut is where a reader would stop, which no count knows (S3)."""
    path = source.path
    if source.text.startswith(GENERATED):
        return
    count = _code_line_count(source)
    if count > FILE_LINES_MANY:
        yield Problem(path, 1, f"{count} lines of code; is it one capability?")
    for function in source.functions:
        length = _body_length(source, function)
        if length > FUNCTION_LINES_MANY:
            message = f"`{function.name}` has {length} lines; does it fit a screen?"
            yield Problem(path, function.line, message)
        count = len(_arguments(_signature(source, function)))
        if count > ARGUMENTS_MANY:
            message = f"`{function.name}` takes {count} arguments; is a type missing?"
            yield Problem(path, function.line, message)


def _signature(source: Source, function: Function) -> str:
    lines = source.code[function.line - 1 : function.body_line - 1]
    return "\n".join(lines) or source.code[function.line - 1]


def _arguments(signature: str) -> list[str]:
    """Splits a signature's argument list at its top-level commas.

    What can only be given by name is left out: a call names each of them, so
    none is mistaken for another.
    """
    depth = square = 0
    parts = [""]
    for char in signature:
        square += (char == "[") - (char == "]")
        if char == "(" and square == 0:
            depth += 1
            if depth == 1:
                continue
        if char == ")" and square == 0:
            depth -= 1
            if depth == 0:
                break
        if depth == 1 and square == 0 and char == ",":
            parts.append("")
        elif depth:
            parts[-1] += char
    names = [part.strip() for part in parts]
    if "*" in names:
        names = names[: names.index("*")]
    return [name for name in names if name not in ("", "self", "/")]


def pointer_aliases(sources: list[Source]) -> set[str]:
    """Lists the names that the library gives to types of pointers."""
    found = set()
    for source in sources:
        if _may_use_pointers(source.path):
            continue
        for number, line in enumerate(source.code):
            alias = ALIAS.match(line)
            if not alias:
                continue
            end = number + 1
            while end < len(source.code) and _depth(source.code[number:end]):
                end += 1
            if POINTER.search("".join(source.code[number:end])):
                found.add(alias[1])
    return found


def _depth(lines: list[str]) -> int:
    """Counts the brackets that are open behind some lines."""
    text = "".join(lines)
    return sum((char in "([{") - (char in ")]}") for char in text)


def _may_use_pointers(path: Path) -> bool:
    return path.parts[0] != "flare" or path.parts[:2] == ("flare", "sys")


def check_grants(source: Source) -> Iterator[Problem]:
    """Asks that what grants a lifetime says so in its name.

    A function does that if an origin in what it returns is the caller's free
    choice: a parameter that none of the arguments determines.
    """
    if source.path.parts[0] != "flare":
        return
    for function in source.functions:
        if function.name.lstrip("_").startswith("unsafe_"):
            continue
        parameters, arguments, result = _signature_parts(
            _signature(source, function)
        )
        for origin in ORIGIN_PARAMETER.findall(parameters):
            named = re.compile(rf"\b{origin}\b")
            if named.search(result) and not named.search(arguments):
                message = (
                    f"`{function.name}` grants the lifetime `{origin}`;"
                    " begin its name with `unsafe_`"
                )
                yield Problem(source.path, function.line, message)


def _signature_parts(signature: str) -> tuple[str, str, str]:
    """Splits a signature into parameters, arguments and what is returned."""
    start = signature.find("(")
    square = signature.find("[")
    parameters = ""
    if -1 < square < start:
        end = _closing(signature, square, "[]")
        parameters = signature[square:end]
        start = signature.find("(", end)
    end = _closing(signature, start, "()")
    return parameters, signature[start:end], signature[end:]


def _closing(text: str, start: int, pair: str) -> int:
    """Finds the place behind the bracket that closes the one at `start`."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == pair[0]) - (text[at] == pair[1])
        if depth == 0:
            return at + 1
    return len(text)


def check_pointers(
    source: Source, aliases: frozenset[str] = frozenset()
) -> Iterator[Problem]:
    """Asks for a `# SAFETY:` beside each use of a pointer, or of an alias of
    one.

    The comment stands inside the function, directly above it, at the head of
    the struct around it, or at the head of the file, where it covers all.
    """
    path = source.path
    if _may_use_pointers(path):
        return
    known = rf"\b({'|'.join(sorted(aliases))})\b" if aliases else r"(?!)"
    pointer = re.compile(f"{POINTER.pattern}|{known}")
    safe = [n for n, line in enumerate(source.lines, 1) if "# SAFETY:" in line]
    regions = _regions(source)
    reported: set[int] = set()
    imports = {n for e in source.imports for n in range(e.line, e.end_line + 1)}
    # An import or an alias uses nothing yet.
    imports |= _alias_lines(source)
    for number, line in enumerate(source.code, 1):
        if number in imports or not pointer.search(line):
            continue
        around = [r for r in regions if r[1] <= number <= r[2]]
        covered = any(
            a <= n <= b for n in safe for a, b in _covering(around, source)
        )
        place = max((r[0] for r in around), default=number)
        if not covered and place not in reported:
            reported.add(place)
            message = "pointer without `# SAFETY:`; say who keeps the memory"
            yield Problem(path, number, f"{message} alive")


def _alias_lines(source: Source) -> set[int]:
    """Lists the lines of `comptime` declarations outside of functions."""
    found: set[int] = set()
    depth = 0
    for number, line in enumerate(source.code, 1):
        if depth > 0 or line.startswith("comptime"):
            found.add(number)
            depth += _depth([line])
    return found


def _regions(source: Source) -> list[tuple[int, int, int, str]]:
    """Lists (key, first, last, kind) of each function and struct."""
    found = []
    for function in source.functions:
        first = _comment_above(source, function.line)
        found.append((function.line, first, function.end_line, "def"))
    for index, line in enumerate(source.code):
        if re.match(r"(struct|trait)\s", line):
            end = index + 1
            while end < len(source.code) and (
                not source.code[end].strip()
                or source.code[end][0] in " )}]"
                or source.code[end].startswith('"""')
            ):
                end += 1
            first = _comment_above(source, index + 1)
            found.append((index + 1, first, end, "struct"))
    return found


def check_flags(source: Source) -> Iterator[Problem]:
    """Asks that a struct which has a state has few flags beside it: of what more
    could be, most cannot happen, and those that can are states."""
    parts = source.path.parts
    if parts[0] != "flare" or parts[1] not in MACHINES:
        return
    for first, _, end, kind in _regions(source):
        if kind != "struct":
            continue
        fields = source.code[first:end]
        states = [found[1] for line in fields if (found := STATE_FIELD.match(line))]
        flags = [found[1] for line in fields if (found := FLAG_FIELD.match(line))]
        if states and len(flags) > FLAGS_MAX:
            message = (
                f"{len(flags)} Bools beside the state `{states[0]}`"
                f" ({', '.join(flags)}); name the states that they make"
            )
            yield Problem(source.path, first, message)


def _comment_above(source: Source, line: int) -> int:
    """Finds where the comments and decorators right above a line start."""
    first = line
    while first > 1 and source.lines[first - 2].strip().startswith(("#", "@")):
        first -= 1
    return first


def _covering(
    around: list[tuple[int, int, int, str]], source: Source
) -> Iterator[tuple[int, int]]:
    """Lists the line ranges where a `# SAFETY:` covers a place."""
    for number, line in enumerate(source.code, 1):
        if re.match(r"struct|trait|def|comptime|@", line):
            # The file's head ends where its first definition's comment starts.
            yield 1, _comment_above(source, number) - 1
            break
    for key, first, last, kind in around:
        if kind == "def":
            yield first, last
            continue
        inner = [f.line for f in source.functions if key < f.line <= last]
        head = _comment_above(source, min(inner)) - 1 if inner else last
        yield first, head


def check_symbols(sources: list[Source]) -> Iterator[Problem]:
    """Asks for one declaration of each C symbol."""
    seen: dict[str, str] = {}
    for source in sources:
        if source.path.parts[:2] != ("flare", "sys"):
            continue
        for found in SYMBOL.finditer(source.text):
            line = source.text.count("\n", 0, found.start()) + 1
            place = f"{source.path}:{line}"
            if found[1] in seen:
                message = (
                    f"`{found[1]}` is declared at {seen[found[1]]} already"
                )
                yield Problem(source.path, line, f"{message}; call that")
            seen.setdefault(found[1], place)


def text_files(root: Path) -> Iterator[Path]:
    """Lists the text files of the repository, as paths below `root`."""
    tops = [root / name for name in (*FOLDERS, *TEXT_FOLDERS)]
    found = [path for top in tops for path in top.rglob("*")]
    found += root.glob("*")
    for path in sorted(found):
        named = path.suffix in TEXT_SUFFIXES or path.name in TEXT_NAMES
        if not path.is_file() or not named or "__pycache__" in path.parts:
            continue
        relative = path.relative_to(root)
        if not any(relative.is_relative_to(exempt) for exempt in EXEMPT):
            yield relative


def problems(root: Path) -> list[str]:
    """Checks one tree."""
    found: list[Problem] = []
    for path in text_files(root):
        found += check_text(path, (root / path).read_text(errors="replace"))
    sources = [Source.read(root, path) for path in mojo_files(root, *FOLDERS)]
    aliases = frozenset(pointer_aliases(sources))
    for source in sources:
        found += check_file(source)
        found += check_functions(source)
        found += check_pointers(source, aliases)
        found += check_grants(source)
        found += check_flags(source)
    found += check_symbols(sources)
    return [str(problem) for problem in found]


def main() -> int:
    """Checks the repository; warnings do not count."""
    for path in mojo_files(ROOT, "flare"):
        for problem in smells(Source.read(ROOT, path)):
            print(f"warning: {problem}")
    return conclude("style", problems(ROOT))


if __name__ == "__main__":
    sys.exit(main())
