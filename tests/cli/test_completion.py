"""Completion in the shells themselves, where they are installed."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import environment, flare

COMMANDS = {"bench", "completion", "dev", "doctor", "openapi", "routes"}


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A search path with a command named flare in front."""
    script = tmp_path / "flare"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m mojo_flare "$@"\n')
    script.chmod(0o755)
    return f"{tmp_path}:/usr/bin:/bin"


def script(shell: str, folder: Path) -> Path:
    result = flare("completion", shell)
    assert result.returncode == 0, result.stderr
    written = folder / f"completion.{shell}"
    written.write_text(result.stdout)
    return written


def run(shell: str, text: str, path: str) -> str:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    options = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    result = subprocess.run(
        [shell, *options, "-c", text],
        env=environment(PATH=path),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


BASH = """
source {script}
COMP_WORDS=({words})
COMP_CWORD={last}
_flare_completion flare
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize(
    ("words", "last", "expected"),
    [
        ("flare do", 1, {"doctor"}),
        ("flare ''", 1, COMMANDS),
        ("flare bench --conn", 2, {"--connections"}),
        ("flare completion z", 2, {"zsh"}),
    ],
)
def test_bash(path, tmp_path, words, last, expected):
    text = BASH.format(script=script("bash", tmp_path), words=words, last=last)
    found = set(run("bash", text, path).split())
    assert expected <= found if len(expected) > 1 else found == expected


ZSH = """
autoload -U compinit && compinit -D
_arguments() {{ print -r -- "$@" }}
_files() {{ print FILES }}
source {script}
words=({words})
CURRENT=${{#words}}
_flare_completion
"""


@pytest.mark.parametrize(
    ("words", "expected"),
    [("flare do", "doctor"), ("flare bench --conn", "--connections")],
)
def test_zsh(path, tmp_path, words, expected):
    text = ZSH.format(script=script("zsh", tmp_path), words=words)
    assert expected in run("zsh", text, path)


@pytest.mark.parametrize(
    ("line", "expected"),
    [("flare do", "doctor"), ("flare bench --conn", "--connections")],
)
def test_fish(path, tmp_path, line, expected):
    text = f"source {script('fish', tmp_path)}; complete --do-complete '{line}'"
    assert expected in run("fish", text, path)


def test_fish_completes_files_where_one_is_wanted(path, tmp_path):
    (tmp_path / "server.mojo").write_text("")
    text = f"source {script('fish', tmp_path)}; cd {tmp_path}; complete --do-complete 'flare run ser'"
    assert "server.mojo" in run("fish", text, path)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_for_this_command(shell):
    result = flare("completion", shell)
    assert "flare" in result.stdout and "_FLARE_COMPLETE" in result.stdout


def test_another_shell_is_refused():
    assert flare("completion", "tcsh").returncode == 2


@pytest.mark.parametrize(
    "command", ["dev", "routes", "openapi", "bench", "doctor", "completion"]
)
def test_help_has_examples(command):
    result = flare(command, "--help")
    assert result.returncode == 0
    assert "Examples" in result.stdout and f"flare {command}" in result.stdout
