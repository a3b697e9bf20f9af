"""Requests and responses of HTTP/1.1, as the pure cores read them."""

from flare.http.h1.error import Rule
from flare.http.h1.field_section import HeadLimits
from flare.http.h1.framing import IS_CHUNKED
from flare.http.h1.request_parser import Progress, RequestParser
from flare.http.h1.response_parser import ResponseParser, ResponseProgress
from flare.http.message.method import Method
from flare.http.message.request import PathParams
from flare.net.socket_addr import SocketAddr
from tests.differential.quoted import quoted, quoted_fields

comptime _BODY_LEN_MAX = 1 << 20
comptime _LIMITS = HeadLimits(8192, 8192, 100)


def answer_requests(input: Span[UInt8, _]) -> String:
    """Reads all requests of a connection that its client then closes.

    Args:
        input: The octets.

    Returns:
        `M method target version keeps-alive fields content trailers` for each;
        then `E end`, `E partial`, or `E refuse:` and the number of the rule.
    """
    var parser = RequestParser(256)
    parser.input.append(input)
    var answer = String()
    while True:
        try:
            var progress = parser.advance(materialize[_LIMITS]())
            if progress == Progress.HEAD_READY:
                parser.body.max_body_size = _BODY_LEN_MAX
                continue
            if progress == Progress.NEEDS_OCTETS:
                break
        except error:
            answer.write("E refuse:", error.rule.number)
            return answer^
        _describe_request(parser, answer)
        ref head = parser.head
        if not head.framing.keeps_alive(head.minor_version):
            answer.write("E end")
            return answer^
        parser.finish()
    answer.write("E end" if _is_blank(parser.input.span()) else "E partial")
    return answer^


def _is_blank(octets: Span[UInt8, _]) -> Bool:
    for octet in octets:
        if octet != 13 and octet != 10:
            return False
    return True


def _describe_request(parser: RequestParser, mut answer: String):
    var params = PathParams()
    var request = parser.unsafe_request[ImmUntrackedOrigin](
        SocketAddr.any(0),
        Pointer(to=params).unsafe_origin_cast[MutUntrackedOrigin](),
    )
    ref head = parser.head
    answer.write("M ", quoted(request.method_name.as_bytes()), " ")
    answer.write(quoted(request.url.as_bytes()), " 1.", head.minor_version)
    var is_kept = head.framing.keeps_alive(head.minor_version)
    answer.write(" keep " if is_kept else " close ")
    answer.write(quoted_fields(request.headers), " ")
    answer.write(quoted(request.body), " ")
    answer.write(quoted_fields(request.trailers), " ")
    _ = params^


def answer_response(input: Span[UInt8, _], is_strict: Bool) -> String:
    """Reads one response of a connection that its server then closes.

    Args:
        input: `G`, `H` or `C`, for the method that is answered (GET, HEAD,
            CONNECT), and the octets.
        is_strict: False to read what is irregular but clear.

    Returns:
        `I status` for each interim response; `M status version keeps-alive
        fields content trailers`; then as for requests. Octets behind the
        response count for nothing.
    """
    var method = "GET"
    if len(input) > 0 and input[0] == 72:
        method = "HEAD"
    elif len(input) > 0 and input[0] == 67:
        method = "CONNECT"
    var parser = ResponseParser(256)
    var answer = String()
    try:
        parser.begin(Method(method), is_strict=is_strict)
        parser.body.max_body_size = _BODY_LEN_MAX
        parser.end_request()
        parser.input.append(input[1:] if len(input) > 0 else input)
        if len(parser.input) == 0:
            return "E end"
        var content = List[UInt8]()
        var head = String()
        while True:
            var progress = parser.advance(materialize[_LIMITS]())
            if progress == ResponseProgress.NEEDS_OCTETS:
                parser.close_input()
            elif progress == ResponseProgress.INTERIM:
                answer.write("I ", parser.head.status, " ")
            elif progress == ResponseProgress.HEAD_READY:
                head = _response_head(parser)
            elif progress == ResponseProgress.CONTENT:
                content.extend(parser.content())
            else:
                break
        answer.write(head, quoted(content), " ")
        answer.write(quoted_fields(parser.trailers()), " E end")
    except error:
        var is_cut = (
            error.rule == materialize[Rule.TRUNCATED_HEAD]()
            or error.rule == materialize[Rule.TRUNCATED_CONTENT]()
        )
        if is_cut:
            answer.write("E partial")
        else:
            answer.write("E refuse:", error.rule.number)
    return answer^


def _response_head(parser: ResponseParser) -> String:
    ref framing = parser.head.framing
    var is_bounded = parser.content_len() >= 0 or framing.has(IS_CHUNKED)
    var is_kept = (
        framing.keeps_alive(parser.head.minor_version)
        and is_bounded
        and not parser.is_other_protocol()
    )
    var words = String("M ", parser.head.status, " 1.")
    words.write(parser.head.minor_version)
    words.write(" keep " if is_kept else " close ")
    words.write(quoted_fields(parser.fields()), " ")
    return words^
