"""Fuzzes a server's connection over HTTP/2, plain and with TLS: whatever streams a
client opens, resets or keeps shut, in whatever portions it sends and reads, each
request that is complete is answered once, and all room is given back."""

from flare.http.server.config import ServerConfig
from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr
from flare.tls.config import TlsConfig, TlsServerConfig
from flare.tls.context import TlsClientContext, TlsServerContext
from flare.tls.session import TlsSession
from fuzz.engine import Target, fuzz_main, octets_from_hex
from tests.support.certificates import certificate
from tests.support.client_wire import ClientWire
from tests.support.scripted_streams import ScriptedStreams
from tests.support.served_connection import Ends, ServedConnection
from tests.support.stream_service import StreamService
from tests.support.tls_pair import ReturningClient

comptime _OPERATION_COUNT_MAX = 60
comptime _STREAM_COUNT_MAX = 8
comptime _Client = ScriptedStreams


def open(mut client: _Client, kind: Int, size: Int) raises:
    """Begins a request of some kind."""
    if kind == 0:
        client.open("GET", String("/", size), size)
    elif kind == 1:
        client.open("GET", String("/pieces/", size), size)
    elif kind == 2:
        client.open("GET", String("/blocking/", size), size)
    elif kind == 3:
        client.open("POST", "/", size)
    elif kind == 4:
        client.open("POST", "/blocking/", size)
    elif kind == 5:
        client.open("POST", String("/early/", size), size)
    else:
        client.open("CONNECT", "/ws", 0)


def break_rules(mut client: _Client, kind: Int, input: Span[UInt8, _]) raises:
    """Does what an honest client does not: says what the input says, or lets
    time pass."""
    if kind == 0:
        client.is_honest = False
        client.wire.out.append(input)
    elif kind == 1:
        client.is_patient = False
        client.wire.served.pass_time(len(input) * len(input) * 100)
    else:
        client.leave()


struct StreamsTarget(Target):
    """No request is lost or answered twice, and no slot, window or memory."""

    var listener: RawSocket
    """Where clients connect."""
    var context: TlsServerContext
    """Makes servers."""
    var returning: ReturningClient
    """Makes clients."""

    def __init__(out self) raises:
        """Listens and reads certificates."""
        self.listener = RawSocket.listen_tcp(SocketAddr.localhost(0))
        self.context = TlsServerContext(
            TlsServerConfig(
                certificate("good_chain.pem"),
                certificate("good.key"),
                alpn=["h2"],
            )
        )
        var trust = TlsConfig(ca_file=certificate("root.pem"), alpn=["h2"])
        self.returning = ReturningClient(
            TlsClientContext(trust), self.context.copy()
        )

    def seeds(self) -> List[String]:
        """Lists scripts: a first octet says plain or TLS, the kernel's buffers,
        the window, the handler threads, whether requests wait for responses,
        whether TCP is between, and how hands are shaken; then pairs of an
        operation and its argument, all of which `follow` knows."""
        return [
            octets_from_hex("00 02ff 03ff 04ff 0010 0c20 0104 02ff 03ff 04ff"),
            octets_from_hex("14 02ff 03ff 04ff 1820 0110 0500 2420 2408 01ff"),
            octets_from_hex("13 02ff 03ff 04ff 02ff 03ff 04ff 0010 30ff 4805"),
            octets_from_hex("08 02ff 03ff 04ff 1810 2420 02ff 0600 0601 09ff"),
            octets_from_hex("04 02ff 03ff 04ff 4800 4810 2700 6f00 2701 0801"),
            octets_from_hex("00 02ff 03ff 04ff 3c40 02ff 0301 04ff 03ff 04ff"),
            octets_from_hex("00 02ff 03ff 04ff 0018 02ff 03ff 0b08 0000 0000"),
            octets_from_hex("08 02ff 03ff 04ff 24ff 01ff 02ff 1710 17ff 0900"),
            octets_from_hex("04 02ff 03ff 04ff 0080 0a10 1680 22ff 2e09 2300"),
            octets_from_hex("00 02ff 03ff 04ff 4810 0720 f100 0600 02ff 03ff"),
            octets_from_hex("1c 02ff 03ff 04ff 0080 1860 0080 1670 02ff 03ff"),
            octets_from_hex("00 02ff 03ff 04ff 4810 02ff 03ff 0740 f100 f100"),
            octets_from_hex("e3 02ff 03ff 04ff 02ff 03ff 04ff 0010 30ff 4805"),
        ]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Follows the script, finishes, asks once more, and hangs up."""
        if len(input) == 0:
            return
        var client = self._client(Int(input[0]))
        var last = min(len(input), 2 * _OPERATION_COUNT_MAX)
        for index in range(1, last - 1, 2):
            follow(client, input[index:last])
            if client.has_ended:
                break
        client.finish()
        if client.is_honest and client.is_patient and not client.has_left:
            # As many as there may be: no slot is lost.
            for _ in range(_STREAM_COUNT_MAX):
                client.open("GET", "/5", 5)
            client.finish()
        client.vanish()

    def _client(mut self, options: Int) raises -> _Client:
        var tls: Optional[TlsServerContext] = None
        var session: Optional[TlsSession] = None
        if options & 1 == 1:
            tls = self.context.copy()
            session = self.returning.session(is_new=options >= 0xC0)
        var config = ServerConfig(handler_threads=(options >> 3) & 1)
        config.logs_errors = False
        config.http2_limits.max_streams = _STREAM_COUNT_MAX
        config.http2_limits.connection_window_size = 65_535
        if options & 16 == 16:
            # Requests wait for responses.
            config.http2_limits.max_pending_response_size = 5_000
        var buffer_len = 4_096 if options & 2 == 2 else 0
        var window = 300 if options & 4 == 4 else 65_535
        var ends = Ends(buffer_len)
        if options & 32 == 32:
            ends = Ends(self.listener, buffer_len)
        return _Client(
            ClientWire(
                ServedConnection(ends^, StreamService(), tls, config^),
                session^,
            ),
            window,
        )


def follow(mut client: _Client, input: Span[UInt8, _]) raises:
    """Does one operation: the first octet says which, the second how much."""
    var kind = Int(input[0]) // 12
    var argument = Int(input[1])
    var size = argument * argument
    var operation = Int(input[0]) % 12
    var index = argument % max(1, len(client.streams))
    if operation == 0:
        open(client, kind % 7, size)
    elif operation == 1:
        client.upload(index, kind * kind * 8 + 1)
    elif operation == 2:
        client.wire.seal(size)
    elif operation == 3:
        client.wire.send(size)
    elif operation == 4:
        client.read(size + 1)
    elif operation == 5:
        client.take(index)
    elif operation == 6:
        client.reset(index)
    elif operation == 7:
        client.say(index, size, closes=kind == 9)
    elif operation == 8:
        client.end(index)
    elif operation == 9:
        _ = client.wire.served.run_job()
    elif operation == 10 and kind % 3 == 0:
        client.set_window(size)
    elif operation == 10 and kind % 3 == 1:
        client.prioritize(index, argument)
    elif operation == 10:
        client.ask()
    else:
        break_rules(client, kind % 3, input[1 : 1 + argument % len(input)])


def main() raises:
    """Runs the target."""
    fuzz_main("connection_http2", StreamsTarget())
