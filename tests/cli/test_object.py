"""The library compiled once: what of it programs see, and what does not fit."""

import fcntl
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "cli")]

from mojo_flare.object import source, store  # noqa: E402
from mojo_flare.object.interface import Interface, Unit  # noqa: E402
from mojo_flare.object.library import Library  # noqa: E402
from toolchain import CACHE, COMPILER, build, environment, flare_object, mojo  # noqa: E402

LIBRARY = {
    "flare/__init__.mojo": "from flare.shop.till import EMPTY, Till, count_coins, shut\n",
    "flare/sys/__init__.mojo": "",
    "flare/sys/weak_symbol.mojo": "def weak_symbol() -> Int:\n    return 0\n",
    "flare/shop/__init__.mojo": "",
    "flare/shop/till.mojo": '''"""A till."""

from flare.shop.drawer import Drawer, open_drawer
from std.os import abort

comptime EMPTY = count_nothing()


def count_nothing() -> Int:
    """Runs in the compiler."""
    var count = 0
    count += 1
    return count - 1


struct Till(Movable):
    """Holds coins."""

    var drawer: Drawer

    def __init__(out self, count: Int = 3) raises:
        """Opens."""
        var made = Drawer(count)
        open_drawer(made)
        self.drawer = made^

    def add(mut self, coins: Span[UInt8, _], *, twice: Bool = False) raises -> Int:
        """Adds.

        Returns:
            How many.
        """
        for coin in coins:
            self.drawer.put(coin)
        return self._sum(twice)

    def _sum(self, twice: Bool) -> Int:
        var sum = self.drawer.count
        if twice:
            sum *= 2
        return sum

    def take[T: Movable](self, var into: T) -> T:
        """Depends on the program."""
        var same = into^
        _ = self.drawer.count
        return same^

    def lend(ref self) -> ref[self.drawer] Drawer:
        """Lends."""
        # One line.
        # Another one.
        return self.drawer


def count_coins(var tills: List[Till]) -> Int:
    """Counts."""
    var sum = 0
    for index in range(len(tills)):
        sum += tills[index].drawer.count
    return sum


def shut(var tills: List[Till]) -> Never:
    """Ends."""
    var sum = 0
    for index in range(len(tills)):
        sum += tills[index].drawer.count
    abort()
''',
    "flare/shop/drawer.mojo": '''"""A drawer."""


struct Drawer(Movable):
    """Of a till."""

    var count: Int

    def __init__(out self, count: Int):
        """Empty."""
        self.count = count

    def put(mut self, coin: UInt8):
        """Puts."""
        self.count += Int(coin)


def open_drawer(mut drawer: Drawer):
    """Opens."""
    drawer.count += 1
    drawer.count -= 1
    drawer.count += 0
''',
    "flare/shop/forgotten.mojo": "def nobody_calls() -> Int:\n    return 1\n",
}


def made_interface(folder: Path, run_by_compiler: frozenset[str] = frozenset()) -> Interface:
    for name, text in LIBRARY.items():
        path = folder / "library" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    library = Library(folder / "library")
    units = {"all": Unit((), ())}
    kept = {"flare.sys.weak_symbol"}
    made = Interface(library, library.exported(()), kept, units, run_by_compiler)
    made.write_interface(folder / "interface")
    return made


@pytest.fixture
def interface(tmp_path: Path) -> Interface:
    return made_interface(tmp_path)


def test_a_function_of_known_types_is_a_call(interface: Interface, tmp_path: Path) -> None:
    text = (tmp_path / "interface/flare/shop/till.mojo").read_text()
    assert "return _object().f" in text
    for gone in ("for coin in coins", "sum += tills", "def _sum", '"""'):
        assert gone not in text, gone
    # The compiler warns of what stands behind a call that never returns.
    never = text.split("def shut(")[1].split("\n\n")[0]
    assert "_object().f" in never and "return" not in never


