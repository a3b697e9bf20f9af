"""Each rule of the style check, with a tree that keeps it and one that breaks it."""

from pathlib import Path

import check_style
import pytest
from mojo_source import Source, mojo_files


def library(text: str, name: str = "flare/x/a.mojo") -> dict[str, str]:
    """Lays out one file of the library, with a program that uses it."""
    module = name.removesuffix(".mojo").replace("/", ".")
    user = f"from {module} import f\n\ndef main():\n    f()\n"
    return {name: text, "examples/e.mojo": user}


def lines(count: int) -> str:
    return "".join(f"    x = {number}\n" for number in range(count))


def machine(
    state: str, *flags: str, name: str = "flare/http/x/a.mojo"
) -> dict[str, str]:
    """Lays out a struct with a state of that type, and flags; a method has one more."""
    fields = "".join(f'    var {flag}: Bool\n    """A."""\n' for flag in flags)
    return library(
        f"struct S(Movable):\n    var what: {state}\n{fields}\n"
        "    def f(self):\n        var d: Bool = True\n\n\n"
        "struct Other:\n    var e: Bool\n",
        name,
    )


LONG_TABLE = "def test_f():\n    rows = [\n" + "        1,\n" * 90 + "    ]\n"

ACCEPTED = {
    "print in a docstring": library(
        'def f():\n    """Runs.\n\n        print(f())\n    """\n    x = 1\n'
    ),
    "print in a program": {"examples/e.mojo": 'def main():\n    print("x")\n'},
    "another name that ends so": library("def f():\n    fingerprint(1)\n"),
    "words inside words": library("# stubborn\n"),
    "safety inside": library(
        "def f():\n    # SAFETY: the caller's.\n    p = x.unsafe_ptr()\n"
    ),
    "safety above": library(
        "# SAFETY: the caller's.\n@no_inline\ndef f():\n    p = x.unsafe_ptr()\n"
    ),
    "safety of the struct": library(
        "struct S:\n    # SAFETY: lives as long as the struct.\n    var p: Int\n\n"
        "    def f(self):\n        p = x.unsafe_ptr()\n"
    ),
    "safety of the file": library(
        '"""A."""\n\n# SAFETY: octets follow the end.\n\n'
        "def f():\n    p = x.unsafe_ptr()\n"
    ),
    "alias that uses nothing yet": library(
        "comptime At = OpaquePointer[MutUntrackedOrigin]\n"
        "comptime Call = def(\n    At, Int\n) thin -> None\n\n\n"
        "def f():\n    x = 1\n"
    ),
    "function type that takes a pointer": library(
        "comptime Call = def(Pointer[Int, MutUntrackedOrigin]) thin -> None\n"
        "\n\ndef f(c: Call):\n    x = 1\n"
    ),
    "scalar of another name": library(
        "def f():\n    x = rebind[String](value)\n"
    ),
    "lifetime that the arguments determine": library(
        "def f[o: ImmOrigin](x: Span[UInt8, o]) -> Span[UInt8, o]:\n    x = 1\n"
    ),
    "lifetime of the struct itself": library(
        "struct S:\n    var p: Int\n\n"
        "    def f[o: ImmOrigin](ref[o] self) -> ref[o] Int:\n        x = 1\n"
    ),
    "lifetime of the caller's choice, by name": library(
        "def f():\n    x = 1\n\n\n"
        "def _unsafe_g[o: ImmOrigin](n: Int) -> Span[UInt8, o]:\n    x = 1\n"
    ),
    "pointer that the compiler follows": library(
        "struct S:\n    var p: Pointer[Int, Self.origin]\n"
    ),
    "unsafe import": library(
        "from std.memory import (\n    unsafe_memcpy,\n)\n"
    ),
    "environment where a program asks for it": library(
        'def f():\n    getenv("no_proxy")\n',
        "flare/http/client/connect/proxy.mojo",
    ),
    "foreign call in its place": library(
        'def f():\n    external_call["read", Int]()\n', "flare/sys/a.mojo"
    ),
    "foreign call in a test": {
        "tests/test_f.mojo": 'def test_f():\n    external_call["read", Int]()\n'
    },
    "empty initialiser": library(
        "struct S:\n    def __init__(out self):\n        pass\n"
    ),
    "folder that is no machine's": library(
        '# see "./ro' + 'ot/x", a/wo' + "rk/b\n"
    ),
    "two flags beside a state": machine("Phase", "a", "b"),
    "flags without a state": machine("Int", "a", "b", "c"),
    "flags beside a table of states": machine("StateTable", "a", "b", "c"),
    "flags beside many states": machine("List[StreamState]", "a", "b", "c"),
    "flags where nobody waits": machine(
        "Phase", "a", "b", "c", name="flare/json/a.mojo"
    ),
    "function named fnord": library("def fnord():\n    x = 1\n"),
}

