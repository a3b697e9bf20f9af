"""Fuzzes content that is taken while it arrives: requests come out as if it
were waited for, so the next request starts at the same octet."""

from flare.http.h1.request_parser import RequestParser
from fuzz.engine import Target, cut_points, fuzz_main
from tests.support.request_log import drain_into
from tests.support.body_log import StreamingSide


@fieldwise_init
struct BodyTarget(Target):
    """Streamed and whole content agree."""

    def seeds(self) -> List[String]:
        """Lists streams of requests with content."""
        return [
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.0\r\n\r\n",
            "PUT /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nT: u\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n",
        ]

    def tokens(self) -> List[String]:
        """Lists what framing is made of."""
        return [
            "\r\n",
            "\r\n\r\n",
            "Content-Length: ",
            "0\r\n\r\n",
            "Transfer-Encoding: chunked\r\n",
            "POST / HTTP/1.1\r\nHost: h\r\n",
            "1\r\na\r\n",
            "40\r\n",
            ";",
        ]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Compares both ways."""
        var whole = RequestParser(16)
        whole.input.append(input)
        var expected = String()
        drain_into(whole, expected)
        var side = StreamingSide()
        var start = 0
        for end in cut_points(input):
            side.receive(input[start:end])
            start = end
        if side.log != expected:
            raise Error("whole: ", expected, " streamed: ", side.log)


def main() raises:
    """Runs the target."""
    fuzz_main("body_decoder", BodyTarget())