def test_what_depends_on_the_program_stays(interface: Interface, tmp_path: Path) -> None:
    text = (tmp_path / "interface/flare/shop/till.mojo").read_text()
    for kept in ("var same = into^", "return self.drawer\n", "count += 1"):
        assert kept in text, kept


def test_what_the_compiler_runs_is_a_call_in_programs(
    interface: Interface, tmp_path: Path
) -> None:
    text = (tmp_path / "interface/flare/shop/till.mojo").read_text()
    counted = text.split("def count_nothing()")[1].split("\n\n")[0]
    first, call, *body = counted.splitlines()[1:]
    assert first.strip() == "if not __is_run_in_comptime_interpreter:"
    assert call.strip().startswith("return _object().f")
    assert [line.strip() for line in body] == ["var count = 0", "count += 1", "return count - 1"]


def test_what_the_compiler_calls_of_given_types_is_kept_for_it(tmp_path: Path) -> None:
    """No constant names it here: a program's own type does, as ComptimeRouter."""
    made_interface(tmp_path, frozenset({"add"}))
    text = (tmp_path / "interface/flare/shop/till.mojo").read_text()
    assert "for coin in coins" in text and "def _sum" in text


def test_what_nothing_reaches_is_left_out(interface: Interface, tmp_path: Path) -> None:
    shop = tmp_path / "interface" / "flare" / "shop"
    assert not (shop / "forgotten.mojo").exists()
    assert "open_drawer" not in (shop / "drawer.mojo").read_text()
    assert "open_drawer" not in (shop / "till.mojo").read_text()


def test_rows_of_the_table(interface: Interface) -> None:
    rows = [row.type for row in interface.rows["flare.shop.till"]]
    assert rows == [
        "def() thin -> Int",
        "def(Int) thin raises -> Till",
        "def[o0_: ImmOrigin](mut Till, Span[UInt8, o0_], Bool) thin raises -> Int",
        "def(var List[Till]) thin -> Int",
        "def(var List[Till]) thin -> Never",
    ]


@pytest.mark.parametrize(
    ("header", "arguments", "raises", "result", "is_plain"),
    [
        ("def f():", [], "", "", True),
        ("def f(a: Int, *, b: Bool = False) raises E -> X[Y]:", ["a", "b"], "raises E", "X[Y]", True),
        ("def f(*values: Int):", [], "", "", False),
        ("def f(ref a: Int):", [], "", "", False),
        ("def f[T: A](a: T) where B(T):", ["a"], "where B(T)", "", False),
    ],
)
def test_signatures(header, arguments, raises, result, is_plain) -> None:
    made = source.Module.read("m", header + "\n    pass\n").definitions[0]
    found = source.signature(made)
    assert found.is_plain == is_plain
    if is_plain:
        assert [x.name for x in found.arguments] == arguments
        assert (found.raises, found.result) == (raises, result)


# A program, and what does not fit.

