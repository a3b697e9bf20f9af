"""The way to a host, without ever waiting: names, the race of addresses, a
proxy's tunnel, TLS.

    TARGET --> RESOLVING --> RACING --+--> READY
                               UNIX --+      ^
                               | |  |        |
              PROXY_HANDSHAKE <+ |  +--> HANDSHAKE
                 |               v           ^
                 +--> TUNNEL or SOCKS -------+

    any of them --> REFUSED, or RESOLVING again for a proxy that has asked for
    credentials and closed

TARGET is the host itself, for a SOCKS5 proxy that is given addresses.
Who drives it (a blocking call, or a reactor with many) waits for the
`watches`, no longer than `wait_ms`, and calls `advance`.
"""

from flare.bytes.checked import *
from flare.dns.resolve import Resolving
from flare.http.client.connect.auth import challenge_schemes
from flare.http.client.connect.connection import ClientConnection, Endpoint
from flare.http.client.connect.digest import DigestTurn, DigestChallenge
from flare.http.client.connect.error import (
    ClientError,
    Phase,
    BadRequest,
    MalformedResponse,
    ProxyRefused,
)
from flare.http.client.connect.exchange_facts import (
    ConnectionInfo,
    ConnectTimes,
)
from flare.http.client.connect.proxy import Proxy, ProxyScheme
from flare.http.client.connect.socks import (
    SOCKS_STEP_LEN_MAX,
    SocksHandshake,
    is_about_address,
    socks_address,
    socks_destination,
)
from flare.http.client.connect.transport import Transport
from flare.http.client.exchange.attempt import Attempt, Step
from flare.http.client.exchange.connect_context import ConnectContext
from flare.http.client.exchange.prepared_request import PreparedRequest
from flare.http.client.exchange.timeout_policy import shorter, total_error
from flare.http.client.message.config import ClientConfig
from flare.http.client.message.response import copy_fields
from flare.http.h1.field_section import HeadLimits
from flare.http.h1.serialiser import (
    RequestFraming,
    RequestStart,
    write_request_head,
)
from flare.http.message.header_map import HeaderMap
from flare.net.error import ConnectionTimeout, Timeout
from flare.net.ip import IpAddr
from flare.net.socket_addr import SocketAddr
from flare.sys.clock import NO_TIMEOUT_MS, Deadline
from flare.sys.errno import EAGAIN
from flare.sys.poll import POLL_READ, POLL_WRITE, PollEntry, poll_descriptors
from flare.sys.sockets.socket_option import SocketOption
from flare.tcp.connecting import AddressRace, STILL_RACING
from flare.tls.session import TlsSession
from flare.unix.stream import UnixStream
from flare.unix.unix_addr import UnixAddr
from std.memory import ArcPointer, OwnedPointer

comptime UNIX_PAUSE_MS = 10
"""How long to wait before a listener whose queue was full is asked again, in
milliseconds: the kernel tells nobody when there is room."""

comptime _RESOLVING = UInt8(0)
comptime _RACING = UInt8(1)
comptime _UNIX = UInt8(2)
comptime _TUNNEL = UInt8(3)
comptime _HANDSHAKE = UInt8(4)
comptime _READY = UInt8(5)
comptime _TARGET = UInt8(6)
comptime _PROXY_HANDSHAKE = UInt8(7)
comptime _SOCKS = UInt8(8)
comptime _REFUSAL = UInt8(9)


