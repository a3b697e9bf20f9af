#!/usr/bin/env python3
"""Runs the public test vectors against vector_tool and prints the scores."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VECTORS = ROOT.parent / "shared" / "vectors"
TOOL = ROOT / "build" / "vector_tool"
SOURCE = ROOT / "tests" / "vectors" / "vector_tool.mojo"


def is_required_url(row):
    """Tells whether a URL row is about HTTP: the others are informative."""
    if row["group"] == "wpt:http":
        return True
    if row["group"] != "wpt:fail":
        return False
    fields = [
        "" if field == "-" else bytes.fromhex(field).decode("utf-8", "replace")
        for field in row["line"].split(" ")
    ]
    schemes = ("http:", "https:")
    return any(field.strip().lower().startswith(schemes) for field in fields)


# For each suite, which rows have to match; the rest is only counted.
REQUIRED = {
    "ip": lambda row: True,
    "json": lambda row: True,
    "url": is_required_url,
}


def matches(expect, answer):
    """Compares an answer; a bare OK or ERR says nothing about the rest."""
    if expect == "*":
        return answer.split(" ")[0] in ("OK", "ERR")
    if " " not in expect:
        return answer.split(" ")[0] == expect
    return answer == expect


def build():
    """Builds the program under test."""
    TOOL.parent.mkdir(exist_ok=True)
    command = [ROOT / ".venv/bin/mojo", "build", "-I", ROOT, SOURCE, "-o", TOOL]
    subprocess.run([str(word) for word in command], cwd=ROOT, check=True)


def run_suite(suite, rows):
    """Feeds the rows; gives (passed, failures, informative, informative passed)."""
    text = "".join(row["line"] + "\n" for row in rows)
    done = subprocess.run(
        [str(TOOL), suite],
        input=text,
        capture_output=True,
        text=True,
        timeout=120,
    )
    answers = done.stdout.splitlines()
    if done.returncode != 0 and len(answers) < len(rows):
        # The row that killed the program is the first one without an answer.
        answers.append(f"exit {done.returncode} {done.stderr.strip()[-200:]}")
    answers += ["no answer"] * (len(rows) - len(answers))
    passed = extra = extra_passed = 0
    failures = []
    for row, answer in zip(rows, answers):
        good = matches(row["expect"], answer)
        if not REQUIRED[suite](row):
            extra += 1
            extra_passed += good
        elif good:
            passed += 1
        else:
            failures.append(
                f"{suite} {row['name']}: expected {row['expect']}, got {answer}"
            )
    return passed, failures, extra, extra_passed


def run():
    """Runs every suite; gives (passed, failed, skipped, failures)."""
    if not VECTORS.is_dir():
        return 0, 0, len(REQUIRED), []
    build()
    passed = skipped = 0
    failures = []
    for suite in REQUIRED:
        path = VECTORS / f"{suite}.jsonl"
        if not path.exists():
            skipped += 1
            continue
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        good, bad, extra, extra_good = run_suite(suite, rows)
        note = f"; informative {extra_good}/{extra}" if extra else ""
        print(f"vectors {suite}: {good}/{good + len(bad)}{note}", flush=True)
        passed += good
        failures += bad
    return passed, len(failures), skipped, failures


def main():
    """Prints the failures and the closing line."""
    passed, failed, skipped, failures = run()
    for failure in failures:
        print("FAIL", failure)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
