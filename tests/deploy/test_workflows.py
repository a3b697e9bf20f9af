"""The workflows of the public CI: they call targets that there are, at known places."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from conftest import ROOT, program

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
# A Go module; its checksum is held by Go's own database.
ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"
BUILD_S = 300


def steps(path: Path) -> list[dict]:
    """Lists the steps of all jobs of a workflow."""
    jobs = yaml.safe_load(path.read_text())["jobs"]
    return [step for job in jobs.values() for step in job["steps"]]


def targets(path: Path) -> set[str]:
    """Lists the targets of make that a workflow calls, those of a matrix too."""
    commands = "\n".join(step.get("run", "") for step in steps(path))
    found = set(re.findall(r"\bmake ([a-z][\w-]*)", commands))
    for job in yaml.safe_load(path.read_text())["jobs"].values():
        found |= set(job.get("strategy", {}).get("matrix", {}).get("target", []))
    return found


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_call_targets_that_there_are(path):
    makefile = (ROOT / "Makefile").read_text()
    known = set(re.findall(r"^([a-z][\w-]*):", makefile, re.MULTILINE))
    assert targets(path) and targets(path) <= known


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_and_jobs_may_only_read(path):
    """Those of the host by major version, those of others by commit."""
    used = [step["uses"] for step in steps(path) if "uses" in step]
    pinned = re.compile(r"actions/[\w-]+@v\d+|[\w-]+/[\w-]+@[0-9a-f]{40}")
    assert used and all(map(pinned.fullmatch, used))
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    more = {name for name, job in workflow["jobs"].items() if "permissions" in job}
    assert more == ({"publish"} if path.stem == "release" else set())


def test_a_release_is_published_with_attestations_and_without_a_secret():
    path = ROOT / ".github" / "workflows" / "release.yml"
    text, jobs = path.read_text(), yaml.safe_load(path.read_text())["jobs"]
    assert "secrets." not in text
    assert '--tag $GITHUB_REF_NAME"' in jobs["check"]["steps"][-1]["run"]
    assert jobs["build"]["needs"] == "check"
    assert len(jobs["build"]["strategy"]["matrix"]["time"]) == 2
    publish = jobs["publish"]
    assert publish["needs"] == "build"
    assert publish["permissions"] == {"id-token": "write"}
    # Where an identity can be had, no code of this repository or its tools runs.
    assert "actions/checkout" not in str(publish["steps"])
    assert [x["run"] for x in publish["steps"] if "run" in x] == [
        "diff -r built/first built/second"
    ]
    assert publish["steps"][-1]["uses"].startswith("pypa/gh-action-pypi-publish@")
    assert publish["steps"][-1]["with"]["attestations"] is True


def test_ci_runs_on_every_platform():
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    for runner in ("ubuntu-24.04", "ubuntu-24.04-arm", "macos-15"):
        assert re.search(rf"\b{runner}\b(?!-)", text), runner


def test_the_own_ci_runs_the_tests_and_nothing_else():
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    assert [line for line in lines if not line.startswith(("#", "set ", "cd "))] == ["make test"]


@pytest.mark.nightly
def test_actionlint_finds_nothing(tmp_path):
    go = program("go", "golang-go")
    installed = subprocess.run(
        [go, "install", ACTIONLINT],
        env={**os.environ, "GOBIN": str(tmp_path), "GOFLAGS": "-mod=mod"},
        capture_output=True, text=True, timeout=BUILD_S,
    )
    if "dial tcp" in installed.stderr or "module lookup disabled" in installed.stderr:
        pytest.skip(f"its module cannot be had: {installed.stderr[-300:]}")
    assert installed.returncode == 0, installed.stderr
    checked = subprocess.run(
        [shutil.which("actionlint", path=str(tmp_path)), "-no-color", *map(str, WORKFLOWS)],
        capture_output=True, text=True, timeout=60,
    )
    assert checked.returncode == 0, checked.stdout
