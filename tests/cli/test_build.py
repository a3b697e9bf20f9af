"""`flare build` and `flare run`: exit codes, errors, and bundles that stand alone."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from mojo_flare import bundle, project

PROGRAM = """from std.sys import argv, exit


def main():
    for word in argv()[1:]:
        print(word)
    exit(7)
"""
# A server of the lower packages: HTTP's takes half a minute to build.
SERVER = """from flare.net import SocketAddr
from flare.tcp import TcpListener


def main() raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    print(listener.local_addr(), flush=True)
    var stream = listener.accept()
    stream.write_all("hello\\n".as_bytes())
    stream.close()
"""
BROKEN = """def main():
    prin("x")
"""
WRONG_HANDLER = """from flare.http import Request, Response, Router, ok


def page(req: Request, more: Int) raises -> Response:
    return ok("hello")


def main() raises:
    var router = Router()
    router.get("/", page)
"""
DEADLINE_S = 60


def test_a_program_gets_its_arguments_and_ends_with_its_code(
    flare, tmp_path: Path
) -> None:
    (tmp_path / "main.mojo").write_text(PROGRAM)
    first = flare(tmp_path, "run", "main.mojo", "--port", "80", "a b")
    assert first.returncode == 7
    assert first.stdout.splitlines()[0].startswith("built main.mojo in ")
    assert first.stdout.splitlines()[1:] == ["--port", "80", "a b"]
    # Nothing has changed, so nothing is built, and nothing said.
    second = flare(tmp_path, "run", "main.mojo")
    assert (second.returncode, second.stdout) == (7, "")
    assert (tmp_path / ".flare" / ".gitignore").read_text() == "*\n"


def test_what_stands_for_a_project(tmp_path: Path) -> None:
    """It changes with each Mojo file, and with nothing else."""
    (tmp_path / "app").mkdir()
    source = tmp_path / "app" / "one.mojo"
    source.write_text("comptime X = 1\n")
    first = project.fingerprint([tmp_path], "option")
    (tmp_path / "notes.md").write_text("x")
    (tmp_path / ".flare").mkdir()
    (tmp_path / ".flare" / "made.mojo").touch()
    assert project.fingerprint([tmp_path], "option") == first is not None
    assert project.fingerprint([tmp_path], "another") != first
    source.write_text("comptime X = 2\n")
    assert project.fingerprint([tmp_path], "option") != first
    # What has more files than a project is not looked through at each run.
    for number in range(project._ENTRY_COUNT_MAX + 1):
        (tmp_path / f"{number}").touch()
    assert project.fingerprint([tmp_path], "option") is None


def test_an_error_of_the_compiler_is_passed_on(flare, tmp_path: Path) -> None:
    (tmp_path / "main.mojo").write_text(BROKEN)
    for command in ("run", "build"):
        done = flare(tmp_path, command)
        assert done.returncode == 4
        lines = done.stdout.splitlines()
        wanted = "main.mojo:2:5: error: use of unknown declaration 'prin'"
        assert lines[0].startswith(wanted)
        assert lines[-1] == "error: main.mojo cannot be built: 1 error"
    assert not (tmp_path / "main").exists()


@pytest.mark.parametrize("words, reason", [
    (["run"], "there is no file main.mojo"),
    (["run", "."], "there is no main.mojo in the folder ."),
    (["run", "--port", "80"], "name its file first: flare run main.mojo --port"),
    (["dev", "--fats"], "there is no option --fats"),
    (["dev", "--port", "80"], "name its file first: flare dev main.mojo --port"),
    (["dev"], "name a file: flare dev FILE.mojo"),
    (["check"], "name a file: flare check FILE.mojo"),
    (["routes"], "name a file: flare routes FILE.mojo"),
    (["build", "x.mojo"], "there is no file x.mojo"),
    (["build", "notes.txt"], "is no Mojo source"),
    (["build", "one.mojo", "-o", "."], "which is a folder"),
    (["build", "one.mojo", "-o", "one.mojo"], "would be one.mojo, a Mojo source"),
    (["build", "one.mojo", "-o", "two.mojo"], "would be two.mojo, a Mojo source"),
    (["openapi", "one.mojo", "-o", "one.mojo"], "would be one.mojo, a Mojo source"),
    (["build", "one.mojo", "--bundle", "full"], "empty folder\n  name another\n"),
    (["build", "one.mojo", "--bundle", "old"], "remove it (rm -r old) or name"),
    (["build", "one.mojo", "--bundle", "one.mojo"], "--bundle one.mojo is a file"),
    (["run", "pipe.mojo"], "pipe.mojo is no ordinary file"),
    (["build", "one.mojo", "--bundle", "new", "-o", "a/b"], "write -o b"),
    (["build", "--fast"], "No such option"),
    (["frob"], "No such command"),
])
def test_what_cannot_be_is_refused(
    flare, tmp_path: Path, words: list[str], reason: str
) -> None:
    (tmp_path / "notes.txt").touch()
    (tmp_path / "one.mojo").write_text(PROGRAM)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    (tmp_path / "old" / "lib").mkdir(parents=True)
    (tmp_path / "old" / "lib" / "libKGENCompilerRTShared.so").touch()
    os.mkfifo(tmp_path / "pipe.mojo")
    done = flare(tmp_path, *words)
    assert done.returncode == 2
    assert reason in done.stdout
    assert not (tmp_path / "new").exists()
    assert (tmp_path / "one.mojo").read_text() == PROGRAM


def test_a_missing_c_compiler_is_named(flare, binaries: Path, tmp_path: Path) -> None:
    (tmp_path / "main.mojo").write_text(PROGRAM)
    cache = tmp_path / "cache"
    done = flare(tmp_path, "build", PATH=str(binaries), XDG_CACHE_HOME=str(cache))
    assert done.returncode == 3
    assert "no C compiler named `cc`" in done.stdout
    assert "apt-get install gcc" in done.stdout
    # Nothing was begun with: the library takes minutes to compile.
    assert not cache.exists()


def test_a_missing_compiler_is_named(tmp_path: Path) -> None:
    """Of a Python that has the command and no compiler."""
    (tmp_path / "main.mojo").write_text(PROGRAM)
    script = (
        "import sys, sysconfig\n"
        "sysconfig.get_path = lambda name: '/nowhere'\n"
        "from mojo_flare import toolchain\n"
        "toolchain._folders = lambda: iter(())\n"
        "from mojo_flare.main import main\n"
        "sys.argv = ['flare', 'build']\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == 3
    assert "-m pip install 'mojo-compiler==1.2.*'" in done.stdout


def test_an_interrupt_ends_the_compiler_too(binaries: Path, tmp_path: Path) -> None:
    (tmp_path / "main.mojo").write_text(PROGRAM)
    # What runs these tests may ignore interrupts, as a shell lets its jobs in the
    # background do; a terminal's programs do not.
    process = subprocess.Popen(
        [str(binaries / "flare"), "build"],
        cwd=tmp_path,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    until = time.monotonic() + DEADLINE_S
    while not (compilers := children.read_text().split()):
        assert time.monotonic() < until
        time.sleep(0.01)
    # As Ctrl-C: to all processes of the terminal.
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(DEADLINE_S) == 130
    while _is_running(compilers[0]):
        assert time.monotonic() < until
        time.sleep(0.01)
    assert not (tmp_path / "main").exists()


def _is_running(pid: str) -> bool:
    """Tells whether a process is there, and not just its exit code."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(") ")[2][0] != "Z"


