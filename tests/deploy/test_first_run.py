"""The steps that are prepared for macOS, here against epoll."""

import subprocess
import sys

import pytest
from conftest import ROOT

RUN_S = 600
STEPS = ["system", "request", "kept", "many", "large", "idle", "deadline", "stop", "prefork"]


@pytest.mark.nightly
def test_the_steps_hold_here():
    run = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "macos_first_run.py"), *STEPS],
        capture_output=True, text=True, timeout=RUN_S,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    for name in STEPS:
        assert f"{name} ... ok:" in run.stdout


def test_an_unknown_step_is_refused():
    run = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "macos_first_run.py"), "walk"],
        capture_output=True, text=True,
    )
    assert run.returncode == 2 and "steps are system, build, request" in run.stderr