struct Connector(Movable):

    var _endpoint: Endpoint
    var _proxy: Optional[ArcPointer[Proxy]]
    var _needs_tunnel: Bool
    var _total: Deadline
    var _deadline: Deadline
    var _stage: UInt8
    var _resolving: Optional[Resolving]
    var _race: Optional[AddressRace]
    var _session: Optional[TlsSession]
    var _tunnel: Optional[Tunnel]
    var _socks: Optional[SocksHandshake]
    # What a SOCKS5 proxy is still to be asked for, best first.
    var _targets: List[IpAddr]
    # Where the endpoint is known to be, best first.
    var _addresses: List[IpAddr]
    # How many challenges of the proxy were answered.
    var _answer_count: Int
    # The answer to the last of them, for the next tunnel that is asked for.
    var _answer: String
    # True if the proxy has refused a tunnel on this connection.
    var _asks_again: Bool
    var _connection: Optional[OwnedPointer[ClientConnection]]
    var _times: ConnectTimes

    def __init__(
        out self,
        endpoint: Endpoint,
        proxy: Optional[ArcPointer[Proxy]],
        connect_timeout_ms: Int,
        total: Deadline = Deadline(NO_TIMEOUT_MS),
        *,
        tunnels_plain: Bool = False,
        var addresses: List[IpAddr] = List[IpAddr](),
    ):
        """Makes ready to open a connection for what has to be over at `total`;
        the time starts. With `tunnels_plain`, a proxy is asked for a tunnel
        without TLS, too.

        The addresses are the host's, best first; without any, or through a
        proxy, its name is looked up.
        """
        self._endpoint = endpoint.copy()
        self._proxy = proxy
        self._needs_tunnel = Bool(proxy) and (endpoint.is_tls or tunnels_plain)
        self._total = total
        self._deadline = Deadline(shorter(connect_timeout_ms, total.left_ms()))
        self._stage = _UNIX if endpoint.is_unix else _RESOLVING
        if proxy and proxy.value()[].scheme == ProxyScheme.SOCKS5:
            self._stage = _TARGET
        self._socks = None
        self._addresses = addresses^
        self._targets = []
        self._answer_count = 0
        self._answer = String()
        self._asks_again = False
        self._resolving = None
        self._race = None
        self._session = None
        self._tunnel = None
        self._connection = None
        self._times = ConnectTimes()

    def advance(
        mut self, mut context: ConnectContext
    ) raises ClientError -> Bool:
        """Goes on with what is there, and tells whether the connection is ready
        for `take`. Raises if it cannot be opened in time."""
        try:
            return self._advance(context)
        except error:
            if self._total.left_ms() == 0:
                var late = total_error(self._total, error.phase)
                late.detail = ConnectionTimeout
                raise late^
            if self._proxy and self._is_about_proxy(error):
                error.reason = String(
                    "the proxy ", self._name(), ": ", error.reason
                )
            raise error^

    def _is_about_proxy(self, error: ClientError) -> Bool:
        """Tells whether the proxy has failed, and the error does not say so."""
        if self._stage == _TARGET:
            return False
        if error.phase == Phase.PROXY:
            return error.kind == Timeout or (
                self._stage == _TUNNEL and error.kind != ProxyRefused
            )
        return error.phase == Phase.RESOLVE or error.phase == Phase.CONNECT

    def _advance(
        mut self, mut context: ConnectContext
    ) raises ClientError -> Bool:
        while self._stage != _READY:
            var phase = self.phase()
            if self._advance_stage(context):
                self._times.end(phase)
                continue
            # A race has an error of its own for its end.
            if self._stage != _RACING and self._deadline.left_ms() == 0:
                raise self._late_error()
            return False
        return True

    def _late_error(self) -> ClientError:
        var reason = String("nothing within ", self._deadline.timeout_ms, " ms")
        # Each of those who connect has it by this name in its own settings.
        reason.write("; connect_timeout_ms allows more")
        return ClientError(self.phase(), Timeout, reason^)

    def _advance_stage(
        mut self, mut context: ConnectContext
    ) raises ClientError -> Bool:
        """Goes on within a stage; True if it has led to another one."""
        if self._stage == _RESOLVING:
            return self._resolve(context)
        if self._stage == _RACING:
            return self._run_race(context)
        if self._stage == _HANDSHAKE or self._stage == _PROXY_HANDSHAKE:
            return self._shake_hands(context)
        if self._stage == _UNIX:
            return self._connect_unix(context)
        if self._stage == _TUNNEL:
            return self._open_tunnel(context)
        if self._stage == _REFUSAL:
            return self._end_refusal(context)
        if self._stage == _TARGET:
            return self._resolve_target(context)
        return self._ask_socks()

    def phase(self) -> Phase:
        if self._stage == _RESOLVING or self._stage == _TARGET:
            return Phase.RESOLVE
        if (
            self._stage == _TUNNEL
            or self._stage == _REFUSAL
            or self._stage == _SOCKS
            or self._stage == _PROXY_HANDSHAKE
        ):
            return Phase.PROXY
        if self._stage == _HANDSHAKE:
            return Phase.TLS
        return Phase.CONNECT

    def _name(self) -> String:
        if self._proxy:
            return self._proxy.value()[].name()
        return self._endpoint.name()

    def _resolve(mut self, context: ConnectContext) raises ClientError -> Bool:
        var port = self._endpoint.port
        var host = self._endpoint.host
        if self._proxy:
            port = self._proxy.value()[].port
            host = self._proxy.value()[].host
        var found = List[IpAddr]()
        if self._proxy or len(self._addresses) == 0:
            found = self._look_up(host, port, context)
            if len(found) == 0:
                return False
        else:
            swap(found, self._addresses)
        var addresses = List[SocketAddr]()
        for ip in found:
            addresses.append(SocketAddr(ip, port))
        self._race = AddressRace(addresses^, self._deadline)
        self._stage = _RACING
        return True

    def _look_up(
        mut self, host: String, port: UInt16, context: ConnectContext
    ) raises ClientError -> List[IpAddr]:
        """Goes on with the lookup of a name, of which there is one at a time;
        gives none until it is over."""
        try:
            if not self._resolving:
                var own = context.addresses.find(host, port)
                if len(own) > 0:
                    return own^
                self._resolving = Resolving(host, 0, self._deadline)
            if not self._resolving.value().advance():
                return []
            return self._resolving.take().take()
        except error:
            raise ClientError(Phase.RESOLVE, error)

    def _resolve_target(
        mut self, context: ConnectContext
    ) raises ClientError -> Bool:
        """Looks the host up for a proxy that is to be given its addresses."""
        var host = self._endpoint.host
        self._targets = self._look_up(host, self._endpoint.port, context)
        if len(self._targets) == 0:
            return False
        self._targets.reverse()
        self._stage = _RESOLVING
        return True

    def _run_race(
        mut self, mut context: ConnectContext
    ) raises ClientError -> Bool:
        try:
            var winner = self._race.value().advance()
            if winner == STILL_RACING:
                return False
            var race = self._race.take()
            if winner < 0:
                raise race^.error(self._name(), self._deadline)
            var socket = race^.take(winner).take_socket()
            socket.set_option(SocketOption.NO_DELAY, 1)
            self._connection = OwnedPointer(
                ClientConnection(Transport(socket^), self._endpoint.copy())
            )
        except error:
            raise ClientError(Phase.CONNECT, error)
        self._begin_session(context)
        return True

    def _connect_unix(
        mut self, mut context: ConnectContext
    ) raises ClientError -> Bool:
        try:
            var stream = UnixStream.connect(UnixAddr(self._endpoint.host), 0)
            var transport = Transport(stream^.take_socket())
            self._connection = OwnedPointer(
                ClientConnection(transport^, self._endpoint.copy())
            )
        except error:
            if error.kind == ConnectionTimeout:
                return False
            raise ClientError(Phase.CONNECT, error)
        self._begin_session(context)
        return True

    def _begin_session(
        mut self, mut context: ConnectContext
    ) raises ClientError:
        """Chooses what follows on a socket that is connected."""
        if self._endpoint.is_tls:
            # A bad name is refused before anything is sent.
            self._session = context.session(self._endpoint)
        if not self._proxy:
            self._begin_handshake()
            return
        ref proxy = self._proxy.value()[]
        if proxy.scheme == ProxyScheme.HTTPS:
            ref transport = self._connection.value()[].transport
            transport.begin_tls(context.proxy_session(proxy))
            self._stage = _PROXY_HANDSHAKE
        elif proxy.scheme.is_http():
            self._begin_tunnel(context)
        else:
            self._begin_socks()

    def _begin_tunnel(mut self, mut context: ConnectContext) raises ClientError:
        """Asks a proxy for a tunnel, unless it takes requests."""
        if not self._needs_tunnel:
            self._begin_handshake()
            return
        ref proxy = self._proxy.value()[]
        var answer = String()
        swap(answer, self._answer)
        if answer.byte_length() == 0 and proxy.credentials.is_digest():
            answer = context.challenges.answer(
                proxy.name(),
                proxy.credentials.login().value(),
                "CONNECT",
                self._endpoint.name(),
                is_asked=self._answer_count > 0,
            )
        self._tunnel = Tunnel(self._endpoint, proxy, answer)
        self._stage = _TUNNEL

    def _begin_socks(mut self) raises ClientError:
        ref proxy = self._proxy.value()[]
        var destination: List[UInt8]
        if len(self._targets) > 0:
            var ip = self._targets.pop()
            destination = socks_address(ip, self._endpoint.port)
        else:
            destination = socks_destination(
                self._endpoint.host, self._endpoint.port
            )
        self._socks = SocksHandshake(destination^, proxy.socks_login())
        self._stage = _SOCKS

    def _shake_hands(
        mut self, mut context: ConnectContext
    ) raises ClientError -> Bool:
        """Goes on with the TLS handshake of the stage; False to wait."""
        ref connection = self._connection.value()[]
        var result = connection.transport.shake_hands()
        if result == -EAGAIN:
            return False
        var is_with_proxy = self._stage == _PROXY_HANDSHAKE
        if result != 0 and is_with_proxy:
            raise connection.transport.failure(
                self.phase(),
                result,
                "TLS handshake with the proxy",
                self._name(),
            )
        if result != 0:
            raise connection.transport.failure(
                self.phase(), result, "TLS handshake", self._endpoint.host
            )
        if is_with_proxy:
            self._begin_tunnel(context)
            return True
        if self._endpoint.offers_http2:
            connection.is_http2 = connection.transport.protocol() == "h2"
        self._stage = _READY
        return True

    def _ask_socks(mut self) raises ClientError -> Bool:
        try:
            return self._go_on_with_socks()
        except error:
            # Another address of the host may be reached, by asking anew.
            if len(self._targets) == 0 or not is_about_address(
                self._socks.value().refused_with
            ):
                raise error^
        self._start_over()
        return True

    def _go_on_with_socks(mut self) raises ClientError -> Bool:
        ref socks = self._socks.value()
        ref transport = self._connection.value()[].transport
        var octet = List[UInt8](length=SOCKS_STEP_LEN_MAX, fill=0)
        while not socks.is_done():
            var count: Int
            var is_sending = len(socks.output) > 0
            if is_sending:
                count = transport.send(socks.output.span())
            else:
                count = transport.receive(
                    Span(octet).before(socks.wanted_len())
                )
            if count == -EAGAIN:
                return False
            if count == 0 and not is_sending:
                raise socks.end_input()
            if count < 0:
                raise transport.failure(
                    Phase.PROXY, count, "SOCKS5", self._name()
                )
            if is_sending:
                socks.output.consume(count)
            else:
                _ = socks.receive(Span(octet).before(count))
        self._begin_handshake()
        return True

    def _open_tunnel(
        mut self, mut context: ConnectContext
    ) raises ClientError -> Bool:
        try:
            if not self._tunnel.value().advance(
                self._connection.value(), context.head_limits
            ):
                return False
        except error:
            # Whatever an attempt was at.
            error.phase = Phase.PROXY
            if self._asks_again and not self._tunnel.value().attempt.has_head():
                # It has closed the connection after its challenge.
                self._start_over()
                return True
            if not self._takes_challenge(context):
                raise error^
            self._stage = _REFUSAL
            return True
        self._begin_handshake()
        return True

    def _end_refusal(
        mut self, mut context: ConnectContext
    ) raises ClientError -> Bool:
        """Asks again with an answer to the challenge: on the same connection if
        the proxy keeps it (RFC 9112 section 9.3)."""
        ref tunnel = self._tunnel.value()
        if not tunnel.end_refusal(
            self._connection.value(), context.head_limits
        ):
            return False
        if not tunnel.attempt.parser.is_reusable():
            self._start_over()
            return True
        self._asks_again = True
        self._begin_tunnel(context)
        return True

    def _takes_challenge(
        mut self, mut context: ConnectContext
    ) raises ClientError -> Bool:
        """Keeps the challenge of a proxy that refused a tunnel, if it can be
        answered (RFC 7616)."""
        ref credentials = self._proxy.value()[].credentials
        if not credentials.is_digest():
            return False
        var login = credentials.login().value().copy()
        var turn = DigestTurn()
        turn.proxy_login = login.copy()
        turn.proxy_answer_count = self._answer_count
        var found = self._tunnel.value().challenge(turn)
        var name = self._proxy.value()[].name()
        if not found:
            context.challenges.refuse(name, login.user)
            return False
        self._answer_count += 1
        self._answer = context.challenges.keep(
            name^,
            login,
            found.take(),
            "CONNECT",
            self._endpoint.name(),
        )
        return True

    def _start_over(mut self):
        self._connection = None
        self._session = None
        self._socks = None
        self._tunnel = None
        self._asks_again = False
        self._stage = _RESOLVING

    def _begin_handshake(mut self):
        if not self._session:
            self._connection.value()[].is_http2 = self._endpoint.offers_http2
            self._stage = _READY
            return
        self._connection.value()[].transport.begin_tls(self._session.take())
        self._stage = _HANDSHAKE

    def watches(self) -> List[PollEntry]:
        """Tells which descriptors to wait for, until the next `advance`."""
        var entries = List[PollEntry]()
        if self._resolving:
            var number = self._resolving.value().fd()
            entries.append(PollEntry(number, POLL_READ, 0))
        if self._race:
            for number in self._race.value().fds():
                entries.append(PollEntry(number, POLL_WRITE, 0))
        if self._connection:
            var wanted = POLL_READ
            ref connection = self._connection.value()[]
            var is_sending = connection.transport.wants_write()
            if self._stage == _TUNNEL:
                is_sending = self._tunnel.value().attempt.wants_write() or (
                    is_sending
                )
            elif self._stage == _SOCKS:
                is_sending = len(self._socks.value().output) > 0
            if is_sending:
                wanted |= POLL_WRITE
            entries.append(PollEntry(connection.transport.fd(), wanted, 0))
        return entries^

    def wait_ms(self) -> Int:
        """Tells in how many milliseconds to call `advance` although no
        descriptor is ready; negative for never."""
        if self._stage == _UNIX:
            return shorter(UNIX_PAUSE_MS, self._deadline.left_ms())
        if self._race:
            return self._race.value().wait_ms()
        return self._deadline.left_ms()

    def take(mut self) -> OwnedPointer[ClientConnection]:
        """Gives the connection; `advance` must have answered True."""
        var connection = self._connection.take()
        var info = ConnectionInfo(self._times)
        if not self._endpoint.is_unix:
            connection[].transport.tell(info, self._endpoint.is_tls)
        connection[].info = ArcPointer(info^)
        return connection^

    def connect(
        var self, mut context: ConnectContext
    ) raises ClientError -> OwnedPointer[ClientConnection]:
        """Waits until the connection is open. Raises if it cannot be opened in
        time."""
        while not self.advance(context):
            var entries = self.watches()
            # Whatever comes of it, `advance` looks for itself.
            _ = poll_descriptors(entries, self.wait_ms())
        return self.take()


