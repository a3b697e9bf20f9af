"""One connection of the load: opened when a request needs it, then kept."""

from flare.http.client.connect.connection import ClientConnection
from flare.http.client.connect.error import ClientError, Phase
from flare.http.client.connect.transport import Transport
from flare.http.client.exchange.attempt import Attempt, Step
from flare.http.exchange.outgoing_request import Supply
from flare.http.h1.field_section import HeadLimits
from flare.http.h1.serialiser import RequestFraming
from flare.net import RawSocket, SocketAddr
from flare.net.error import NetworkError
from flare.runtime import Interest, Reactor
from flare.sys.errno import EAGAIN
from flare.sys.sockets.socket_option import SocketOption
from target import Target
from std.memory import OwnedPointer

comptime _LIMITS = HeadLimits(8_192, 32_768, 200)
comptime _CLOSED = UInt8(0)
comptime _CONNECTING = UInt8(1)
comptime _HANDSHAKE = UInt8(2)
comptime _OPEN = UInt8(3)


@fieldwise_init
struct Outcome(Equatable, TrivialRegisterPassable):
    """What a turn of a link has come to."""

    var number: UInt8
    """The case."""

    comptime WAITS = Outcome(0)
    """The answer is not complete yet."""
    comptime ANSWERED = Outcome(1)
    """The answer is complete; `status` and `octet_count` tell of it."""
    comptime OPENED = Outcome(2)
    """The connection is open, and nothing was to be asked."""


struct Link(Movable):
    """A connection that carries one request at a time."""

    var due_ns: Int
    """When the request under way was due."""
    var sent_ns: Int
    """When the link was given it."""
    var is_busy: Bool
    """A request is under way."""
    var status: Int
    """The status of the last answer."""
    var octet_count: Int
    """Octets of its content."""
    # The socket while it is being connected; then the connection has it.
    var _socket: Optional[RawSocket]
    var _connection: Optional[OwnedPointer[ClientConnection]]
    var _attempt: OwnedPointer[Attempt]
    var _stage: UInt8
    var _token: UInt64

    def __init__(out self, token: UInt64):
        self.due_ns = 0
        self.sent_ns = 0
        self.is_busy = False
        self.status = 0
        self.octet_count = 0
        self._socket = None
        self._connection = None
        self._attempt = OwnedPointer(Attempt())
        self._stage = _CLOSED
        self._token = token

    def is_open(self) -> Bool:
        return self._stage == _OPEN

    def open(
        mut self, mut target: Target, mut reactor: Reactor
    ) raises ClientError:
        """Begins to connect."""
        try:
            self._socket = _begun(target.address)
        except error:
            raise ClientError(materialize[Phase.CONNECT](), error)
        _register(reactor, self._socket.value(), self._token)
        self._stage = _CONNECTING

    def close(mut self):
        """Drops the connection and what is under way on it."""
        self._socket = None
        self._connection = None
        self._stage = _CLOSED
        self.is_busy = False

    def ask(
        mut self, mut target: Target, mut reactor: Reactor, due_ns: Int
    ) raises ClientError -> Outcome:
        """Sends the request, once the connection is open."""
        self.due_ns = due_ns
        self.is_busy = True
        if self._stage == _CLOSED:
            self.open(target, reactor)
        if self._stage != _OPEN:
            return Outcome.WAITS
        self._begin(target)
        return self._step()

    def _begin(mut self, target: Target) raises ClientError:
        ref attempt = self._attempt[]
        attempt.begin(target.method, RequestFraming.none(), is_strict=False)
        attempt.outgoing.output.append(Span(target.request))
        attempt.outgoing.supply = Supply.ALL
        self.octet_count = 0

    def turn(
        mut self, mut target: Target, is_writable: Bool
    ) raises ClientError -> Outcome:
        """Goes on when the connection is ready for something."""
        if self._stage == _CLOSED:
            return Outcome.WAITS
        if self._stage != _OPEN:
            if not self._is_opened(target, is_writable):
                return Outcome.WAITS
            if not self.is_busy:
                return Outcome.OPENED
            self._begin(target)
            return self._step()
        if not self.is_busy:
            # Whatever comes unasked, mostly the end, is of no use.
            if not self._connection.value()[].is_quiet():
                self.close()
            return Outcome.WAITS
        return self._receive()

    def _is_opened(
        mut self, mut target: Target, is_writable: Bool
    ) raises ClientError -> Bool:
        """Goes on with opening the connection; True once it is open."""
        if self._stage == _CONNECTING:
            if not is_writable:
                return False
            self._connect(target)
        ref transport = self._connection.value()[].transport
        var result = transport.shake_hands()
        if result == -EAGAIN:
            return False
        if result != 0:
            raise transport.failure(
                materialize[Phase.TLS](),
                result,
                "TLS handshake",
                target.endpoint.host,
            )
        self._stage = _OPEN
        return True

    def _connect(mut self, mut target: Target) raises ClientError:
        """Takes note of how connecting has ended."""
        try:
            self._socket.value().check_connected(target.address)
        except error:
            raise ClientError(materialize[Phase.CONNECT](), error)
        var transport = Transport(self._socket.take())
        if target.endpoint.is_tls:
            transport.begin_tls(target.context.session(target.endpoint))
        self._connection = OwnedPointer(
            ClientConnection(transport^, target.endpoint.copy())
        )
        self._stage = _HANDSHAKE

    def _receive(mut self) raises ClientError -> Outcome:
        """Reads until nothing more is there: the reactor tells only of news."""
        ref connection = self._connection.value()
        while True:
            var has_news = self._attempt[].receive(connection)
            var outcome = self._step()
            if outcome != Outcome.WAITS or not has_news:
                return outcome

    def _step(mut self) raises ClientError -> Outcome:
        ref connection = self._connection.value()
        ref attempt = self._attempt[]
        while True:
            var step = attempt.step(connection, materialize[_LIMITS]())
            if step == Step.WAIT or step == Step.NEEDS_CONTENT:
                return Outcome.WAITS
            if step == Step.HEAD:
                self.status = attempt.parser.head.status
                attempt.parser.body.max_body_size = 1 << 40
            elif step == Step.CONTENT:
                self.octet_count += len(attempt.parser.content())
            else:
                break
        self.is_busy = False
        if not attempt.parser.is_reusable():
            self.close()
        return Outcome.ANSWERED


def _begun(address: SocketAddr) raises NetworkError -> RawSocket:
    """Makes a socket that is about to be connected."""
    var socket = RawSocket.tcp(address.ip.is_v6())
    _ = socket.connect(address)
    socket.set_option(SocketOption.NO_DELAY, 1)
    return socket^


def _register(
    mut reactor: Reactor, socket: RawSocket, token: UInt64
) raises ClientError:
    try:
        reactor.register(socket.fd(), token, Interest.STREAM)
    except error:
        raise ClientError(materialize[Phase.CONNECT](), NetworkError(error))
