"""`flare new`: which names are taken, what a project has, and that nothing is lost."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import package
import pytest
from mojo_flare import testing
from mojo_flare.new import Template
from mojo_flare.toolchain import Toolchain, find
from toolchain import flare_object

DEADLINE_S = 60
TEMPLATES = [template.value for template in Template]
EVERYWHERE = {
    ".dockerignore", ".gitignore", ".vscode/tasks.json", "Dockerfile", "README.md",
    "app/service.mojo", "deploy/order-service.service", "main.mojo",
    "requirements.txt",
}


@pytest.fixture(scope="session")
def projects(flare, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A project of each template, with a name of two words."""
    made = {}
    for template in TEMPLATES:
        folder = tmp_path_factory.mktemp(template)
        done = flare(folder, "new", "order-service", "--template", template)
        assert done.returncode == 0, done.stdout
        made[template] = folder / "order-service"
    return made


def files(project: Path) -> dict[str, str]:
    return {
        path.relative_to(project).as_posix(): path.read_text()
        for path in project.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_project_has_all_it_needs(projects: dict[str, Path], template: str) -> None:
    found = files(projects[template])
    assert EVERYWHERE <= set(found)
    assert any(re.fullmatch(r"tests/test_\w+\.mojo", name) for name in found)
    for name, text in found.items():
        assert "{{" not in text, name
        assert "{{" not in name
    assert found["requirements.txt"] == f"mojo-flare=={package.version()}\n"
    assert "order-service" in found["main.mojo"]
    tasks = json.loads(found[".vscode/tasks.json"])["tasks"]
    assert [task["label"] for task in tasks] == ["run", "test", "build"]
    named = re.findall(r"^\| `([\w./]+)`", found["README.md"], re.MULTILINE)
    assert named
    for name in named:
        if not name.startswith("APP_"):
            assert (projects[template] / name).exists(), name


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_project_is_formatted(projects: dict[str, Path], template: str) -> None:
    """With the shortest name and the longest: no line may depend on it."""
    formatter = package.VENV / "bin" / "mblack"
    done = subprocess.run(
        [str(formatter), "--check", str(projects[template])], capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_unit_is_one_for_systemd(projects: dict[str, Path], template: str) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    unit = projects[template] / "deploy" / "order-service.service"
    text = unit.read_text().replace("/opt/order-service/order-service", "/bin/true")
    copy = unit.with_name("checked.service")
    copy.write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", str(copy)], text=True, capture_output=True
    )
    copy.unlink()
    assert done.returncode == 0 and done.stderr == "", done.stderr


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_user_of_an_image_is_a_number(projects: dict[str, Path], template: str) -> None:
    """Kubernetes refuses a name under runAsNonRoot: it cannot see whose it is."""
    text = (projects[template] / "Dockerfile").read_text()
    users = re.findall(r"^USER (.*)$", text, re.MULTILINE)
    assert len(users) == 1
    assert re.fullmatch(r"[1-9]\d*(:[1-9]\d*)?", users[0]), users


REFUSED = {
    "capital": ("Shop", "is made of a-z, 0-9 and single hyphens"),
    "space": ("my shop", "is made of a-z"),
    "underscore": ("my_shop", "is made of a-z"),
    "digit first": ("2shop", "is made of a-z"),
    "two hyphens": ("my--shop", "is made of a-z"),
    "hyphen last": ("shop-", "is made of a-z"),
    "dots": ("..", "is made of a-z"),
    "the folder itself": (".", "'.' cannot be a project's name"),
    "too long": ("a" * 41, "has 41 letters"),
    "the library's": ("flare", "would be mistaken for something else"),
    "the tests'": ("tests", "would be mistaken for something else"),
    "no such parent": ("nowhere/shop", "there is no folder nowhere"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_name_is_refused(flare, tmp_path: Path, case: str) -> None:
    name, reason = REFUSED[case]
    done = flare(tmp_path, "new", name)
    assert done.returncode == 2
    assert reason in " ".join(done.stdout.split())
    assert list(tmp_path.iterdir()) == []


def test_the_longest_name_is_taken(flare, tmp_path: Path) -> None:
    name = "a" * 40
    for template in TEMPLATES:
        folder = tmp_path / template
        folder.mkdir()
        assert flare(folder, "new", name, "-t", template).returncode == 0
    formatter = package.VENV / "bin" / "mblack"
    done = subprocess.run([str(formatter), "--check", str(tmp_path)], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


def test_nothing_is_overwritten(flare, tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "main.mojo").write_text("precious")
    (tmp_path / "gone").symlink_to("nowhere")
    for name in ("shop", "gone"):
        done = flare(tmp_path, "new", name)
        assert done.returncode == 2
        assert "nothing is overwritten" in done.stdout
    assert (tmp_path / "shop" / "main.mojo").read_text() == "precious"
    assert not (tmp_path / "nowhere").exists()


def test_an_unknown_template_is_refused(flare, tmp_path: Path) -> None:
    done = flare(tmp_path, "new", "shop", "--template", "blog")
    assert done.returncode == 2
    for template in TEMPLATES:
        assert template in done.stdout


def test_every_template_builds_and_passes_its_tests(
    projects: dict[str, Path], tmp_path: Path
) -> None:
    """All templates as one program, for each alone takes its time to build.

    Their modules are called `app` and `tests` everywhere, so each becomes a
    package of its template's name, and what is imported is renamed to that.
    """
    mains = []
    for template, project in projects.items():
        for source in project.rglob("*.mojo"):
            text = source.read_text().replace("from app.", f"from {template}.app.")
            copy = tmp_path / template / source.relative_to(project)
            copy.parent.mkdir(parents=True, exist_ok=True)
            # A module of a package has no `main`.
            copy.write_text(text.replace("def main(", "def run_main("))
        mains.append(f"from {template}.main import run_main as main_{template}")
    tests = testing.find_tests(tmp_path, [tmp_path])
    assert {test.file.parts[0] for test in tests} == set(TEMPLATES)
    source = tmp_path / "together.mojo"
    testing.write_program(source, tests)
    # With TEMPLATE in its environment the program is that template's own.
    calls = "".join(
        f'    if getenv("TEMPLATE") == "{template}":\n        return main_{template}()\n'
        for template in TEMPLATES
    )
    imports = "\n".join(["from std.os import getenv", *mains])
    text = source.read_text().replace("\n\n\ndef _run[", f"\n{imports}\n\n\ndef _run[")
    place = "def main() raises:\n"
    assert text.count(place) == 1
    source.write_text(text.replace(place, place + calls))
    options = ("--Werror", "-D", "ASSERT=all", "-I", str(tmp_path))
    built = toolchain().build(
        source, tmp_path / "together", *options, made=flare_object()
    )
    assert built.returncode == 0, built.stdout
    results = list(
        testing.run_program(
            tmp_path / "together", tests, 60, folder=projects["realtime"]
        )
    )
    bad = [r for r in results if r.outcome is not testing.Outcome.PASSED]
    assert bad == []
    assert len(results) == len(tests)
    for template in TEMPLATES:
        refuses_bad_settings(tmp_path / "together", template, projects[template])
        outlives_a_crash(tmp_path / "together", template, projects[template])


def refuses_bad_settings(program: Path, template: str, project: Path) -> None:
    """Each line says what was found and what is allowed; there is no trace of
    Mojo's own report of an error that leaves `main`."""
    environment = {
        **os.environ, "TEMPLATE": template, "APP_PORT": "many", "APP_WORKER": "2",
    }
    done = subprocess.run(
        [str(program), "--address=nowhere"], env=environment, cwd=project,
        capture_output=True, text=True, timeout=DEADLINE_S,
    )
    assert done.returncode == 2, (template, done.stderr)
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert "together: APP_PORT is 'many'; it takes an integer" in lines, lines
    told = "together: APP_WORKER names no setting; did you mean APP_WORKERS?"
    assert any(line.startswith(told) for line in lines), lines
    assert any(line.startswith("together: --address is 'nowhere'") for line in lines), lines
    assert len(lines) == 3, lines
    with socket.create_server(("127.0.0.1", 0)) as taken:
        environment = {
            **os.environ, "TEMPLATE": template, "APP_PORT": str(taken.getsockname()[1]),
        }
        done = subprocess.run(
            [str(program)], env=environment, cwd=project, capture_output=True,
            text=True, timeout=DEADLINE_S,
        )
    assert done.returncode == 2, (template, done.stderr)
    assert re.fullmatch(r"together: cannot listen: .* in use.*\n", done.stderr), done.stderr


def outlives_a_crash(program: Path, template: str, project: Path) -> None:
    """A worker process that dies is started anew, and the program serves on."""
    process = subprocess.Popen(
        [str(program), "--port=0"], cwd=project, text=True,
        env={**os.environ, "TEMPLATE": template}, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        place = re.search(r"http://(\S+)", process.stdout.readline())[1]
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        wanted = 1 if template == "api" else 2
        until = time.monotonic() + DEADLINE_S
        while len(before := children.read_text().split()) < wanted or status(place) != 200:
            assert time.monotonic() < until
            time.sleep(0.01)
        os.kill(int(before[0]), signal.SIGILL)
        while not (set(now := children.read_text().split()) - set(before)) or before[0] in now:
            assert time.monotonic() < until
            time.sleep(0.01)
        assert status(place) == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE_S) == 0
    finally:
        process.kill()
        process.communicate()


def status(place: str) -> int:
    """Asks whether a program lives; 0 if it does not answer yet."""
    connection = http.client.HTTPConnection(place, timeout=DEADLINE_S)
    try:
        connection.request("GET", "/live", headers={"Connection": "close"})
        return connection.getresponse().status
    except OSError:
        return 0
    finally:
        connection.close()


def toolchain() -> Toolchain:
    """The compiler of `.venv`, with the library of this tree."""
    return find()