PROGRAM = """from flare.http import HttpServer, ServerConfig
from flare.net import SocketAddr


def main() raises:
    print(HttpServer.bind(SocketAddr.localhost(0)).local_addr().port > 0)
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("object") / "main.mojo"
    path.write_text(PROGRAM)
    return path


def run(binary: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(binary)], capture_output=True, text=True, timeout=20)


def test_a_program_uses_the_object(program: Path) -> None:
    binary = program.with_name("fits")
    result = build(program, binary, whole=False)
    assert result.returncode == 0, result.stdout
    done = run(binary)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


def test_a_program_without_its_object_says_so(program: Path) -> None:
    binary = program.with_name("alone")
    options = ("-I", str(flare_object().include))
    result = mojo("build", *options, str(program), "-o", str(binary))
    assert result.returncode == 0, result.stdout
    done = run(binary)
    assert done.returncode == 70
    assert "linked with none" in done.stderr
    assert flare_object().facts["identity"] in done.stderr
    assert "flare flags" in done.stderr


def test_an_object_of_other_sources_is_named(program: Path, tmp_path: Path) -> None:
    """Another object that knows its name alone, as one of other sources would."""
    other = tmp_path / "other.c"
    other.write_text(
        'const char *flare_object_identity(void) { return "0000 (another)"; }\n'
    )
    subprocess.run(["cc", "-c", str(other), "-o", str(tmp_path / "other.o")], check=True)
    binary = program.with_name("other")
    options = ("-I", str(flare_object().include), "-Xlinker", str(tmp_path / "other.o"))
    result = mojo("build", *options, str(program), "-o", str(binary))
    assert result.returncode == 0, result.stdout
    done = run(binary)
    assert done.returncode == 70
    assert "linked with the object 0000 (another)" in done.stderr


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="levels of x86-64")
def test_a_program_for_an_older_cpu_is_refused(program: Path) -> None:
    if flare_object().facts["cpu"] != "x86-64-v3":
        pytest.skip("this machine has no x86-64-v3")
    binary = program.with_name("older")
    result = build(program, binary, "--target-cpu", "x86-64-v2", whole=False)
    assert result.returncode == 0, result.stdout
    done = run(binary)
    assert done.returncode == 70
    assert "as v2_O3, and linked with the object" in done.stderr


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        (["-O0"], "_O0,"),
        (["-O1"], "_O1,"),
        (["-O2"], "_O2,"),
        (["--sanitize", "address", "-g1"], "_O3_asan,"),
    ],
)
def test_a_program_that_passes_values_otherwise_is_refused(
    program: Path, options: list[str], kind: str
) -> None:
    """How arguments are passed depends on the level of optimization."""
    binary = program.with_name("otherwise")
    result = build(program, binary, *options, whole=False)
    assert result.returncode == 0, result.stdout
    done = run(binary)
    assert done.returncode == 70, done.stderr
    assert kind in done.stderr


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="levels of x86-64")
@pytest.mark.parametrize(
    ("cpu", "level"),
    [
        ("x86-64-v2", "x86-64-v2"),
        ("x86-64-v3", "x86-64-v3"),
        ("x86-64-v4", "x86-64-v3"),
        ("znver4", None),
        ("native", store.host_level()),
        ("x86-64", None),
    ],
)
def test_the_object_is_for_no_newer_cpu_than_the_program(cpu: str, level: str | None) -> None:
    recipe = store.recipe_of(("--target-cpu", cpu))
    assert (recipe and recipe.cpu) == level


@pytest.mark.parametrize(
    "options", [("-O0",), ("--sanitize", "thread"), ("--target-triple", "aarch64-linux-gnu")]
)
def test_programs_that_no_object_fits_are_built_whole(options: tuple[str, ...]) -> None:
    assert store.recipe_of(options) is None


def test_recipes() -> None:
    assert store.recipe_of(("-D", "ASSERT=all")) == store.recipe_of(())
    sanitized = store.recipe_of(("--sanitize", "address"))
    assert sanitized.options == ("--sanitize", "address", "-g1")


def test_the_version_names_the_compiler() -> None:
    assert re.fullmatch(r"Mojo \d+\.\d+\.\d+ \(\w+\)", COMPILER.version)


CODE = [
    "var shown = String(",
    '    """',
    "# no comment",
    "",
    '    """',
    ")",
    "",
    "# One.",
    "return shown",
]


def test_longer_strings_stay_as_they_are() -> None:
    assert source.code_lines(CODE, has_docs=False) == [*CODE[:6], CODE[8]]


def test_docstrings_and_comments_are_left_out() -> None:
    lines = ["var count: Int", '"""How', "", 'many."""', "# Not so.", "var size: Int"]
    assert source.code_lines(lines) == [lines[0], lines[5]]


