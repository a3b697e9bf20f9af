"""Fuzzes a client connection's input, read strictly and leniently: the responses
that come out are the same however the octets are cut, and leniency changes
nothing of what strictness accepts."""

from flare.http.message.method import Method
from fuzz.engine import Target, cut_points, fuzz_main
from tests.support.response_log import ResponseLog


@fieldwise_init
struct ResponseTarget(Target):
    """Split invariance of heads, interim responses, bodies and chunks."""

    def seeds(self) -> List[String]:
        """Lists streams of responses."""
        return [
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 204 No\r\n\r\n",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 404 Not Found\r\nA: b\r\n\r\nrest",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nT: u\r\n\r\n",
            "HTTP/1.1 304 \r\nConnection: close\r\n\r\n",
            "HTTP/1.1 200 OK\nA: b\n c\r\n\td\nContent-Length: 1, 1\n\na",
            "HTTP/1.1 200\nTransfer-Encoding: chunked\n\n \t3 \r\nabc\r\n0\t\r\n\r\n",
        ]

    def tokens(self) -> List[String]:
        """Lists what framing is made of."""
        return [
            "\r\n",
            "\r\n\r\n",
            "\n",
            "\r\n ",
            " ",
            "HTTP/1.1 ",
            "HTTP/1.0 ",
            "100",
            "101",
            "204",
            "Content-Length: ",
            "Transfer-Encoding: chunked\r\n",
            "Connection: keep-alive\r\n",
            "0\r\n\r\n",
            "1\r\na\r\n",
            ";",
            ":",
            "\t",
        ]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Compares the whole with the pieces."""
        if len(input) == 0:
            return
        # The last octet chooses what was asked.
        var method = (
            Method.HEAD if input[len(input) - 1] % 8 == 0 else Method.GET
        )
        var strict = _read(input, method, True)
        var lenient = _read(input, method, False)
        if "<" not in strict and strict != lenient:
            raise Error("strict: ", strict, " lenient: ", lenient)


def _read(
    input: Span[UInt8, _], method: Method, is_strict: Bool
) raises -> String:
    """Reads the whole and the pieces, which must be the same."""
    var whole = ResponseLog(method, is_strict=is_strict)
    whole.is_single = True
    whole.feed(input)
    whole.close()
    var pieces = ResponseLog(method, is_strict=is_strict)
    pieces.is_single = True
    var start = 0
    for end in cut_points(input):
        pieces.feed(input[start:end])
        start = end
    pieces.close()
    if pieces.text != whole.text:
        raise Error("whole: ", whole.text, " in pieces: ", pieces.text)
    return whole.text


def main() raises:
    """Runs the target."""
    fuzz_main("response", ResponseTarget())
