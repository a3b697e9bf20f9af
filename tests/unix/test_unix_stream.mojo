"""Tests of Unix streams and listeners."""

from flare.io.buffered import BufReader
from flare.net.error import (
    AddressInUse,
    BadAddress,
    BrokenPipe,
    ConnectionRefused,
    ConnectionTimeout,
    NetworkError,
    NotConnected,
    PathNotFound,
    Timeout,
)
from flare.net.raw_socket import Shutdown
from flare.sys.clock import coarse_monotonic_ms, monotonic_ns
from flare.sys.file import File
from flare.sys.mutex import Mutex
from flare.sys.poll import pause
from flare.sys.sockets.sock_addr import SockAddr
from flare.sys.sockets.socket import SOCK_STREAM, bind_socket, listen_socket
from flare.sys.thread import Task, Thread
from flare.unix.stream import UnixListener, UnixStream
from flare.unix.unix_addr import (
    StartingTurn,
    UNIX_BACKLOG,
    UnixAddr,
    listen_unix,
    open_unix,
)
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.loopback import PATIENCE_MS
from std.ffi import external_call
from std.os.path import exists
from std.pathlib import cwd
from std.tempfile import TemporaryDirectory


def _abstract() -> String:
    """Makes up an abstract name that no other test has."""
    return String("@flare-test-", monotonic_ns())


def _read(mut stream: UnixStream) raises -> String:
    var room = Array[UInt8, 64](fill=0)
    var count = stream.read(Span(room))
    return String(from_utf8=Span(room)[0:count])


def _connect_failure(address: UnixAddr, timeout_ms: Int) raises -> NetworkError:
    try:
        _ = UnixStream.connect(address, timeout_ms)
    except error:
        return error.copy()
    raise Error("connected to ", address)


def _bind_failure(
    address: UnixAddr, replace_stale: Bool = False
) raises -> NetworkError:
    try:
        _ = UnixListener.bind(address, replace_stale)
    except error:
        return error.copy()
    raise Error("bound ", address)


def _leave_stale_file(path: String) raises:
    """Does what a killed server does: leaves its socket file behind."""
    var socket = open_unix(SOCK_STREAM)
    bind_socket(socket.fd(), SockAddr.unix(path.as_bytes()))
    socket.close()
    assert_true(exists(path))


def _talk(address: UnixAddr) raises:
    var listener = UnixListener.bind(address)
    assert_true(listener.local_addr() == address)
    var client = UnixStream.connect(address)
    var server = listener.accept(PATIENCE_MS)
    client.write_all("question".as_bytes())
    client.shutdown(Shutdown.WRITE)
    assert_equal(_read(server), "question")
    assert_equal(_read(server), "")
    assert_equal(server.write("answer".as_bytes()), 6)
    assert_equal(_read(client), "answer")
    assert_true(client.peer_addr() == address)
    assert_true(server.local_addr() == address)
    assert_true(server.peer_addr().is_unnamed())
    assert_true(client.local_addr().is_unnamed())
    server.close()
    assert_false(server.is_open())
    var is_broken = False
    try:
        client.write_all("late".as_bytes())
    except error:
        is_broken = error.kind == BrokenPipe
        assert_true(String(address) in String(error))
    assert_true(is_broken)


def test_unix_stream_by_path() raises:
    var folder = TemporaryDirectory()
    var path = folder.name + "/a.sock"
    _talk(path)
    # The listener's file has gone with it.
    assert_false(exists(path))
    assert_true(_connect_failure(path, 100).kind == PathNotFound)
    _ = folder^


def test_unix_stream_by_abstract_name() raises:
    var name = _abstract()
    _talk(name)
    var error = _connect_failure(name, 100)
    assert_true(error.kind == ConnectionRefused)
    assert_true(name in String(error))


def test_unix_stream_is_a_stream_for_buffers() raises:
    var listener = UnixListener.bind(_abstract())
    var client = UnixStream.connect(listener.local_addr())
    client.write_all("one\ntwo".as_bytes())
    client.shutdown()
    var reader = BufReader(listener.accept(PATIENCE_MS))
    assert_equal(reader.read_line().value(), "one")
    assert_equal(reader.read_line().value(), "two")


