#!/usr/bin/env python3
"""Runs the public test vectors against vector_tool and prints the scores."""

import json
import subprocess
import sys
from pathlib import Path

# tools/test.py loads this file by its path, which puts no folder on this one.
sys.path.insert(0, str(Path(__file__).resolve().parent))
import idna_rows

ROOT = Path(__file__).resolve().parents[2]
VECTORS = ROOT.parent / "shared" / "vectors"
TOOL = ROOT / "build" / "vector_tool"
SOURCE = ROOT / "tests" / "vectors" / "vector_tool.mojo"
IDNA_FILES = [
    VECTORS / "IdnaTestV2.txt",
    ROOT / "build" / "unicode" / "IdnaTestV2.txt",
]


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


# Rows of the http1 suite that we refuse, or take, on purpose.
HTTP1_DIFFERENCES = {
    "llhttp/2": "the core hands requests out; the server closes behind the first",
    "llhttp/7": "an empty line behind a body is skipped, what follows is not a request",
    "llhttp/15": "octets behind an Upgrade request belong to HTTP until we answer 101",
    "llhttp/16": "as llhttp/15",
    "llhttp/9": "as llhttp/15",
    "llhttp/14": "as llhttp/15",
    "llhttp/32": "a Content-Length is honoured whatever the parser's user says",
    "llhttp/41": "ANNOUNCE is a token, and handlers may know it (RFC 9110 section 9.1)",
    "llhttp/51": "as llhttp/41, for MKCOLA",
    "llhttp/101": "the last body is one octet short in our framing: CCCC of 5",
    "llhttp/153": "the empty line behind the request may begin the next one",
    "llhttp/57": "a line without an end may still be judged when its end is there",
    "llhttp/73": "a server makes no tunnels: CONNECT is 501 (RFC 9110 section 9.3.6)",
    "llhttp/74": "as llhttp/73",
    "llhttp/159": "as llhttp/73",
    "llhttp/75": "as llhttp/73",
    "llhttp/76": "asterisk-form is for OPTIONS alone (RFC 9112 section 3.2.4)",
    "llhttp/83": "the protocol is HTTP, not ICE",
    "llhttp/84": "the protocol is HTTP, not RTSP",
    "llhttp/85": "the protocol is HTTP, not RTSP",
    "llhttp/86": "asterisk-form is for OPTIONS alone (RFC 9112 section 3.2.4)",
    "llhttp/111": "HTTP/0.9 is not supported",
    "llhttp/139": "codings other than chunked are not implemented (501)",
    "llhttp/140": "codings other than chunked are not implemented",
    "llhttp/158": "a target has no fragment (RFC 9112 section 3.2)",
    "llhttp/160": "userinfo in a target is refused (RFC 9110 section 4.2.4)",
    "picohttpparser/4": "obs-fold is refused (RFC 9112 section 5.2)",
    "picohttpparser/29": "a target is visible ASCII (RFC 9112 section 3.2)",
    "picohttpparser/33": "one space between the parts (RFC 9112 section 3)",
    "llhttp/164": "what follows the 204 is half a response",
    "llhttp/166": "as llhttp/164",
    "llhttp/176": "an empty line behind a response belongs to nothing",
    "llhttp/178": "as llhttp/176",
    "llhttp/216": "as llhttp/176",
    "llhttp/235": "as llhttp/176, before a response",
    "llhttp/177": "the last body lacks the line that ends it",
    "llhttp/179": "its body is one octet short of its Content-Length",
    "llhttp/196": "as llhttp/57",
    "llhttp/222": "the row holds text of the suite behind the response",
    "llhttp/182": "these answer HEAD; the suite does not say so to the parser",
    "llhttp/218": "the protocol is HTTP, not RTSP",
    "llhttp/219": "the protocol is HTTP, not ICE",
    "llhttp/233": "HTTP/0.9 is not supported",
    "llhttp/237": "chunked must be the final coding, in responses too",
    "llhttp/238": "as llhttp/237",
    "llhttp/239": "an unknown coding is refused rather than handed out",
    "picohttpparser/37": "obs-fold is refused, in responses too",
    "picohttpparser/49": "a line ends with CRLF",
    "picohttpparser/62": "one space between the parts (RFC 9112 section 4)",
}


