"""Fuzzes a connection's input: the requests that come out are the same however
the octets are cut, and wherever they move to."""

from flare.http.h1.request_parser import RequestParser
from fuzz.engine import Target, cut_points, fuzz_main
from tests.support.request_log import drain_into


@fieldwise_init
struct RequestTarget(Target):
    """Split invariance of heads, bodies, chunks and pipelines."""

    def seeds(self) -> List[String]:
        """Lists streams of requests."""
        return [
            "GET /a?b=c HTTP/1.1\r\nHost: h\r\nX: y\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.0\r\n\r\n",
            "PUT /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nT: u\r\n\r\n",
            'PUT /d HTTP/1.1\r\nHost: [::1]:80\r\nTransfer-Encoding: , chunked\r\n\r\n1 ; a = "b\\"" ; c\r\nx\r\n0\r\n\r\n',
            "OPTIONS http://h%41:8080 HTTP/1.1\r\nHost:\r\n\r\n",
            "OPTIONS * HTTP/1.1\r\nHost: h\r\nConnection: close\r\nExpect: 100-continue\r\n\r\n",
        ]

    def tokens(self) -> List[String]:
        """Lists what framing is made of."""
        return [
            "\r\n",
            "\r\n\r\n",
            "Host: h\r\n",
            "Content-Length: ",
            "0\r\n\r\n",
            "Transfer-Encoding: chunked\r\n",
            " HTTP/1.1\r\n",
            "http://h/",
            ":",
            "GET ",
            "CONNECT h:1",
            "Host: [::1]:80\r\n",
            "%",
            '="',
            "\\",
            "Expect: ",
            "\t",
            "1\r\na\r\n",
            ";",
            "Connection: ",
        ]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Compares the whole with the pieces."""
        var whole = RequestParser(16)
        whole.input.append(input)
        var expected = String()
        drain_into(whole, expected)
        var first = RequestParser(16)
        var second = RequestParser(16)
        var found = String()
        var start = 0
        for end in cut_points(input):
            first.input.append(input[start:end])
            drain_into(first, found)
            if found.endswith(">"):
                break
            second.take_over(first)
            swap(first, second)
            start = end
        if found != expected:
            raise Error("whole: ", expected, " in pieces: ", found)


def main() raises:
    """Runs the target."""
    fuzz_main("request_parser", RequestTarget())
