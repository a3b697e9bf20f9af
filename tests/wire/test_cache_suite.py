"""The public suite for caches, `http-cache-tests`, against `Cache`.

Fetches the suite by npm, so it is for the nights; without npm it is skipped.
What is required and not met is listed here with its reason.
"""

import base64
import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import tarfile
import time
from pathlib import Path

import pytest
from conftest import Server
from npm import NoPackage, unpack
from ports import claim_port
from toolchain import BUILD
from wire_programs import built

pytestmark = pytest.mark.nightly

SUITE = "http-cache-tests@0.4.5"
FETCHER = "node-fetch@2.6.1"
DIGESTS = {
    SUITE: "DjuwN9nUZXLTW+wav1LRESCZNVxl8SshwOy4z1pxuWbWt5/ay6sM9QQ1lebBaDO6P1IMBoK6mdf+PuVP/QNL8A==",
    FETCHER: "V4aYg89jEoVRxRb2fJdAg8FHvI7cEyYdVAh94HH0UIK8oJxUfkjlDQN9RbMx+bEjP7+ggMiFRprSti032Oipxw==",
}
FOLDER = BUILD / "cache-suite"
TIMEOUT_S = 120
MISSING = [name for name in ("node", "npm") if not shutil.which(name)]

# The suite is older than RFC 9111, whose section 5.1 has a cache ignore an Age
# that is no number, and take the first of several.
OTHER_AGE = {
    "age-parse-nonnumeric",
    "age-parse-negative",
    "age-parse-float",
    "age-parse-prefix-twoline",
    "age-parse-dup-0",
    "age-parse-dup-0-twoline",
    "age-parse-dup-old",
    "age-parse-parameter",
    "age-parse-numeric-parameter",
}
# A note of the W3C of 2001; CDN-Cache-Control is what has become of it.
SURROGATE = {
    "surrogate-max-age-0-expires",
    "surrogate-max-age-long-cc-max-age",
    "surrogate-no-store-cc-fresh",
    "surrogate-fresh-cc-nostore",
}
# The gateway refuses such a Transfer-Encoding, and takes nothing over from a 304 of
# another ETag.
REFUSED = {"headers-store-Transfer-Encoding", "304-etag-update-response-ETag"}
# They need a cache that gives something stale without being told to.
STALE = re.compile("stale-close-.*")


def fetch(package: str) -> Path:
    """Unpacks a package into node_modules."""
    folder = FOLDER / "node_modules" / package.split("@")[0]
    try:
        return unpack(package, DIGESTS[package], folder)
    except NoPackage as error:
        pytest.skip(str(error))
    FOLDER.mkdir(parents=True, exist_ok=True)
    packed = subprocess.run(
        ["npm", "pack", "--silent", package],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    if packed.returncode != 0:
        pytest.skip(f"npm has no {package}: {packed.stderr[-200:]}")
    archive = FOLDER / packed.stdout.split()[-1]
    digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest())
    assert digest.decode() == DIGESTS[package], f"{package} is another one"
    with tarfile.open(archive) as content:
        content.extractall(folder.with_suffix(".part"), filter="data")
    (folder.with_suffix(".part") / "package").rename(folder)
    return folder


def environment(**settings: str) -> dict[str, str]:
    names = {f"npm_config_{name}": value for name, value in settings.items()}
    return {**os.environ, "npm_package_config_id": "", **names}


@pytest.fixture(scope="module")
def results() -> dict:
    """Runs all tests through a cache in front of a `ReverseProxy`."""
    if MISSING:
        pytest.skip(f"not installed: {', '.join(MISSING)}")
    fetch(FETCHER)
    suite = fetch(SUITE)
    port = claim_port()
    origin = subprocess.Popen(
        ["node", "server/server.mjs"],
        cwd=suite,
        env=environment(
            protocol="http", port=str(port), pidfile=str(FOLDER / "pid")
        ),
        stdout=subprocess.DEVNULL,
    )
    cache = None
    try:
        wait_for(port)
        cache = Server(
            built("cached_proxy"), [f"upstream=http://127.0.0.1:{port}"]
        )
        run = subprocess.run(
            ["node", "--no-warnings", "cli.mjs"],
            cwd=suite,
            env=environment(base=cache.url),
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
        )
        assert run.returncode == 0, run.stderr[-2000:]
        return json.loads(run.stdout)
    finally:
        origin.kill()
        origin.wait(5)
        if cache:
            assert cache.stop() == 0


def wait_for(port: int) -> None:
    end = time.monotonic() + 10
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("the suite's origin did not start")


def kinds() -> dict[str, str]:
    """Tells what each test is: required, optimal or check."""
    script = """
    const tests = (await import('./tests/index.mjs')).default
    tests.push((await import('./tests/surrogate-control.mjs')).default)
    const kinds = {}
    tests.forEach(suite => suite.tests.forEach(test => {
      if (!test.browser_only) kinds[test.id] = test.kind || 'required'
    }))
    console.log(JSON.stringify(kinds))
    """
    run = subprocess.run(
        ["node", "--input-type=module", "-e", script],
        cwd=fetch(SUITE),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_all_that_is_required(results):
    known = OTHER_AGE | SURROGATE | REFUSED
    kind = kinds()
    failed = {
        name
        for name, result in results.items()
        if kind[name] == "required" and result is not True
    }
    unknown = {
        name for name in failed - known if not STALE.fullmatch(name)
    }
    assert not unknown, {name: results[name] for name in unknown}
    assert not known - failed, "they pass now: take them off the lists"
    counts = {
        which: (
            sum(results[name] is True for name in kind if kind[name] == which),
            sum(1 for name in kind if kind[name] == which),
        )
        for which in ("required", "optimal", "check")
    }
    print(f"\npassed of all: {counts}")