def test_unix_stream_timeouts() raises:
    var listener = UnixListener.bind(_abstract())
    var client = UnixStream.connect(listener.local_addr())
    client.set_read_timeout(20)
    var kind = String()
    try:
        _ = _read(client)
    except error:
        kind = String(error)
    assert_true("nothing within 20 ms" in kind, kind)
    client.set_write_timeout(20)
    var is_late = False
    try:
        client.write_all(List[UInt8](length=8_000_000, fill=65))
    except error:
        is_late = error.kind == Timeout
    assert_true(is_late)
    _ = listener^


def _fill_queue(address: UnixAddr) raises -> List[UnixStream]:
    """Connects until the listener's queue is full."""
    var clients = List[UnixStream]()
    while len(clients) < 100:
        try:
            clients.append(UnixStream.connect(address, 0))
        except error:
            assert_true(error.kind == ConnectionTimeout)
            return clients^
    raise Error("the queue has no end")


def test_unix_connect_ends_at_its_timeout() raises:
    var listener = UnixListener.bind(_abstract(), backlog=1)
    var address = listener.local_addr()
    var clients = _fill_queue(address)
    assert_true(len(clients) >= 1)
    var start = monotonic_ns()
    var error = _connect_failure(address, 30)
    assert_true(monotonic_ns() - start >= 29_000_000)
    assert_true(error.kind == ConnectionTimeout)
    assert_true("queue was full for 30 ms" in String(error))
    _ = clients^
    _ = listener^


@fieldwise_init
struct _Connecting(Task):
    var address: UnixAddr

    def run(mut self) raises:
        var stream = UnixStream.connect(self.address, PATIENCE_MS)
        # The socket must be non-blocking again: this wait has an end.
        stream.set_read_timeout(0)
        try:
            _ = _read(stream)
        except:
            stream.write_all("patient".as_bytes())


def test_unix_connect_waits_for_room_in_the_queue() raises:
    var listener = UnixListener.bind(_abstract(), backlog=1)
    var clients = _fill_queue(listener.local_addr())
    var thread = Thread(_Connecting(listener.local_addr()))
    for _ in range(len(clients)):
        _ = listener.accept(PATIENCE_MS)
    var server = listener.accept(PATIENCE_MS)
    thread^.join()
    assert_equal(_read(server), "patient")
    _ = clients^


def test_unix_listener_timeouts_and_close() raises:
    var folder = TemporaryDirectory()
    var path = folder.name + "/a.sock"
    var listener = UnixListener.bind(path)
    var kinds = List[String]()
    for _ in range(2):
        try:
            _ = listener.accept(10)
        except error:
            kinds.append(String(error.kind))
        listener.close()
        assert_false(exists(path))
        assert_equal(listener.fd(), -1)
    assert_equal(kinds[0], String(materialize[Timeout]()))
    assert_equal(kinds[1], String(materialize[NotConnected]()))
    _ = folder^


def test_unix_listener_refuses_a_path_that_is_taken() raises:
    var folder = TemporaryDirectory()
    var path = folder.name + "/a.sock"
    var listener = UnixListener.bind(path)
    for replace_stale in [False, True]:
        var error = _bind_failure(path, replace_stale)
        assert_true(error.kind == AddressInUse)
        assert_equal("replace_stale" in String(error), not replace_stale)
    assert_true(exists(path))
    var client = UnixStream.connect(path)
    client.close()
    _ = listener^
    _ = folder^


def test_unix_listener_replaces_a_stale_file_when_told_to() raises:
    var folder = TemporaryDirectory()
    var path = folder.name + "/a.sock"
    _leave_stale_file(path)
    assert_true(_bind_failure(path).kind == AddressInUse)
    var listener = UnixListener.bind(path, replace_stale=True)
    var client = UnixStream.connect(path)
    assert_true(client.is_open())
    listener.close()
    assert_false(exists(path))
    _ = folder^


def _let_clock_go_on():
    """Waits until what is made from now on has another time than what was made
    before: the kernel stamps files by its coarse clock."""
    var start_ms = coarse_monotonic_ms()
    while coarse_monotonic_ms() - start_ms < 20:
        pause(1)


