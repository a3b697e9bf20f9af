"""One connection to a server: its octets, the login, an exchange at a time."""

from flare.bytes.ascii import find_octet, write_escaped
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.net.error import BrokenPipe, ConnectionReset, Timeout
from flare.net.raw_socket import RawSocket
from flare.redis.config import RedisConfig
from flare.redis.core.command import Command
from flare.redis.core.error import RedisError, RedisErrorKind, failed_before
from flare.redis.core.parser import ReplyParser
from flare.redis.core.reply import Reply, ReplyKind
from flare.sys.clock import Deadline, coarse_monotonic_ms
from flare.sys.errno import EAGAIN, EINTR, OsError
from flare.sys.poll import POLL_READ, POLL_WRITE, wait_for
from flare.sys.signal import process_id
from flare.sys.sockets.socket import (
    let_receives_wait,
    peek_now,
    receive_waiting,
    receive_now,
    send,
)
from flare.tcp.stream import TcpStream
from flare.tls.context import TlsClientContext
from flare.tls.error import ClosedEarly, HandshakeTimeout, NotTls, TlsError
from flare.tls.stream import TlsStream
from flare.unix.stream import UnixStream
from flare.unix.unix_addr import UnixAddr
from std.memory import OwnedPointer
from std.sys.intrinsics import likely, unlikely

comptime READ_LEN = 16_384
"""Room for one read, in bytes."""
comptime _READ_LEN_MAX = 1 << 20
# However much the server has promised.
comptime _KEPT_LEN_MAX = 1 << 20
comptime _NOT_YET = -2
comptime _PUSH = UInt8(0x3E)