# Rows of the cookie suite that we answer otherwise, on purpose.
COOKIE_DIFFERENCES = {
    "DISABLED_CHROMIUM0022": "a control octet refuses the cookie (RFC 6265bis section 5.6)",
    "DISABLED_CHROMIUM0023": "as DISABLED_CHROMIUM0022",
    "DISABLED_PATH0029": "paths are compared as they are encoded",
}

# The suite is of RFC 6265, by which a cookie without a name is none; RFC 6265bis
# (section 5.6) keeps it. These rows have such a cookie.
COOKIE_DIFFERENCES |= dict.fromkeys(
    [
        "0004", "0021", "0023", "0024", "0025", "0026", "0027", "0028",
        "CHROMIUM0009", "CHROMIUM0010", "CHROMIUM0012",
        "MOZILLA0012", "MOZILLA0013", "MOZILLA0014", "MOZILLA0015", "MOZILLA0016",
        "MOZILLA0017",
        "NAME0017", "NAME0023", "NAME0025", "NAME0028", "NAME0031", "NAME0032",
        "NAME0033",
    ],
    "a cookie without a name is kept (RFC 6265bis section 5.6)",
)  # fmt: skip


# Rows of the multipart suite that we answer otherwise, on purpose.
MULTIPART_DIFFERENCES = {
    "single_field_blocks.http": "its boundary lines lack two of the dashes",
}


def http1_rows(rows):
    """Picks the request rows, and gives those of HTTP/1.1 the Host they lack."""
    picked = []
    for row in rows:
        if row["kind"] != "request" or row.get("strict") is False:
            continue
        octets = bytes.fromhex(row["hex"])
        # The suites test parsers that leave Host to their users.
        if b"\nhost" not in octets.lower():
            octets = octets.replace(
                b" HTTP/1.1\r\n", b" HTTP/1.1\r\nHost: h\r\n"
            )
        picked.append({**row, "line": "request " + (octets.hex() or "-")})
    return picked


def http1_response_rows(rows):
    """Picks the response rows; picohttpparser's are about heads alone."""
    return [
        {
            **row,
            "line": ("head " if row["src"] == "picohttpparser" else "response ")
            + row["hex"],
        }
        for row in rows
        if row["kind"] == "response" and row.get("strict") is not False
    ]


def is_required_http1(row):
    return row["id"] not in HTTP1_DIFFERENCES


# For each suite, which rows have to match; the rest is only counted.
REQUIRED = {
    "cookie": lambda row: row["name"] not in COOKIE_DIFFERENCES,
    "date": lambda row: True,
    "http1": is_required_http1,
    "idna": lambda row: True,
    "ip": lambda row: True,
    "json": lambda row: True,
    "multipart": lambda row: row["name"] not in MULTIPART_DIFFERENCES,
    "range": lambda row: True,
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


def suite_rows(suite):
    """Reads the rows of a suite; an empty list if its file is not here."""
    if suite == "idna":
        found = [path for path in IDNA_FILES if path.exists()]
        return idna_rows.read_rows(found[0].read_text()) if found else []
    path = VECTORS / f"{suite}.jsonl"
    if not path.exists():
        return []
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    if suite == "http1":
        rows = http1_rows(rows) + http1_response_rows(rows)
    return rows


def run():
    """Runs every suite; gives (passed, failed, skipped, failures)."""
    if not any(map(suite_rows, REQUIRED)):
        return 0, 0, len(REQUIRED), []
    build()
    passed = skipped = 0
    failures = []
    for suite in REQUIRED:
        rows = suite_rows(suite)
        if not rows:
            print(f"vectors {suite}: skipped, no file of its rows is here")
            skipped += 1
            continue
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
