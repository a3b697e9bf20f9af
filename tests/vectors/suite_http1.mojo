"""The http1 suite: requests and responses through the pure cores."""

from flare.http.h1.request_parser import RequestParser, Progress
from flare.http.h1.field_section import HeadLimits
from flare.http.h1.response_parser import ResponseParser, ResponseProgress
from tests.vectors.hex_text import octets_of

comptime _BODY_LEN_MAX = 1 << 30


def run_http1(line: StringSpan) raises -> String:
    """Parses one connection's octets.

    Args:
        line: `request HEX`; or `response HEX`, or `head HEX` for a response
            of which only the head counts.

    Returns:
        `accept`, `reject` or `incomplete`; the count of complete requests; for
        a rejection the status and the rule.
    """
    var words = line.split(" ")
    if len(words) != 2:
        raise Error("not two words: ", line)
    var octets = octets_of(words[1])
    if words[0] == "request":
        return _run_requests(octets)
    return _run_responses(octets, words[0] == "head")


def _run_requests(octets: Span[UInt8, _]) -> String:
    var parser = RequestParser(256)
    parser.input.append(octets)
    var count = 0
    while True:
        try:
            var progress = parser.advance(HeadLimits(8192, 8192, 100))
            if progress == Progress.HEAD_READY:
                parser.body.max_body_size = _BODY_LEN_MAX
                continue
            if progress == Progress.NEEDS_OCTETS:
                break
        except error:
            return String("reject ", count, " ", error.status(), " ", error)
        count += 1
        parser.finish()
    if parser.is_idle():
        return String("accept ", count)
    return String("incomplete ", count)


def _run_responses(octets: Span[UInt8, _], is_head: Bool) -> String:
    var start = 0
    var count = 0
    # Octets behind a response spoil its connection, so each of a row gets one
    # of its own.
    while start < len(octets):
        var parser = ResponseParser(256)
        var verdict: String
        try:
            verdict = _run_response(parser, octets[start:], is_head)
        except error:
            return String("reject ", count, " ", error)
        if verdict != "accept":
            return String(verdict, " ", count)
        count += 1
        start = len(octets) - parser.leftover_len()
        if is_head or parser.is_other_protocol():
            break
    return String("accept ", count)


def _run_response(
    mut parser: ResponseParser, octets: Span[UInt8, _], is_head: Bool
) raises -> String:
    parser.begin("GET", expects_switching=True)
    parser.body.max_body_size = _BODY_LEN_MAX
    parser.input.append(octets)
    while True:
        var progress = parser.advance(HeadLimits(8192, 8192, 100))
        if progress == ResponseProgress.NEEDS_OCTETS:
            return "incomplete"
        if progress == ResponseProgress.HEAD_READY and is_head:
            return "accept"
        if progress == ResponseProgress.END:
            break
    ref head = parser.head
    if parser.leftover_len() > 0 and not (
        head.framing.keeps_alive(head.minor_version)
        or parser.is_other_protocol()
    ):
        return "reject"
    return "accept"