struct RedisConnection(Movable):
    """A connection that is logged in; it is closed when its owner goes."""

    var name: String
    """Which server, for errors."""
    var is_resp3: Bool
    """True if the server speaks RESP3."""
    var _socket: RawSocket
    var _tls: Optional[OwnedPointer[TlsStream]]
    var _input: Buffer
    var _parser: ReplyParser
    # Octets of the last replies, which are lent until the next exchange.
    var _lent_len: Int
    var _timeout_ms: Int
    # When the last exchange began.
    var _used_ms: Int
    # The process that has opened it.
    var _process: Int

    def __init__(out self, config: RedisConfig):
        """Makes one that is closed."""
        self.name = config.server_name()
        self.is_resp3 = False
        self._socket = RawSocket(owned=-1)
        self._tls = None
        self._input = Buffer(READ_LEN)
        self._parser = ReplyParser(config.limits())
        self._lent_len = 0
        self._timeout_ms = config.timeout_ms
        self._used_ms = 0
        self._process = 0

    @always_inline
    def is_open(self) -> Bool:
        """Tells whether there is a connection, as far as this side knows: from
        `open` to `close`."""
        return self._socket.is_open() or Bool(self._tls)

    def close(mut self):
        """Closes the connection now; a second call does nothing. A process that
        was forked since says no goodbye on it."""
        if self._tls:
            if self._process == process_id():
                self._tls.held()[].close()
            self._tls = None
        self._socket.close()
        self._input.clear()
        # What was parsed of a push goes with the octets.
        self._parser.takes_pushes = False
        self._lent_len = 0

    def fd(self) -> Int32:
        """Lends the descriptor, to wait for, good while the connection is open;
        -1 if closed."""
        if self._tls:
            return self._tls.held()[].fd()
        return self._socket.fd()

    def open(
        mut self,
        config: RedisConfig,
        context: Optional[TlsClientContext],
        timeout_ms: Int,
    ) raises RedisError:
        """Connects and logs in; with TLS, the context says what to trust.
        Raises if there is no connection (`CONNECT_FAILED`), or the server
        refuses the login."""
        self.close()
        self.name = config.server_name()
        self._process = process_id()
        # Until the socket waits by itself.
        self._timeout_ms = _NOT_YET
        var deadline = Deadline(timeout_ms)
        try:
            self._connect(config, context, deadline.left_ms())
            self._log_in(config, deadline)
            if not self._tls:
                _let_wait(self._socket, config.timeout_ms)
        except error:
            raise failed_before(self._failed(error))
        self._timeout_ms = config.timeout_ms

    def _connect(
        mut self,
        config: RedisConfig,
        context: Optional[TlsClientContext],
        timeout_ms: Int,
    ) raises RedisError:
        if config.unix_path.byte_length() > 0:
            self._socket = _connect_unix(config.unix_path, timeout_ms)
        elif context:
            self._tls = _connect_tls(config, context.held(), timeout_ms)
        else:
            self._socket = _connect_tcp(config, timeout_ms)

    def _log_in(
        mut self, config: RedisConfig, deadline: Deadline
    ) raises RedisError:
        """Says HELLO, or what older servers understand."""
        self.is_resp3 = config.protocol == 3 and self._say_hello(
            config, deadline
        )
        var command = Command()
        if not self.is_resp3:
            if _has_login(config):
                _write_auth(command, config)
            if config.client_name.byte_length() > 0:
                command.begin["CLIENT"](2)
                command.add("SETNAME")
                command.add(config.client_name)
        if config.database > 0:
            command.begin["SELECT"](1)
            command.add_number(config.database)
        if command.count == 0:
            return
        self._exchange(command, deadline.left_ms())
        var replies = self._parser.all(self._input.span()).__iter__()
        while replies.has_next():
            replies.next().check()

    def _say_hello(
        mut self, config: RedisConfig, deadline: Deadline
    ) raises RedisError -> Bool:
        """Asks for RESP3; False if the server does not have it."""
        var command = Command()
        var has_login = _has_login(config)
        var has_name = config.client_name.byte_length() > 0
        command.begin["HELLO"](1 + 3 * Int(has_login) + 2 * Int(has_name))
        command.add("3")
        if has_login:
            command.add("AUTH")
            var is_default = config.username.byte_length() == 0
            command.add("default" if is_default else config.username)
            command.add(config.password)
        if has_name:
            command.add("SETNAME")
            command.add(config.client_name)
        self._exchange(command, deadline.left_ms())
        var reply = self._parser.first(self._input.span())
        if not reply.is_error():
            return True
        var error = reply.error()
        # Servers before Redis 6 do not know the command, and a user may be
        # refused it alone.
        if (
            error.kind == RedisErrorKind.NO_PROTOCOL
            or error.kind == RedisErrorKind.NO_PERMISSION
            or "unknown command" in error.message
        ):
            return False
        raise error^

    @always_inline
    def exchange(mut self, command: Command) raises RedisError:
        """Sends at least one command and receives the replies, which `first`
        and `all` lend until the next call. If the connection fails or the time
        is over, it is closed. What a server refuses is a reply."""
        self.exchange(command, self._timeout_ms)

    def exchange(mut self, command: Command, timeout_ms: Int) raises RedisError:
        """Does the same within a time of its own; the wait that a command asks
        the server for comes on top."""
        try:
            self._exchange(command, timeout_ms)
        except error:
            raise self._failed(error)

    def time_left_ms(self, timeout_ms: Int) -> Int:
        """Tells what is left of a time that began with the last exchange, also
        when that has failed; -1 if there is no end to it."""
        if timeout_ms < 0:
            return -1
        return max(timeout_ms - (coarse_monotonic_ms() - self._used_ms), 0)

    def start(mut self, command: Command, timeout_ms: Int) raises RedisError:
        """Sends at least one command; `finish` receives the replies. Other
        connections may be used in between. Raises as `exchange` does."""
        try:
            self._drop_lent()
            self._used_ms = coarse_monotonic_ms()
            self._check_unread(timeout_ms)
            self._parser.begin(command.count)
            self._send(command.octets.span(), timeout_ms)
        except error:
            raise self._failed(error)

    def finish(mut self, timeout_ms: Int) raises RedisError:
        """Receives the replies of what `start` sent, within a time that began
        then. Raises as `exchange` does."""
        try:
            while not self._parser.advance(self._input.terminate()):
                self._receive_until(self._used_ms, timeout_ms)
            self._lent_len = self._parser.length()
        except error:
            raise self._failed(error)

    @always_inline
    def first(self) -> Reply[ImmUntrackedOrigin]:
        """Lends the first reply; the caller gives it the origin of the
        connection."""
        return self._parser.first(self._input.span())

    @always_inline
    def all(self) -> Reply[ImmUntrackedOrigin]:
        """Lends all replies, as the elements of one; the caller gives it the
        origin of the connection."""
        return self._parser.all(self._input.span())

    @always_inline
    def has_errors(self) -> Bool:
        """Tells whether an error is among the last replies, at any depth."""
        return self._parser.has_errors

    @always_inline
    def _exchange(
        mut self, command: Command, timeout_ms: Int
    ) raises RedisError:
        self._drop_lent()
        var start_ms = coarse_monotonic_ms()
        self._used_ms = start_ms
        self._check_unread(timeout_ms)
        self._parser.begin(command.count)
        self._send(command.octets.span(), timeout_ms)
        var time_ms = timeout_ms
        if command.extra_ms < 0 or timeout_ms < 0:
            time_ms = -1
        else:
            time_ms += command.extra_ms
        # The socket itself gives up at the usual time.
        var is_usual = time_ms == self._timeout_ms and not self._tls
        if likely(is_usual and len(self._input) == 0):
            self._receive_waiting()
        while not self._parser.advance(self._input.terminate()):
            self._receive_until(start_ms, time_ms)
        self._lent_len = self._parser.length()

    def receive_push(mut self, deadline: Deadline) raises RedisError -> Bool:
        """Receives one message that nobody asked for, which `first` lends;
        False if the time is over, which leaves the connection as it was. If the
        connection fails, it is closed."""
        try:
            self._check_process()
            if self._lent_len > 0 or not self._parser.takes_pushes:
                self._drop_lent()
                self._parser.takes_pushes = True
                self._parser.begin(1)
            while not self._parser.advance(self._input.terminate()):
                if not self._receive_once(deadline.left_ms()):
                    return False
            self._lent_len = self._parser.length()
            return True
        except error:
            raise self._failed(error)

    def send_only(mut self, octets: Span[UInt8, _]) raises RedisError:
        """Sends commands whose answers come as pushes. If the connection fails,
        it is closed."""
        try:
            self._check_process()
            self._send(octets, self._timeout_ms)
        except error:
            raise self._failed(error)

    @no_inline
    def _failed(mut self, error: RedisError) -> RedisError:
        """Closes the connection, and says which server it was to."""
        self.close()
        var failure = error.copy()
        failure.server = self.name
        return failure^

    @always_inline
    def _drop_lent(mut self):
        self._input.consume(self._lent_len)
        self._lent_len = 0
        if unlikely(self._input.capacity() > _KEPT_LEN_MAX):
            if len(self._input) == 0:
                self._input = Buffer(READ_LEN)

    @always_inline
    def _check_unread(mut self, timeout_ms: Int) raises RedisError:
        """Sees to it that what comes next answers what is sent next. A reply too
        many would be taken for that answer, and shift all that follow, for
        nothing else says which answer belongs to what. It costs two system
        calls."""
        self._check_process()
        if likely(not self._tls and len(self._input) == 0):
            var octet = Array[UInt8, 1](fill=0)
            if likely(peek_now(self._socket.fd(), Span(octet)) == -EAGAIN):
                return
        self._drop_pushes(Deadline(timeout_ms))

    @always_inline
    def _check_process(self) raises RedisError:
        """Raises if another process has opened the connection: of two that send
        on one, each would read what the other has asked for. Whoever is told
        closes this one's handle, and the other goes on."""
        if unlikely(self._process != process_id()):
            raise _lost(
                String(
                    "the connection belongs to the process that this one was"
                    " forked from"
                ),
                was_sent=False,
            )

    @no_inline
    def _drop_pushes(mut self, deadline: Deadline) raises RedisError:
        """Takes away what the server has pushed (RESP3), and refuses all else.
        Nothing has left then, so that another connection will do."""
        try:
            while len(self._input) > 0 or self._read_unread():
                if not self.is_resp3 or self._input.span().at(0) != _PUSH:
                    raise _lost(_unasked(self._input.span()), was_sent=False)
                if not self._receive_whole_push(deadline):
                    raise _lost(
                        String("the server sent a push without end"),
                        was_sent=False,
                    )
        except error:
            var failure = error.copy()
            failure.kind = RedisErrorKind.CONNECTION_LOST
            failure.was_sent = False
            raise failure^

    def _receive_whole_push(
        mut self, deadline: Deadline
    ) raises RedisError -> Bool:
        """Drops a push, of which the first octet is here; False if the time is
        over before its last one."""
        self._parser.takes_pushes = True
        self._parser.begin(1)
        while not self._parser.advance(self._input.terminate()):
            if not self._receive_once(deadline.left_ms()):
                return False
        self._parser.takes_pushes = False
        self._input.consume(self._parser.length())
        return deadline.left_ms() != 0

    def _read_unread(mut self) raises RedisError -> Bool:
        """Reads what is there without waiting; False if nothing is."""
        self._input.reserve(READ_LEN)
        var count: Int
        if self._tls:
            try:
                count = self._tls.held()[].read_now(self._input.spare())
            except error:
                raise _lost(String(error), was_sent=False)
            if count < 0:
                return False
        else:
            count = receive_now(self._socket.fd(), self._input.spare())
            if count == -EAGAIN:
                return False
        if count <= 0:
            raise _end_of_stream(count)
        self._input.commit(count)
        return True

    @always_inline
    def _send(
        mut self, octets: Span[UInt8, _], timeout_ms: Int
    ) raises RedisError:
        var count = 0
        if likely(not self._tls):
            count = send[never_waits=True](self._socket.fd(), octets)
            if likely(count == len(octets)):
                return
        self._send_rest(octets, count, timeout_ms)

    @no_inline
    def _send_rest(
        mut self, octets: Span[UInt8, _], first_count: Int, timeout_ms: Int
    ) raises RedisError:
        """Sends what the socket did not take at once, and reads meanwhile: a
        server that waits for its replies to be read would read nothing. All of
        them may so be here before the last command has left, and as many as
        `limits` allows."""
        var deadline = Deadline(timeout_ms)
        var sent = 0
        var result = first_count
        var reads = True
        while True:
            if result < 0 and result != -EAGAIN:
                raise _lost(String(OsError("send", -result)), was_sent=sent > 0)
            sent += max(result, 0)
            if self._tls:
                sent += self._write_tls(octets.after(sent))
            if sent == len(octets) and not self._has_unsent():
                return
            var wanted = POLL_WRITE
            if reads and len(self._input) <= self._parser.limits.len_max:
                wanted |= POLL_READ
            if wait_for(self.fd(), wanted, deadline) == 0:
                raise _timeout("send", timeout_ms, was_sent=sent > 0)
            if wanted != POLL_WRITE:
                reads = self._read_ahead()
            result = 0
            if not self._tls:
                result = send[never_waits=True](
                    self._socket.fd(), octets.after(sent)
                )

    def _has_unsent(self) -> Bool:
        return Bool(self._tls) and self._tls.held()[].has_unsent()

    def _write_tls(mut self, octets: Span[UInt8, _]) raises RedisError -> Int:
        try:
            return self._tls.held()[].write_now(octets)
        except error:
            raise _lost(String(error), was_sent=True)

    def _read_ahead(mut self) -> Bool:
        """Reads what is there; False at an end or a failure, which is met again
        when replies are read. From there on the socket is always readable,
        which is no progress."""
        try:
            _ = self._read_unread()
            return True
        except:
            return False

    @always_inline
    def _receive_waiting(mut self) raises RedisError:
        """Reads once, and lets the kernel wait."""
        self._input.reserve(READ_LEN)
        var count = receive_waiting(self._socket.fd(), self._input.spare())
        if likely(count > 0):
            self._input.commit(count)
            return
        if count == -EAGAIN:
            raise _timeout("answer", self._timeout_ms, was_sent=True)
        if count != -EINTR:
            raise _end_of_stream(count)

    @no_inline
    def _receive_until(
        mut self, start_ms: Int, timeout_ms: Int
    ) raises RedisError:
        """Reads once, within what is left of the time."""
        var left_ms = -1
        if timeout_ms >= 0:
            left_ms = max(timeout_ms - (coarse_monotonic_ms() - start_ms), 0)
        if not self._receive_once(left_ms):
            raise _timeout("answer", timeout_ms, was_sent=True)

    def _receive_once(mut self, left_ms: Int) raises RedisError -> Bool:
        """Reads once; False if the time is over."""
        self._input.reserve(
            max(READ_LEN, min(self._parser.missing(), _READ_LEN_MAX))
        )
        if self._tls:
            return self._receive_tls(left_ms)
        var deadline = Deadline(left_ms)
        while True:
            var count = receive_now(self._socket.fd(), self._input.spare())
            if count > 0:
                self._input.commit(count)
                return True
            if count != -EAGAIN:
                raise _end_of_stream(count)
            if wait_for(self._socket.fd(), POLL_READ, deadline) == 0:
                return False

    def _receive_tls(mut self, left_ms: Int) raises RedisError -> Bool:
        ref stream = self._tls.held()[]
        stream.set_read_timeout(left_ms)
        var count: Int
        try:
            count = stream.read(self._input.spare())
        except error:
            if left_ms >= 0 and _is_timeout(error):
                return False
            raise _lost(String(error), was_sent=True)
        if count == 0:
            raise _end_of_stream(0)
        self._input.commit(count)
        return True


