"""Answers generated inputs: `differential_tool SUBJECT` reads cases on standard
input, each behind its length (four octets, big-endian), and prints a line for
each, in the form that the other judges print, too."""

from std.sys import argv
from tests.differential.answer_cache import answer_cache
from tests.differential.answer_fields import (
    answer_cookie,
    answer_date,
    answer_set_cookie,
)
from tests.differential.answer_http1 import answer_requests, answer_response
from tests.differential.answer_http2 import answer_blocks, answer_frames
from tests.differential.answer_json import answer_json
from tests.differential.answer_multipart import answer_multipart
from tests.differential.answer_protobuf import answer_protobuf
from tests.differential.answer_url import answer_url


def _answer(subject: StringSpan, input: Span[UInt8, _]) raises -> String:
    if subject == "request":
        return answer_requests(input)
    if subject == "response":
        return answer_response(input, False)
    if subject == "response-strict":
        return answer_response(input, True)
    if subject == "hpack":
        return answer_blocks(input)
    if subject == "http2":
        return answer_frames(input)
    if subject == "url":
        return answer_url(input)
    if subject == "json":
        return answer_json(input)
    if subject == "set-cookie":
        return answer_set_cookie(input)
    if subject == "cookie":
        return answer_cookie(input)
    if subject == "date":
        return answer_date(input)
    if subject == "multipart":
        return answer_multipart(input)
    if subject == "cache":
        return answer_cache(input)
    if subject == "protobuf":
        return answer_protobuf(input, False)
    if subject == "protobuf-json":
        return answer_protobuf(input, True)
    raise Error("unknown subject: ", subject)


def main() raises:
    """Answers all cases of the subject that the command line names."""
    if len(argv()) != 2:
        raise Error("usage: differential_tool SUBJECT")
    var cases: List[UInt8]
    with open("/dev/stdin", "r") as file:
        cases = file.read_bytes()
    var start = 0
    while start + 4 <= len(cases):
        var length = 0
        for index in range(start, start + 4):
            length = length * 256 + Int(cases[index])
        start += 4
        print(_answer(argv()[1], Span(cases)[start : start + length]))
        start += length