DOCUMENTED = '''"""A module."""

from flare.shop import till  # And why.


struct Empty:
    """Nothing follows this."""


trait Counts:
    """Counts."""

    def count(self) -> Int:
        """Counts.

        Returns:
            How many ("three").
        """
        ...


comptime TEXT = """
# No comment

    kept as it is
"""
"""What TEXT is."""


def shown() -> String:
    # As it is.
    return String(
        """
        no docstring
        """
    )
'''
UNDOCUMENTED = '''from flare.shop import till  # And why.
struct Empty:
    """Nothing follows this."""
trait Counts:
    def count(self) -> Int:
        ...
comptime TEXT = """
# No comment

    kept as it is
"""
def shown() -> String:
    return String(
        """
        no docstring
        """
    )
'''


def test_a_module_without_its_docs() -> None:
    module = source.Module.read("flare.shop.counts", DOCUMENTED)
    assert source.without_docs(module) == UNDOCUMENTED


def test_whoever_edits_a_docstring_compiles_nothing_anew(tmp_path) -> None:
    """The unit's sources stay as they were; a line of code changes them."""
    said = {}
    for kind, old, new in (
        ("first", "", ""),
        ("docs", '"""Puts."""', '"""Puts a coin in.\n\n        More."""'),
        ("code", "self.count += Int(coin)", "self.count += 2 * Int(coin)"),
    ):
        root = tmp_path / kind
        for name, text in LIBRARY.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace(old, new) if old else text)
        library = Library(root)
        made = Interface(library, library.exported(()), set(), {"all": Unit((), ())})
        made.write_unit("all", root / "unit", "identity", ["symbol"])
        said[kind] = store.tree_digest(root / "unit")
    assert said["docs"] == said["first"] != said["code"]


def test_what_a_killed_run_has_left_is_swept_away(tmp_path: Path) -> None:
    """A run that is killed removes nothing; a later one for whatever object does, but
    not what another process is making."""
    objects = store.Store(COMPILER, ROOT, tmp_path)
    for name in ("1111-one", "2222-two"):
        (tmp_path / f"making-{name}" / "part").mkdir(parents=True)
    (tmp_path / "3333").mkdir()
    with (tmp_path / "2222.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        objects.sweep()
        left = sorted(path.name for path in tmp_path.iterdir() if path.is_dir())
        assert left == ["3333", "making-2222-two"]
    objects.sweep()
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["3333"]


def test_an_object_is_made_where_a_sweep_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []

    def interrupted(self: store.Store, recipe: store.Recipe, making: Path) -> None:
        seen.append(sorted(path.name for path in tmp_path.iterdir() if path.is_dir()))
        raise KeyboardInterrupt

    monkeypatch.setattr(store.Store, "_lay_out", interrupted)
    objects = store.Store(COMPILER, ROOT, tmp_path)
    recipe = store.recipe_of(())
    (tmp_path / "making-0123").mkdir()
    # As one that was killed while it made this very object. Its compilers may still
    # write there, so that a new run has a folder of its own.
    killed = f"making-{objects.digest(recipe)}-killed"
    (tmp_path / killed / "half").mkdir(parents=True)
    with pytest.raises(KeyboardInterrupt):
        objects.find_or_make(recipe, lambda _: None)
    assert len(seen) == len(seen[0]) == 1 and seen[0] != [killed]
    assert seen[0][0].startswith(f"making-{objects.digest(recipe)}-")
    assert [path for path in tmp_path.iterdir() if path.is_dir()] == []


def test_the_environment_puts_the_interface_first() -> None:
    told = subprocess.run(
        [sys.executable, "-m", "mojo_flare", "flags", "--env"],
        cwd=ROOT, text=True, stdout=subprocess.PIPE, check=True,
        env={**environment(), "PYTHONPATH": "cli", "XDG_CACHE_HOME": str(CACHE)},
    ).stdout
    first = re.fullmatch(r"export MODULAR_MOJO_MAX_IMPORT_PATH=([^,]+),.*\n", told)
    assert first and Path(first[1]) == flare_object().include