def connector_for(request: PreparedRequest, config: ClientConfig) -> Connector:
    """Makes ready to open a connection for a request; the time starts."""
    return Connector(
        request.endpoint,
        request.proxy,
        config.connect_timeout_ms,
        request.timeouts.total,
        # What a proxy passes on by itself is HTTP/1.1.
        tunnels_plain=request.endpoint.offers_http2,
    )


comptime _REFUSAL_LEN_MAX = 65_536
# Most content of a refusal that is read to keep its connection, in bytes.


struct Tunnel(Movable):
    """A CONNECT that makes a connection to a proxy one to the endpoint.

    Source: RFC 9110 section 9.3.6.
    """

    var attempt: Attempt

    def __init__(
        out self, endpoint: Endpoint, proxy: Proxy, answer: String
    ) raises ClientError:
        """Writes the request for a tunnel, with what is said to the proxy's
        challenge; empty for nothing. Raises in the phase `PROXY`."""
        self.attempt = Attempt()
        self.attempt.begin("CONNECT", RequestFraming.none())
        _write_head(self.attempt, endpoint, proxy, answer)
        self.attempt.outgoing.end_content()

    def challenge(self, turn: DigestTurn) -> Optional[DigestChallenge]:
        """Finds the challenge of a proxy that has refused, by what was answered
        before; nothing if there is none to answer."""
        if not self.attempt.has_head():
            return None
        var headers = HeaderMap()
        copy_fields(self.attempt.parser.fields(), headers)
        return turn.challenge(Int(self.attempt.parser.head.status), headers)

    def advance(
        mut self,
        mut connection: OwnedPointer[ClientConnection],
        limits: HeadLimits,
    ) raises ClientError -> Bool:
        """Goes on without waiting, over a new connection to the proxy, and
        tells whether the tunnel is open."""
        while True:
            var step = self.attempt.step(connection, limits)
            if step == Step.WAIT:
                if not self.attempt.receive(connection):
                    return False
            elif step == Step.HEAD and self.attempt.parser.head.status >= 300:
                raise _refusal(self.attempt)
            elif step == Step.END:
                break
        if self.attempt.parser.leftover_len() > 0:
            # The host at the other end waits for our first octet.
            raise ClientError(
                Phase.PROXY,
                MalformedResponse,
                "the proxy sent octets of its own into the tunnel",
            )
        return True

    def end_refusal(
        mut self,
        mut connection: OwnedPointer[ClientConnection],
        limits: HeadLimits,
    ) -> Bool:
        """Reads what follows the head of a refusal, without waiting. Returns
        False to wait for more; the parser says whether the connection may be
        used again."""
        self.attempt.parser.body.max_body_size = _REFUSAL_LEN_MAX
        try:
            while True:
                var step = self.attempt.step(connection, limits)
                if step == Step.END:
                    return True
                if step == Step.WAIT and not self.attempt.receive(connection):
                    return False
        except:
            # A new connection will show what is wrong.
            return True


