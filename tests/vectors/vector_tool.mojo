"""Answers public test vectors: `vector_tool SUITE` reads one case a line on
standard input and prints one line for each."""

from std.sys import argv
from tests.vectors.suite_cookie import run_cookie
from tests.vectors.suite_date import run_date
from tests.vectors.suite_http1 import run_http1
from tests.vectors.suite_idna import run_idna
from tests.vectors.suite_ip import run_ip
from tests.vectors.suite_json import run_json
from tests.vectors.suite_multipart import run_multipart
from tests.vectors.suite_range import run_range
from tests.vectors.suite_url import run_url


def _run(suite: StringSpan, line: StringSpan) raises -> String:
    if suite == "cookie":
        return run_cookie(line)
    if suite == "date":
        return run_date(line)
    if suite == "http1":
        return run_http1(line)
    if suite == "idna":
        return run_idna(line)
    if suite == "ip":
        return run_ip(line)
    if suite == "json":
        return run_json(line)
    if suite == "multipart":
        return run_multipart(line)
    if suite == "range":
        return run_range(line)
    if suite == "url":
        return run_url(line)
    raise Error("unknown suite: ", suite)


def main() raises:
    """Runs the suite that the command line names."""
    if len(argv()) != 2:
        raise Error("usage: vector_tool SUITE")
    var cases: String
    with open("/dev/stdin", "r") as file:
        cases = file.read()
    for line in cases.splitlines():
        print(_run(argv()[1], line))
