"""Fuzzes a server's connection over HTTP/2, plain and with TLS: whatever streams a
client opens, resets or keeps shut, in whatever portions it sends and reads, each
request that is complete is answered once, and all room is given back."""

from flare.http.server.config import ServerConfig
from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr
from flare.tls.config import TlsConfig, TlsServerConfig
from flare.tls.context import TlsClientContext, TlsServerContext
from flare.tls.session import TlsSession
from fuzz.engine import (
    Target,
    behind,
    digest_of,
    fuzz_main,
    octets_from_hex,
)
from tests.support.certificates import certificate
from tests.support.client_wire import ClientWire
from tests.support.scripted_streams import ScriptedStreams
from tests.support.served_connection import Ends, ServedConnection
from tests.support.stream_service import StreamService
from tests.support.tls_pair import ReturningClient

comptime _OPERATION_COUNT_MAX = 60
comptime _STREAM_COUNT_MAX = 8
comptime _Client = ScriptedStreams
comptime _SCRIPT_COUNT_MAX = 12
# Most scripts that are followed on one connection: all together may send no more
# frames of no use than `max_glitches` allows.
comptime _TCP_ONE_IN = 4
comptime _NEW_ONE_IN = 16
# Connections by TCP and whole handshakes, among those that ask for them.
comptime _CURRENT_ONE_IN = 4
# Sessions of TLS 1.3, which cost three times as much as those of 1.2.

comptime _IS_TLS = 1
comptime _IS_SMALL = 2
comptime _IS_SHUT = 4
comptime _HAS_THREAD = 8
comptime _ORDERS = 16
comptime _IS_TCP = 32
comptime _IS_FRESH = 64
comptime _IS_LONG = 128
comptime _WAY = _IS_TLS | _IS_SMALL | _IS_SHUT | _HAS_THREAD | _ORDERS | _IS_TCP
# What makes connections differ.