REFUSED = {
    "name without an idea": (
        library("# x\n", "flare/x/utils.mojo"),
        "`utils` is no idea",
    ),
    "unfinished": (library("# TODO later\n"), "`TODO`"),
    "placeholder": (library("# a stub\n"), "`stub`"),
    "unfinished in a tool": ({"tools/t.py": "# FIXME\n"}, "`FIXME`"),
    "print in the library": (
        library('def f():\n    print("x", file=stderr)\n'),
        "`print`; a library tells by `log_line`",
    ),
    "environment": (library('def f():\n    getenv("X")\n'), "`getenv`"),
    "function that does nothing": (
        library("def f():\n    pass\n"),
        "does nothing",
    ),
    "nothing below a docstring": (
        library('def f():\n    """Runs."""\n    pass\n'),
        "does nothing",
    ),
    "lock in a destructor": (
        library(
            "struct S:\n    def __deinit__(\n        deinit self,\n    ):\n"
            "        var n = 1\n        self.a.lock()[].end(n)\n"
        ),
        "flare/x/a.mojo:6: a guard in a destructor outlives",
    ),
    "foreign call elsewhere": (
        library('def f():\n    external_call["read", Int]()\n'),
        "foreign call outside flare/sys",
    ),
    "symbol declared twice": (
        library(
            'def f():\n    external_call["read", Int]()\n'
            '    external_call[\n        "read", Int\n    ]()\n',
            "flare/sys/a.mojo",
        ),
        "`read` is declared at flare/sys/a.mojo:2 already",
    ),
    "pointer": (library("def f():\n    p = x.unsafe_ptr()\n"), "SAFETY"),
    "untracked pointer": (
        library("def f(p: Pointer[Int, MutUntrackedOrigin]):\n    x = 1\n"),
        "SAFETY",
    ),
    "alias of a pointer": (
        library(
            "comptime At = Pointer[Int, MutUntrackedOrigin]\n\n\n"
            "def f(p: At):\n    x = 1\n"
        ),
        "SAFETY",
    ),
    "alias of a pointer in several lines": (
        library(
            "comptime At = Pointer[\n    Int, MutUntrackedOrigin\n]\n\n\n"
            "def f(p: At):\n    x = 1\n"
        ),
        "SAFETY",
    ),
    "alias of another file": (
        {
            "flare/x/a.mojo": "comptime At = OpaquePointer[MutUntrackedOrigin]\n",
            "flare/x/b.mojo": (
                "from flare.x.a import At\n\n\ndef f(p: At):\n    x = 1\n"
            ),
            "examples/e.mojo": (
                "from flare.x.b import f\n\ndef main():\n    f()\n"
            ),
        },
        "flare/x/b.mojo:4",
    ),
    "origin that is cast": (
        library("def f():\n    p = x.unsafe_origin_cast[o]()\n"),
        "SAFETY",
    ),
    "span of another origin": (
        library("def f():\n    p = rebind[Span[UInt8, o]](x)\n"),
        "SAFETY",
    ),
    "loan of any lifetime": (
        library("def f():\n    p = unsafe_lend[o](x, 1)\n"),
        "SAFETY",
    ),
    "value without its lock": (
        library("def f():\n    p = x.unsafe_unlocked()\n"),
        "SAFETY",
    ),
    "lifetime of the caller's choice": (
        library("def f[o: ImmOrigin](n: Int) -> Span[UInt8, o]:\n    x = 1\n"),
        "grants the lifetime `o`",
    ),
    "lifetime of the caller's choice in several lines": (
        library(
            "def f[\n    T: AnyType, //, o: Origin\n](\n    n: Int,\n"
            ") raises -> Span[T, o]:\n    x = 1\n"
        ),
        "grants the lifetime `o`",
    ),
    "safety of another function": (
        library(
            "def g():\n    # SAFETY: here.\n    x = 1\n\n\n"
            "def f():\n    p = x.unsafe_ptr()\n"
        ),
        "SAFETY",
    ),
    "test that cannot fail": (
        {
            "tests/test_t.mojo": (
                "def test_t() raises:\n"
                "    with TemporaryDirectory() as path:\n"
                "        print(path)\n"
            )
        },
        "use `TemporaryFolder`",
    ),
    "old keyword": (library("fn f():\n    x = 1\n"), "`fn`"),
    "machine path": (
        {"tools/t.py": 'x = "/ro' + 'ot/x"\n'},
        "path of one machine",
    ),
    "registry": ({"requirements/run.txt": "# py" + "pi.org\n"}, "registry host"),
    "few descriptors": (
        {"tests/wire/test_f.py": "ready = select.select([a], [], [], 1)\n"},
        "1,024 descriptors",
    ),
    "flags beside a phase": (
        machine("RequestPhase", "a", "b", "c"),
        "flare/http/x/a.mojo:1: 3 Bools beside the state `what` (a, b, c)",
    ),
    "flags beside a state": (
        machine("h2.StreamState", "a", "b", "c", name="flare/redis/a.mojo"),
        "3 Bools beside the state",
    ),
    "flags of a WebSocket": (
        machine("CloseState", "a", "b", "c", "d", name="flare/ws/a.mojo"),
        "4 Bools beside the state",
    ),
    "flags of a call": (
        machine("Phase", "a", "b", "c", name="flare/grpc/a.mojo"),
        "3 Bools beside the state",
    ),
}


