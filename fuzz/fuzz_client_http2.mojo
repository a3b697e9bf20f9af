"""Fuzzes a client's exchange over HTTP/2: whatever frames a server sends, and
however they are cut, it ends the same way, does not hang, and gives back all
the room that content has taken."""

from flare.http.client.exchange.attempt import Attempt, Step
from flare.http.client.message.config import ClientConfig
from flare.http.client.connect.error import ClientError
from flare.http.client.exchange.http2_exchange import Http2Exchange
from flare.http.client.exchange.http2_link import (
    CONNECTION_WINDOW_LEN,
    Http2Link,
)
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
from std.memory import ArcPointer, OwnedPointer

comptime SETTINGS = "000000040000000000"
"""The first frame of a server."""
comptime ACK = "000000040100000000"
"""The acknowledgement of the client's."""
comptime DECODED_LEN_MAX = 50_000
"""Most that may come out of coded content, in bytes."""


struct Http2ClientTarget(Target):
    """Split invariance, an end in any case, no room lost."""

    var config: ClientConfig
    """The client's configuration."""
    var listener: UnixListener
    """Where the connections come from."""
    var scratch: List[UInt8]
    """Room for what the client sends, which nobody looks at."""

    def __init__(out self) raises:
        """Listens."""
        self.config = ClientConfig()
        self.config.max_decoded_size = DECODED_LEN_MAX
        var name = String("@flare-fuzz-client-http2-", monotonic_ns())
        self.listener = UnixListener.bind(UnixAddr(name))
        self.scratch = List[UInt8](length=65_536, fill=0)

    def seeds(self) -> List[String]:
        """Lists what servers send behind SETTINGS."""
        return [
            # 200 with content and trailers.
            octets_from_hex(
                ACK
                + "00000101040000000188"
                + "00000500000000000168656c6c6f"
                + "000005010500000001"
                + "0001610162"
            ),
            # 103, then 302 with location and no content.
            octets_from_hex(
                "0000050104000000010803313033"
                + "00000601050000000108033330320f1f012f"
            ),
            # 204; RST_STREAM; GOAWAY; PING; WINDOW_UPDATE.
            octets_from_hex("00000101050000000189"),
            octets_from_hex("00000403000000000100000008"),
            octets_from_hex("0000080700000000000000000000000000"),
            octets_from_hex(
                "0000080600000000000102030405060708"
                + "00000408000000000000010000"
                + "00000101040000000188"
                + "0000020001000000016f6b"
            ),
            # Padded content in two pieces, of the announced length.
            octets_from_hex(
                "000005010400000001880f0d0132"
                + "0000040008000000010261"
                + "0000"
                + "00000100010000000162"
            ),
            # A field block in two frames.
            octets_from_hex("00000001000000000100000109050000000188"),
        ]

    def tokens(self) -> List[String]:
        """Lists frames that decide."""
        return [
            octets_from_hex("00000101040000000188"),
            octets_from_hex("00000101050000000188"),
            octets_from_hex("00000100010000000161"),
            octets_from_hex("00000403000000000100000007"),
            octets_from_hex("0000040300000000010000000d"),
            octets_from_hex("0000080700000000000000000100000000"),
            octets_from_hex(ACK),
            octets_from_hex("000006040000000000000300000000"),
            octets_from_hex("00000c0400000000000004000000000001000000"),
            octets_from_hex("00000408000000000100000001"),
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
        var link = ArcPointer(Http2Link(connection^, self.config))
        # The last octet chooses what was asked.
        var kind = 0 if len(input) == 0 else Int(input[len(input) - 1]) % 3
        var method = "GET"
        if kind > 0:
            method = "PUT" if kind == 1 else "HEAD"
        var request = ClientRequest(method, "http://a.test/b?c")
        if kind == 1:
            request.body = String("{}")
        try:
            return _exchange(
                link, far, request^, input, cuts, self.config, self.scratch
            )
        except error:
            if not link[].failure and _has_lost_room(link[]):
                return "violation: room of the connection is lost"
            # What was met first depends on the cuts; that it failed does not.
            return "failed"


def _exchange(
    link: ArcPointer[Http2Link],
    mut far: RawSocket,
    var request: ClientRequest,
    input: Span[UInt8, _],
    cuts: List[Int],
    config: ClientConfig,
    mut scratch: List[UInt8],
) raises ClientError -> String:
    """Runs one exchange; says how it has ended."""
    var url = parse_request_url(request.url)
    var call = PreparedRequest(request^, url^, Upload(), config)
    var attempt = Attempt()
    var exchange = Http2Exchange(link, -1)
    if not exchange.open(attempt, call, config):
        return "violation: it would wait for a stream on a new connection"
    var builder = ResponseBuilder(call.url.copy(), 0)
    _ = far.send(octets_from_hex(SETTINGS).as_bytes())
    var start = 0
    var is_over = False
    try:
        for end in cuts:
            if not is_over:
                _ = far.send(input[start:end])
                is_over = _go_on(
                    exchange, far, attempt, call, builder, config, scratch
                )
            start = end
        far.close()
        if not is_over:
            is_over = _go_on(
                exchange, far, attempt, call, builder, config, scratch
            )
    except error:
        exchange.end()
        raise error^
    exchange.end()
    if not is_over:
        return "violation: it would wait for a server that is gone"
    if not link[].failure and _has_lost_room(link[]):
        return "violation: room of the connection is lost"
    ref response = builder.response
    var text = String(response.status, len(response.body))
    text.write(response.headers, response.trailers)
    return text^


def _has_lost_room(link: Http2Link) -> Bool:
    """Looks for content that was counted and not given back."""
    ref state = link.session.state
    return not link.session.content.is_in_frame() and (
        state.receive_window + state.owed_len != CONNECTION_WINDOW_LEN
    )


def _go_on(
    mut exchange: Http2Exchange,
    mut far: RawSocket,
    mut attempt: Attempt,
    mut call: PreparedRequest,
    mut builder: ResponseBuilder,
    config: ClientConfig,
    mut scratch: List[UInt8],
) raises ClientError -> Bool:
    """Drives the exchange until it has to wait; True if it is over."""
    exchange.link[].flush()
    if far.is_open():
        _ = far.receive(Span(scratch))
    exchange.link[].pump()
    while True:
        var step = exchange.step(attempt)
        if step == Step.WAIT:
            return False
        if exchange.apply(step, attempt, call, builder, config):
            return True


def main() raises:
    """Runs the target."""
    fuzz_main("client_http2", Http2ClientTarget())
