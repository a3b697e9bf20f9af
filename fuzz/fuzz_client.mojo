"""Fuzzes a client's exchange with a server: head, content, decoding and
redirection end the same way however the octets are cut, and none of it hangs."""

from flare.http.client.exchange.attempt import Attempt, Step
from flare.http.client.message.config import ClientConfig
from flare.http.client.connect.error import ClientError
from flare.http.client.exchange.exchange import apply_step, begin_attempt
from flare.http.client.connect.connection import ClientConnection, Endpoint
from flare.http.client.exchange.prepared_request import PreparedRequest, Upload
from flare.http.client.message.request import ClientRequest, parse_request_url
from flare.http.client.message.response import ResponseBuilder
from flare.http.client.connect.transport import Transport
from flare.net.raw_socket import RawSocket
from flare.sys.clock import monotonic_ns
from flare.unix.stream import UnixListener, UnixStream
from flare.unix.unix_addr import UnixAddr
from fuzz.engine import Target, cut_points, fuzz_main, octets_from_hex
from std.memory import OwnedPointer

comptime GZIP = "485454502f312e3120323030204f4b0d0a436f6e74656e742d456e636f64696e673a20677a69700d0a436f6e74656e742d4c656e6774683a2033300d0a0d0a1f8b0800000000000203cb48cdc9c957c81825892001c14842592c010000"
"""A response with gzip content."""
comptime BOMB = "485454502f312e3120323030204f4b0d0a436f6e74656e742d456e636f64696e673a206465666c6174650d0a5472616e736665722d456e636f64696e673a206368756e6b65640d0a0d0a37380d0a789cedc13101000000c2a0f54f6d0d0fa000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000080570386af00010d0a300d0a0d0a"
"""A response whose chunks hold 100,000 octets."""
comptime DECODED_LEN_MAX = 50_000
"""Most that may come out of it, in bytes."""


struct ClientTarget(Target):
    """Split invariance, an end in any case, bounded content."""

    var config: ClientConfig
    """The client's configuration."""
    var listener: UnixListener
    """Where the connections come from."""

    def __init__(out self) raises:
        """Listens."""
        self.config = ClientConfig()
        self.config.max_decoded_size = DECODED_LEN_MAX
        var name = String("@flare-fuzz-client-", monotonic_ns())
        self.listener = UnixListener.bind(UnixAddr(name))

    def seeds(self) -> List[String]:
        """Lists what servers send."""
        return [
            octets_from_hex(GZIP),
            octets_from_hex(BOMB),
            "HTTP/1.1 302 Found\r\nLocation: //b.test/c?d\r\nContent-Length: 3\r\n\r\nold",
            "HTTP/1.1 307 x\r\nLocation: ../up#part\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "HTTP/1.1 301 x\r\nLocation: file:///etc/passwd\r\nConnection: close\r\n\r\n",
            "HTTP/1.1 103 Early\r\nA: b\r\n\r\nHTTP/1.0 200 OK\r\nSet-Cookie: a=b\r\n\r\nrest",
        ]

    def tokens(self) -> List[String]:
        """Lists what decides on the way of a response."""
        return [
            "\r\n",
            "\r\n\r\n",
            "HTTP/1.1 ",
            "Location: ",
            "http://",
            "@",
            "Content-Encoding: deflate\r\n",
            "Content-Encoding: br, gzip\r\n",
            "Content-Length: ",
            "Transfer-Encoding: chunked\r\n",
            "308",
            "303",
            "204",
            "1\r\na\r\n",
            "0\r\n\r\n",
        ]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Compares the whole with the pieces."""
        var whole = self._outcome(input, [len(input)])
        var cuts = cut_points(input)
        cuts.append(len(input))
        var pieces = self._outcome(input, cuts)
        if pieces != whole:
            raise Error("whole: ", whole, " in pieces: ", pieces)
        if whole.startswith("violation: "):
            raise Error(whole)

    def _outcome(
        mut self, input: Span[UInt8, _], cuts: List[Int]
    ) raises -> String:
        var near = UnixStream.connect(self.listener.local_addr())
        var far = self.listener.accept().take_socket()
        var connection = OwnedPointer(
            ClientConnection(
                Transport(near^.take_socket()), Endpoint("a.test", 80)
            )
        )
        # The last octet chooses what was asked.
        var is_put = len(input) > 0 and input[len(input) - 1] % 4 == 0
        var request = ClientRequest(
            "PUT" if is_put else "GET", "http://a.test/b?c"
        )
        request.set_header("Authorization", "secret")
        if is_put:
            request.body = String("{}")
        try:
            var text = _exchange(
                connection, far, request^, input, cuts, self.config
            )
            return text^
        except error:
            var rule = error.rule.__bool__()
            return String(error.phase, " ", error.kind, " ", rule)


def _exchange(
    mut connection: OwnedPointer[ClientConnection],
    mut far: RawSocket,
    var request: ClientRequest,
    input: Span[UInt8, _],
    cuts: List[Int],
    config: ClientConfig,
) raises ClientError -> String:
    """Runs one exchange; says how it has ended."""
    var url = parse_request_url(request.url)
    var call = PreparedRequest(request^, url^, Upload(), config)
    var attempt = Attempt()
    begin_attempt(attempt, call, config)
    var builder = ResponseBuilder(call.url.copy(), 0)
    var is_over = _go_on(attempt, connection, call, builder, config)
    var scratch = List[UInt8](length=4_096, fill=0)
    _ = far.receive(Span(scratch))
    var start = 0
    for end in cuts:
        if not is_over:
            _ = far.send(input[start:end])
            is_over = _go_on(attempt, connection, call, builder, config)
        start = end
    far.close()
    if not is_over:
        is_over = _go_on(attempt, connection, call, builder, config)
    if not is_over:
        return "violation: it would wait for a server that is gone"
    ref response = builder.response
    var text = String(response.status, response.reason, len(response.body))
    text.write(response.headers, response.trailers)
    if call.will_follow(response.status, response.headers):
        call.follow(response, config, 0)
        var has_secret = "authorization" in call.headers
        text.write(call.method, call.url, has_secret, len(call.body.content))
        if has_secret and call.endpoint.host != "a.test":
            return "violation: the credentials went to another host"
    if len(response.body) > DECODED_LEN_MAX and (
        "content-encoding" in response.headers
    ):
        return "violation: too much came out of the content"
    return text^


def _go_on(
    mut attempt: Attempt,
    mut connection: OwnedPointer[ClientConnection],
    mut call: PreparedRequest,
    mut builder: ResponseBuilder,
    config: ClientConfig,
) raises ClientError -> Bool:
    """Drives the attempt until it has to wait; True if it is over."""
    while True:
        var step = attempt.step(connection, config.head_limits)
        if step == Step.WAIT:
            if not attempt.receive(connection):
                return False
        elif apply_step(step, attempt, call, builder, config):
            return True


def main() raises:
    """Runs the target."""
    fuzz_main("client", ClientTarget())