QUIET = {
    "500 lines of code": library("comptime X = 1\n" * 500),
    "words do not count as code": library(
        '"""A.\n\n' + "Line.\n" * 300 + '"""\n' + "# x\n\n" * 300 + "comptime X = 1\n"
    ),
    "generated table": library(
        "# Generated by hand\n" + "comptime X = 1\n" * 600
    ),
    "60 lines": library("def f():\n" + lines(60)),
    "signature and docstring do not count": library(
        "def f(\n    a: Int,\n) -> Int:\n"
        + '    """Sums.\n\n'
        + "    Line.\n" * 40
        + '    """\n'
        + lines(60)
    ),
    "table of a test": {"tests/test_f.mojo": LONG_TABLE},
}

SMELLS = {
    "501 lines of code": (library("comptime X = 1\n" * 501), "501 lines"),
    "61 lines": (library("def f():\n" + lines(61)), "`f` has 61 lines"),
    "long method": (
        library("struct S:\n    def f(self):\n" + "        x = 1\n" * 61),
        "`f` has 61 lines",
    ),
    "six arguments": (
        library("def f(a: A, b: B, c: C, d: D, e: E, g: G):\n    x = 1\n"),
        "`f` takes 6 arguments",
    ),
}


def smelt(root: Path) -> list[str]:
    return [
        str(problem)
        for path in mojo_files(root, "flare", "tests")
        for problem in check_style.smells(Source.read(root, path))
    ]


@pytest.mark.parametrize("name", QUIET)
def test_is_quiet(tree, name):
    assert smelt(tree(QUIET[name])) == []


@pytest.mark.parametrize("name", SMELLS)
def test_warns(tree, name):
    """A count is a warning, and refuses nothing."""
    files, message = SMELLS[name]
    root = tree(files)
    [found] = smelt(root)
    assert message in found
    assert check_style.problems(root) == []


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepts(tree, name):
    assert check_style.problems(tree(ACCEPTED[name])) == []


@pytest.mark.parametrize("name", REFUSED)
def test_refuses(tree, name):
    files, message = REFUSED[name]
    problems = check_style.problems(tree(files))
    assert len(problems) == 1
    assert message in problems[0]


def test_names_file_and_line(tree):
    [problem] = check_style.problems(
        tree(library("# x\n\nfn f():\n    x = 1\n"))
    )
    assert problem.startswith("flare/x/a.mojo:3: ")


@pytest.mark.parametrize(
    ("signature", "count"),
    [
        ("def f(self, a: Int, *, b: Dict[Int, Int], c: Int = g(1, 2)):", 1),
        ("def f(self, a: Int, b: Dict[Int, Int], c: Int = g(1, 2)):", 3),
        ("def f[T: A, U: B](a: T) -> Tuple[T, U]:", 1),
        ("def f():", 0),
    ],
)
def test_counts_arguments(signature, count):
    assert len(check_style._arguments(signature)) == count