def test_the_chosen_cpu_reaches_the_compiler(flare, tmp_path: Path) -> None:
    (tmp_path / "main.mojo").write_text(PROGRAM)
    done = flare(tmp_path, "build", "--target-cpu", "no-such-cpu")
    assert done.returncode == 4
    assert "no-such-cpu" in done.stdout


def test_help_has_examples_and_exit_codes(flare, tmp_path: Path) -> None:
    for command in ("new", "run", "build", "test"):
        done = flare(tmp_path, command, "--help")
        assert done.returncode == 0
        assert f"flare {command}" in done.stdout.split("Examples", 1)[1]
    told = flare(tmp_path, "--help").stdout
    for code in ("0: ", "1: ", "2: ", "3: ", "4: ", "130: "):
        assert code in told
    # No colours but on a terminal.
    assert "\x1b" not in told


def test_the_bundle_runs_where_there_is_only_the_c_library(
    flare, tmp_path: Path
) -> None:
    project = tmp_path / "hello-world"
    project.mkdir()
    (project / "main.mojo").write_text(SERVER)
    done = flare(project, "build", "--bundle", "dist")
    assert done.returncode == 0, done.stdout
    assert "dist/hello-world" in done.stdout and " MB  in all" in done.stdout
    root = _bare_root(tmp_path / "root", project / "dist")
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("a root folder of its own takes root and unshare")
    # The loader finds a binary's own folder by /proc, which every container has.
    script = f"mount -t proc proc {root}/proc && exec chroot {root} /app/hello-world"
    with subprocess.Popen(
        ["unshare", "--mount", "--propagation", "private", "sh", "-c", script],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        assert process.stdout
        line = process.stdout.readline()
        try:
            assert line.startswith("127.0.0.1:"), line
            port = int(line.rsplit(":", 1)[1])
            with socket.create_connection(("127.0.0.1", port), DEADLINE_S) as client:
                assert client.recv(100) == b"hello\n"
            assert process.wait(DEADLINE_S) == 0
        finally:
            process.kill()


def _bare_root(root: Path, dist: Path) -> Path:
    """Makes a root folder with a bundle, the C library's files, and no more."""
    shutil.copytree(dist, root / "app")
    (root / "proc").mkdir()
    told = subprocess.run(
        ["ldd", str(dist / "hello-world")], text=True, capture_output=True, check=True
    ).stdout
    for line in told.splitlines():
        path = line.partition("=>")[2].strip() or line.strip()
        path = path.split(" (")[0]
        if path.startswith("/") and str(dist.resolve()) not in path:
            name = Path(path).name
            assert name.startswith(("libc.", "libm.", "ld-linux")), line
            copy = root / path.lstrip("/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
    return root


def test_a_run_path_without_room_is_told(tmp_path: Path) -> None:
    binary = tmp_path / "binary"
    shutil.copy(sys.executable, binary)
    linked = tmp_path / "linked.c"
    linked.write_text("int main(void) { return 0; }\n")
    subprocess.run(
        ["cc", str(linked), "-o", str(binary), "-Wl,-rpath,/a"], check=True
    )
    with pytest.raises(bundle.CommandError, match="leaves no room"):
        bundle.set_runpath(binary, bundle.RUNPATH)
    bundle.set_runpath(binary, "/b")
    told = subprocess.run(
        ["readelf", "-d", str(binary)], text=True, capture_output=True
    ).stdout
    assert "[/b]" in told


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BROKEN, "main.mojo:2:5: error: use of unknown declaration 'prin'"),
        (
            WRONG_HANDLER,
            "main.mojo:10:21: error: this function has not the form of a handler;",
        ),
    ],
)
def test_check_tells_what_is_wrong(flare, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "main.mojo").write_text(text)
    done = flare(tmp_path, "check")
    assert done.returncode == 4
    assert " ".join(done.stdout.split()).startswith(said)
    last = done.stdout.splitlines()[-1]
    assert last == "error: main.mojo cannot be built: 1 error"
    assert [path.name for path in tmp_path.iterdir()] == ["main.mojo"]