def _is_timeout(error: TlsError) -> Bool:
    return Bool(error.network) and error.network.held().kind == Timeout


def _has_login(config: RedisConfig) -> Bool:
    """Tells whether the server is told who asks: a user may need no password,
    and is another one than the default user."""
    return (
        config.password.byte_length() > 0 or config.username.byte_length() > 0
    )


def _write_auth(mut command: Command, config: RedisConfig):
    if config.username.byte_length() > 0:
        command.begin["AUTH"](2)
        command.add(config.username)
    else:
        command.begin["AUTH"](1)
    command.add(config.password)


def _connect_tcp(
    config: RedisConfig, timeout_ms: Int
) raises RedisError -> RawSocket:
    try:
        var stream = TcpStream.connect(config.host, config.port, timeout_ms)
        return stream^.take_socket()
    except error:
        raise _no_connection(String(error))


def _connect_tls(
    config: RedisConfig, context: TlsClientContext, timeout_ms: Int
) raises RedisError -> OwnedPointer[TlsStream]:
    try:
        return OwnedPointer(
            TlsStream.connect(config.host, config.port, context, timeout_ms)
        )
    except error:
        var cause = String(error)
        if _lacks_tls(error):
            cause += (
                "; rediss:// asks for TLS, for a server without it write"
                " redis://"
            )
        raise _no_connection(cause^)