def _write_head(
    mut attempt: Attempt, endpoint: Endpoint, proxy: Proxy, answer: String
) raises ClientError:
    # RFC 9112 section 3.2.3.
    var authority = endpoint.name()
    var headers = HeaderMap()
    try:
        if answer.byte_length() > 0:
            headers.set("Proxy-Authorization", answer)
        elif proxy.credentials and not proxy.credentials.is_digest():
            headers.set("Proxy-Authorization", proxy.credentials.field_value())
    except:
        raise ClientError(
            Phase.PROXY,
            BadRequest,
            "the proxy's credentials hold a control octet",
        )
    write_request_head(
        attempt.outgoing.output,
        RequestStart("CONNECT", StringSpan(authority), authority, 1),
        headers,
        HeaderMap(),
        RequestFraming.none(),
    )


def _refusal(attempt: Attempt) -> ClientError:
    var reason = String(
        "the proxy answered ", attempt.parser.head.status, " to CONNECT"
    )
    var fields = attempt.parser.fields()
    var challenge = fields.get("proxy-authenticate")
    if challenge:
        reason.write("; it accepts ", challenge_schemes(challenge.value()))
    var error = ClientError(Phase.PROXY, ProxyRefused, reason^)
    error.status = Int(attempt.parser.head.status)
    return error^