def test_check_leaves_nothing_behind(flare, tmp_path: Path) -> None:
    (tmp_path / "main.mojo").write_text(PROGRAM)
    done = flare(tmp_path, "check", "main.mojo")
    assert (done.returncode, done.stdout[:21]) == (0, "checked main.mojo in ")
    assert [path.name for path in tmp_path.iterdir()] == ["main.mojo"]


LIBRARY = """def greeting() -> String:
    return "hello from elsewhere"
"""
USES_LIBRARY = """from elsewhere.words import greeting


def main():
    print(greeting())
"""
TESTS_LIBRARY = """from elsewhere.words import greeting
from std.testing import assert_equal


def test_greets() raises:
    assert_equal(greeting(), "hello from elsewhere")
"""


@pytest.fixture
def with_library(tmp_path: Path) -> Path:
    """A project whose program imports a package that lies beside the project."""
    folder = tmp_path / "shared" / "elsewhere"
    folder.mkdir(parents=True)
    (folder / "words.mojo").write_text(LIBRARY)
    # What the library itself needs is found before what -I names.
    (tmp_path / "shared" / "flare").mkdir()
    (tmp_path / "shared" / "flare" / "__init__.mojo").write_text("broken(\n")
    project_folder = tmp_path / "project"
    (project_folder / "tests").mkdir(parents=True)
    (project_folder / "main.mojo").write_text(USES_LIBRARY)
    (project_folder / "tests" / "test_words.mojo").write_text(TESTS_LIBRARY)
    return project_folder


def test_packages_are_looked_for_where_the_option_says(flare, with_library: Path) -> None:
    without = flare(with_library, "check")
    assert without.returncode == 4
    assert "elsewhere" in without.stdout
    assert flare(with_library, "check", "-I", "../shared").returncode == 0
    ran = flare(with_library, "run", "--include", "../shared")
    assert ran.stdout.splitlines()[-1] == "hello from elsewhere"
    # A change of the package is one of the program.
    words = with_library.parent / "shared" / "elsewhere" / "words.mojo"
    words.write_text(LIBRARY.replace("elsewhere", "nearby"))
    ran = flare(with_library, "run", "-I", "../shared")
    assert ran.stdout.splitlines()[-1] == "hello from nearby"
    words.write_text(LIBRARY)
    built = flare(with_library, "build", "-I", "../shared", "-o", "made")
    assert built.returncode == 0, built.stdout
    assert subprocess.check_output([with_library / "made"]) == b"hello from elsewhere\n"
    tested = flare(with_library, "test", "-I", "../shared")
    assert tested.returncode == 0, tested.stdout


@pytest.mark.parametrize(
    "command",
    [["run"], ["build"], ["check"], ["dev"], ["routes"], ["openapi"], ["test"],
     ["bench", "http://127.0.0.1:1/"]],
)
def test_a_folder_of_packages_that_is_none_is_refused(
    flare, tmp_path: Path, command: list[str]
) -> None:
    (tmp_path / "main.mojo").write_text(PROGRAM)
    (tmp_path / "file").touch()
    for folder in ("nowhere", "file"):
        done = flare(tmp_path, command[0], "-I", ".", "-I", folder, *command[1:])
        assert done.returncode == 2, done.stdout
        assert f"-I {folder} is no folder" in done.stdout