def _lacks_tls(error: TlsError) -> Bool:
    """Tells whether there may be a server that speaks no TLS."""
    if error.network:
        var kind = error.network.held().kind
        return kind == ConnectionReset or kind == BrokenPipe
    return (
        error.kind == NotTls
        or error.kind == ClosedEarly
        or error.kind == HandshakeTimeout
    )


def _connect_unix(path: String, timeout_ms: Int) raises RedisError -> RawSocket:
    try:
        var stream = UnixStream.connect(UnixAddr(path), timeout_ms)
        return stream^.take_socket()
    except error:
        raise _no_connection(String(error))


def _let_wait(socket: RawSocket, timeout_ms: Int) raises RedisError:
    try:
        let_receives_wait(socket.fd(), timeout_ms)
    except error:
        raise _no_connection(String(error))


@no_inline
def _no_connection(var cause: String) -> RedisError:
    return RedisError(RedisErrorKind.CONNECT_FAILED, cause^)


@no_inline
def _lost(var cause: String, *, was_sent: Bool) -> RedisError:
    var kind = RedisErrorKind.CONNECTION_LOST
    if was_sent:
        kind = RedisErrorKind.ANSWER_LOST
    var error = RedisError(kind, cause^)
    error.was_sent = was_sent
    return error^


@no_inline
def _unasked(octets: Span[UInt8, _]) -> String:
    """Says what a server sent that nobody has asked for. A line with an error
    is why it ends the connection: it has too many clients, say."""
    var text = String("the server sent what nobody has asked for")
    if octets.at(0) == ReplyKind.ERROR.octet:
        text = String("the server refuses the connection: ")
        write_escaped(octets.between(1, find_octet(octets, 0x0D, 1)), text)
    return text^


@no_inline
def _end_of_stream(count: Int) -> RedisError:
    if count == 0:
        return _lost(String("the server ended the connection"), was_sent=True)
    return _lost(String(OsError("receive", -count)), was_sent=True)


@no_inline
def _timeout(
    what: StaticString, timeout_ms: Int, *, was_sent: Bool
) -> RedisError:
    var error = RedisError(
        RedisErrorKind.TIMEOUT,
        String("no ", what, " within ", timeout_ms, " ms"),
    )
    error.was_sent = was_sent
    return error^