@fieldwise_init
struct _Idle(Movable):
    """A connection on which all is answered: another script may go on there."""

    var client: _Client
    var way: Int
    """How it is connected and served."""
    var scripts: List[List[UInt8]]
    """What was followed on it."""


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
    var idle: List[_Idle]
    """Each is connected in a way of its own."""

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
        self.idle = []

    def seeds(self) -> List[String]:
        """Lists scripts: a first octet says plain or TLS, the kernel's buffers,
        the window, the handler threads, whether requests wait for responses,
        whether TCP is between, whether the connection is a fresh one, and whether
        contents are long; then pairs of an operation and its argument, all of
        which `follow` knows."""
        return [
            octets_from_hex("00 02ff 03ff 04ff 0010 0c20 0104 02ff 03ff 04ff"),
            octets_from_hex("94 02ff 03ff 04ff 1820 0110 0500 2420 2408 01ff"),
            octets_from_hex("13 02ff 03ff 04ff 02ff 03ff 04ff 0010 30ff 4805"),
            octets_from_hex("08 02ff 03ff 04ff 1810 2420 02ff 0600 0601 09ff"),
            octets_from_hex("04 02ff 03ff 04ff 4800 4810 2700 6f00 2701 0801"),
            octets_from_hex("80 02ff 03ff 04ff 3c40 02ff 0301 04ff 03ff 04ff"),
            octets_from_hex("00 02ff 03ff 04ff 0018 02ff 03ff 0b08 0000 0000"),
            octets_from_hex("08 02ff 03ff 04ff 24ff 01ff 02ff 1710 17ff 0900"),
            octets_from_hex("04 02ff 03ff 04ff 0080 0a10 1680 22ff 2e09 2300"),
            octets_from_hex("40 02ff 03ff 04ff 4810 0720 f100 0600 02ff 03ff"),
            octets_from_hex("1c 02ff 03ff 04ff 0080 1860 0080 1670 02ff 03ff"),
            octets_from_hex("00 02ff 03ff 04ff 4810 02ff 03ff 0740 f100 f100"),
            octets_from_hex("63 02ff 03ff 04ff 02ff 03ff 04ff 0010 30ff 4805"),
            octets_from_hex("03 02ff 03ff 04ff 3c40 02ff 0301 04ff 03ff 04ff"),
        ]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Follows the script, finishes, asks once more, and hangs up, or keeps
        the connection."""
        if len(input) == 0:
            return
        var script = input[: min(len(input), 2 * _OPERATION_COUNT_MAX)]
        var idle = self._take(script)
        try:
            _go_on(idle.client, script)
        except error:
            raise Error(behind(error, idle.scripts))
        idle.scripts.append(List[UInt8](script))
        if idle.client.may_go_on() and len(idle.scripts) < _SCRIPT_COUNT_MAX:
            idle.client.forget()
            self.idle.append(idle^)
        else:
            vanish(idle)

    def _take(mut self, script: Span[UInt8, _]) raises -> _Idle:
        """Takes an idle connection, or makes one."""
        var digest = digest_of(script)
        var way = Int(script[0]) & _WAY
        if digest % _TCP_ONE_IN != 0:
            way &= ~_IS_TCP
        for index in range(len(self.idle)):
            if self.idle[index].way == way:
                var idle = self.idle.pop(index)
                if Int(script[0]) & _IS_FRESH == 0:
                    return idle^
                vanish(idle)
                break
        return _Idle(self._client(script, digest, way), way, [])

    def _client(
        mut self, script: Span[UInt8, _], digest: UInt64, way: Int
    ) raises -> _Client:
        var tls: Optional[TlsServerContext] = None
        var session: Optional[TlsSession] = None
        if way & _IS_TLS != 0:
            tls = self.context.copy()
            session = self.returning.session(
                is_new=Int(script[0]) & _IS_FRESH != 0
                and digest % _NEW_ONE_IN == 0,
                is_older=digest % _CURRENT_ONE_IN != 0,
            )
        var config = ServerConfig(handler_threads=Int(way & _HAS_THREAD != 0))
        config.logs_errors = False
        config.http2_limits.max_streams = _STREAM_COUNT_MAX
        config.http2_limits.connection_window_size = 65_535
        if way & _ORDERS != 0:
            # Requests wait for responses.
            config.http2_limits.max_pending_response_size = 5_000
        var buffer_len = 4_096 if way & _IS_SMALL != 0 else 0
        var window = 300 if way & _IS_SHUT != 0 else 65_535
        var ends = Ends(buffer_len)
        if way & _IS_TCP != 0:
            ends = Ends(self.listener, buffer_len)
        return _Client(
            ClientWire(
                ServedConnection(ends^, StreamService(), tls, config^),
                session^,
            ),
            window,
        )


def vanish(mut idle: _Idle) raises:
    """Hangs up."""
    try:
        idle.client.vanish()
    except error:
        raise Error(behind(error, idle.scripts))


def _go_on(mut client: _Client, script: Span[UInt8, _]) raises:
    """Follows a script to its end."""
    var scale = 1 if Int(script[0]) & _IS_LONG != 0 else 8
    for index in range(1, len(script) - 1, 2):
        follow(client, script[index:], scale)
        if client.has_ended:
            break
    client.finish()
    if client.may_go_on():
        # As many as there may be: no slot is lost.
        for _ in range(_STREAM_COUNT_MAX):
            client.open("GET", "/5", 5)
        client.finish()


def follow(mut client: _Client, input: Span[UInt8, _], scale: Int) raises:
    """Does one operation: the first octet says which, the second how much, of
    which contents get the `scale`-th part."""
    var kind = Int(input[0]) // 12
    var argument = Int(input[1])
    var size = argument * argument
    var operation = Int(input[0]) % 12
    var index = argument % max(1, len(client.streams))
    if operation == 0:
        # Requests have frames that are long enough to be cut.
        var is_upload = kind % 7 == 3 or kind % 7 == 4
        open(client, kind % 7, size if is_upload else size // scale)
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
        client.say(index, size // scale, closes=kind == 9)
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
