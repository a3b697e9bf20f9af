"""Checks that tests can fail: what no test may be, where it can be recognised.

A test asserts, or calls what asserts; no result of a wait is thrown away; no
assertion is about a constant, is swallowed, or stands only where an error
would have to come first. Each breach is printed with its file and its line.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from mojo_source import Function, Problem, Source, conclude, mojo_files

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("tests", "examples", "bench")

# What tells of a failure by its name, wherever it is defined.
TELLING_NAME = re.compile(r"_?(assert|check|expect|refuse)(_|s_|d_|$)")
MOJO_TELLING = re.compile(r"\b(_?(?:assert|check|expect)_\w+|raise\b)")
MOJO_CALL = re.compile(r"(?<![\w.])(\w+)\s*[(\[]")
MOJO_BARE_WAIT = re.compile(r"^\s*(_ = )?(\w+\.)*wait_until\(")
MOJO_CONSTANT = re.compile(
    r"\bassert_(true\(True\b|false\(False\b|equal\(\s*(\"\"|\w+),\s*\2\s*[,)])"
)
MOJO_DEAR = "from std.testing import"
ALWAYS = re.compile(r"\blen\([\w.]+\)\s*>=\s*0(?!\w)|\bor True\b")
# Ways in which a `try` may tell that nothing, or something, was raised.
MOJO_TOLD = re.compile(
    r"(raise|return|continue|break)\b|\w+\.append"
    r"|(?!_ =)(self\.)?\w+(\[.*\])? \+?= "
    r"|assert_true\(False\b"
)

NO_ASSERTION = "`{}` asserts nothing; compare what came with what the rule says"
BARE_WAIT = "the answer of `wait_until` is thrown away; assert it"
CONSTANT = "this holds whatever the code does; assert on what it gives"
DEAR = "these are inlined with all they do; take tests/support/assertions"
SWALLOWED = "assertions in this `try` are swallowed; let them out"
ONLY_IN_EXCEPT = (
    "this passes if nothing is raised; keep the error, and assert behind it"
)


def mojo_problems(source: Source, telling: set[str]) -> Iterator[Problem]:
    """Looks at one Mojo file.

    Args:
        source: The file.
        telling: Names of functions elsewhere that fail for their callers.
    """
    known = telling & source.imported | mojo_telling(source, telling)
    for function in source.functions:
        if function.name.startswith("test_") and not _mojo_tells(
            source, function, known
        ):
            message = NO_ASSERTION.format(function.name)
            yield Problem(source.path, function.line, message)
    is_unit_test = source.path.parts[0] == "tests"
    for number, line in enumerate(source.code, 1):
        if line.startswith(MOJO_DEAR) and is_unit_test:
            yield Problem(source.path, number, DEAR)
        if MOJO_BARE_WAIT.match(line):
            yield Problem(source.path, number, BARE_WAIT)
        if MOJO_CONSTANT.search(line) or (
            "assert" in line and ALWAYS.search(line)
        ):
            yield Problem(source.path, number, CONSTANT)
        if line.strip() == "try:":
            yield from _mojo_try(source, number)


def mojo_telling(source: Source, telling: set[str]) -> set[str]:
    """Names the functions of a file that assert or raise, or call such."""
    known = telling & source.imported
    while True:
        found = {
            function.name
            for function in source.functions
            if _mojo_tells(source, function, known)
        }
        if found <= known:
            return known
        known |= found


def _mojo_tells(source: Source, function: Function, known: set[str]) -> bool:
    body = source.code[function.body_line - 1 : function.end_line]
    text = "\n".join(body)
    if MOJO_TELLING.search(text):
        return True
    return any(name in known for name in MOJO_CALL.findall(text))


def _mojo_try(source: Source, number: int) -> Iterator[Problem]:
    """Looks at the `try` on a line, and at the `except` behind it."""
    indent = len(source.code[number - 1]) - len(
        source.code[number - 1].lstrip()
    )
    body, at = _block(source.code, number, indent)
    if at >= len(source.code) or "except" not in source.code[at]:
        return
    handler, at = _block(source.code, at + 1, indent)
    has_else = at < len(source.code) and source.code[at].strip() == "else:"
    asserts = [any("assert_" in line for line in part) for part in (body, handler)]
    if asserts[0] and handler == ["pass"]:
        yield Problem(source.path, number, SWALLOWED)
    told = any(MOJO_TOLD.match(line) for line in body[-1:] + handler)
    if asserts[1] and not (told or has_else or asserts[0]):
        yield Problem(source.path, number, ONLY_IN_EXCEPT)


def _block(code: list[str], at: int, indent: int) -> tuple[list[str], int]:
    """Gives the lines that are indented further, and where they end."""
    lines = []
    while at < len(code):
        line = code[at]
        if line.strip() and len(line) - len(line.lstrip()) <= indent:
            break
        if line.strip():
            lines.append(line.strip())
        at += 1
    return lines, at


def python_problems(
    path: Path, tree: ast.Module, telling: set[str]
) -> Iterator[Problem]:
    """Looks at one Python file."""
    known = python_telling(tree, telling)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            if not _python_tells(node, known):
                message = NO_ASSERTION.format(node.name)
                yield Problem(path, node.lineno, message)
        elif isinstance(node, ast.Expr):
            if _called(node.value) == "wait_until":
                yield Problem(path, node.lineno, BARE_WAIT)
            if isinstance(node.value, ast.Compare):
                yield Problem(path, node.lineno, CONSTANT)
        elif isinstance(node, ast.Assert) and _is_constant(node.test):
            yield Problem(path, node.lineno, CONSTANT)
        elif isinstance(node, ast.Try):
            yield from _python_try(path, node)


def python_telling(tree: ast.Module, telling: set[str]) -> set[str]:
    """Names what a file has, its own or imported, that fails for callers."""
    known = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    } & telling
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    while True:
        found = {f.name for f in functions if _python_tells(f, known)}
        if found <= known:
            return known
        known |= found


def _python_tells(function: ast.FunctionDef, known: set[str]) -> bool:
    for node in ast.walk(function):
        if isinstance(node, (ast.Assert, ast.Raise)):
            return True
        name = _called(node)
        if name in known or name in ("raises", "fail"):
            return True
        if name and TELLING_NAME.match(name):
            return True
    return False


def _called(node: ast.AST) -> str:
    """Gives the last name of what is called; empty if nothing is."""
    if not isinstance(node, ast.Call):
        return ""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _is_constant(test: ast.expr) -> bool:
    if isinstance(test, ast.Tuple):
        return bool(test.elts)
    if isinstance(test, ast.Constant):
        return bool(test.value)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        sides = ast.dump(test.left), ast.dump(test.comparators[0])
        is_call = any(isinstance(n, ast.Call) for n in ast.walk(test))
        if sides[0] == sides[1] and not is_call:
            return True
    return bool(ALWAYS.search(ast.unparse(test)))


def _python_try(path: Path, node: ast.Try) -> Iterator[Problem]:
    asserts = any(isinstance(n, ast.Assert) for s in node.body for n in ast.walk(s))
    for handler in node.handlers:
        kind = ast.unparse(handler.type) if handler.type else "BaseException"
        catches = re.search(r"\b(BaseException|Exception|AssertionError)\b", kind)
        if asserts and catches and isinstance(handler.body[0], ast.Pass):
            yield Problem(path, node.lineno, SWALLOWED)
    handled = [n for h in node.handlers for s in h.body for n in ast.walk(s)]
    ends = (ast.Raise, ast.Return, ast.Continue, ast.Break, ast.Assign)
    told = any(isinstance(n, ends) for n in [*handled, node.body[-1]])
    in_handler = any(isinstance(n, ast.Assert) for n in handled)
    if in_handler and not (told or node.orelse or asserts):
        yield Problem(path, node.lineno, ONLY_IN_EXCEPT)


def problems(root: Path) -> list[str]:
    """Checks one tree."""
    sources = [
        Source.read(root, path)
        for path in mojo_files(root, *FOLDERS)
        if (root / path).is_file()
    ]
    trees = {
        path.relative_to(root): ast.parse(path.read_text())
        for folder in FOLDERS
        for path in sorted((root / folder).rglob("*.py"))
        if "peers" not in path.parts
    }
    # Twice, so that what a file imports is known to be telling or not.
    telling: set[str] = set()
    for _ in range(2):
        for source in sources:
            telling |= mojo_telling(source, telling)
        for tree in trees.values():
            telling |= python_telling(tree, telling)
    found: list[Problem] = []
    for source in sources:
        found += mojo_problems(source, telling)
    for path, tree in trees.items():
        found += python_problems(path, tree, telling)
    return [str(problem) for problem in found]


def main() -> int:
    """Checks the repository."""
    return conclude("tests", problems(ROOT))


if __name__ == "__main__":
    sys.exit(main())