def test_unix_file_of_a_successor_stays() raises:
    """A server that stops closes its socket, finishes what is under way, and
    then removes its file. The file of one that has begun there meanwhile is not
    its own, although the file system may have given it the same inode."""
    var folder = TemporaryDirectory()
    var path = folder.name + "/a.sock"
    var old = listen_unix(path, False, UNIX_BACKLOG)
    var socket = old.take_socket()
    socket.close()
    _let_clock_go_on()
    var successor = UnixListener.bind(path, replace_stale=True)
    _ = old^
    assert_true(exists(path))
    var client = UnixStream.connect(path)
    assert_true(client.is_open())
    successor.close()
    assert_false(exists(path))
    _ = folder^


def _go_to(folder: String) raises:
    var path = folder
    var result = external_call["chdir", Int32](path.as_c_string_span().ptr())
    _ = path^
    assert_equal(result, 0)


def _listen_and_leave(folder: String) raises:
    """Listens in a folder by a relative path, and closes elsewhere."""
    _go_to(folder)
    var listener = UnixListener.bind("a.sock")
    assert_true(exists(folder + "/a.sock"))
    _go_to("/")
    listener.close()
    assert_false(exists(folder + "/a.sock"))


def test_unix_file_of_a_relative_path_goes_wherever_the_program_is() raises:
    var folder = TemporaryDirectory()
    var home = String(cwd())
    try:
        _listen_and_leave(folder.name)
    finally:
        _go_to(home)
    _ = folder^


@fieldwise_init
struct _Starting(Task):
    """Begins to listen, though nobody may listen there yet."""

    var _path: String
    var _found: Mutex[String]

    def run(mut self) raises:
        try:
            _ = UnixListener.bind(self._path, replace_stale=True)
            self._found.lock()[] = "listens"
        except error:
            self._found.lock()[] = String(error.kind)


def test_unix_listener_that_begins_is_not_stale() raises:
    """unix(7): a connection is refused between bind and listen, too, and who
    starts then must not take the other one's file for a stale one."""
    var folder = TemporaryDirectory()
    var path = folder.name + "/a.sock"
    var found = Mutex(String())
    var turn = StartingTurn(path)
    var socket = open_unix(SOCK_STREAM)
    bind_socket(socket.fd(), SockAddr.unix(path.as_bytes()))
    var other = Thread(_Starting(path, found))
    # Long enough for a starter that does not wait to have its way.
    pause(100)
    listen_socket(socket.fd(), 1)
    _ = turn^
    other^.join()
    assert_equal(found.lock()[], String(AddressInUse))
    var client = UnixStream.connect(path)
    assert_true(client.is_open())
    socket.close()
    _ = folder^


def test_unix_listener_needs_no_turn_where_there_is_none() raises:
    """A folder that another program has locked is no hindrance for long."""
    var folder = TemporaryDirectory()
    var path = folder.name + "/a.sock"
    var lock = File.folder(folder.name)
    lock.lock()
    var listener = UnixListener.bind(path)
    assert_true(exists(path))
    listener.close()
    _ = lock^
    _ = folder^


def test_unix_listener_never_replaces_another_kind_of_file() raises:
    var folder = TemporaryDirectory()
    var path = folder.name + "/precious.txt"
    with open(path, "w") as file:
        file.write("mine")
    for replace_stale in [False, True]:
        var error = _bind_failure(path, replace_stale)
        assert_true(error.kind == AddressInUse)
        # Neither a program to be stopped, nor a file to be removed.
        assert_true("is no socket, and is kept: choose" in String(error))
        assert_false("stop the other" in String(error))
        assert_false("replace_stale" in String(error))
    with open(path, "r") as file:
        assert_equal(file.read(), "mine")
    _ = folder^


def test_unix_listener_refusals() raises:
    var nowhere = _bind_failure("/no/such/folder/a")
    assert_true(nowhere.kind == PathNotFound)
    assert_true("the folder of a socket has to be there" in String(nowhere))
    var name = _abstract()
    var listener = UnixListener.bind(name)
    assert_true(_bind_failure(name, True).kind == AddressInUse)
    _ = listener^
    var is_refused = False
    try:
        _ = UnixListener.bind(String("a") * 200)
    except error:
        is_refused = error.kind == BadAddress
    assert_true(is_refused)
