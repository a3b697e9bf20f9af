"""Tests of connecting to the first address that answers."""

from flare.net.error import (
    BadAddress,
    ConnectionRefused,
    ConnectionTimeout,
    NetworkError,
    Unreachable,
)
from flare.net.ip import IpAddr
from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr
from flare.sys.clock import Deadline, monotonic_ns
from flare.sys.poll import POLL_WRITE, PollEntry, poll_descriptors
from flare.tcp.connecting import (
    ATTEMPT_DELAY_MS,
    AddressRace,
    ConnectionRace,
    STILL_RACING,
    connect_first,
    is_connected_to_itself,
)
from flare.tcp.stream import TcpListener
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.loopback import (
    PATIENCE_MS,
    RefusingPort,
    SilentPort,
    TcpPair,
)


def _peer(addresses: List[SocketAddr]) raises -> SocketAddr:
    var connected = connect_first(addresses, "test", Deadline(PATIENCE_MS))
    assert_true(connected.socket.peer_addr() == connected.peer)
    return connected.peer


def _failure(
    addresses: List[SocketAddr], timeout_ms: Int
) raises -> NetworkError:
    try:
        _ = connect_first(addresses, "test", Deadline(timeout_ms))
    except error:
        return error.copy()
    raise Error("there was no error")


def test_connecting_takes_the_next_address_after_a_refusal() raises:
    var refusing = RefusingPort()
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var good = listener.local_addr()
    assert_true(_peer([refusing.address(), good]) == good)
    _ = listener.accept(PATIENCE_MS)
    _ = refusing^


def test_connecting_overtakes_an_address_that_is_silent() raises:
    var silent = SilentPort()
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var good = listener.local_addr()
    var start = monotonic_ns()
    assert_true(_peer([silent.address(), good]) == good)
    # RFC 8305 section 5: the second attempt starts after its delay.
    assert_true(monotonic_ns() - start >= (ATTEMPT_DELAY_MS - 1) * 1_000_000)
    _ = listener.accept(PATIENCE_MS)
    _ = silent^


def _sockets_of(address: SocketAddr) raises -> Int:
    """Counts this machine's TCP sockets whose peer is an address (Linux)."""
    var port = hex(Int(address.port), prefix="").upper()
    while port.byte_length() < 4:
        port = "0" + port
    var peer = String("0100007F:", port)
    var count = 0
    with open("/proc/net/tcp", "r") as table:
        for line in table.read().split("\n"):
            var fields = line.split()
            count += 1 if len(fields) > 2 and fields[2] == peer else 0
    return count


def test_connecting_closes_the_losers() raises:
    var silent = SilentPort()
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var before = _sockets_of(silent.address())
    assert_true(before > 0)
    var late = connect_first(
        [silent.address(), listener.local_addr()],
        "test",
        Deadline(PATIENCE_MS),
    )
    assert_true(late.peer == listener.local_addr())
    assert_equal(_sockets_of(silent.address()), before)
    _ = _failure([silent.address()], 20)
    assert_equal(_sockets_of(silent.address()), before)
    _ = late^
    _ = listener^
    _ = silent^


def test_connecting_names_what_was_tried() raises:
    var refusing = RefusingPort()
    var address = refusing.address()
    var one = _failure([address], PATIENCE_MS)
    assert_true(one.kind == ConnectionRefused)
    assert_true(
        String(one).startswith(String("connect test (", address, "): "))
    )
    var two = _failure([address, address], PATIENCE_MS)
    assert_true(two.kind == ConnectionRefused)
    assert_true("2 of 2 addresses tried" in String(two))
    _ = refusing^


def test_connecting_prefers_the_failure_that_says_more() raises:
    # Linux has no route for TCP to the broadcast address of loopback.
    var refusing = RefusingPort()
    var nowhere = SocketAddr(IpAddr.v4(127, 255, 255, 255), 9)
    assert_true(_failure([nowhere], PATIENCE_MS).kind == Unreachable)
    for turn in range(2):
        var addresses: List[SocketAddr] = [nowhere, refusing.address()]
        if turn == 1:
            addresses = [refusing.address(), nowhere]
        var error = _failure(addresses, PATIENCE_MS)
        assert_true(error.kind == ConnectionRefused)
    _ = refusing^


def test_connecting_ends_at_the_deadline() raises:
    var silent = SilentPort()
    for timeout_ms in [0, 100]:
        var error = _failure([silent.address()], timeout_ms)
        assert_true(error.kind == ConnectionTimeout)
        assert_true(String("within ", timeout_ms, " ms") in String(error))
    # Two silent addresses share the time.
    var start = monotonic_ns()
    var both = _failure([silent.address(), silent.address()], 300)
    assert_true(both.kind == ConnectionTimeout)
    assert_true("2 of 2 addresses tried" in String(both))
    assert_true(monotonic_ns() - start < 5_000_000_000)
    _ = silent^


def test_connecting_does_not_end_before_the_deadline() raises:
    # Whoever asks behind it whose time it was has to find it over.
    var silent = SilentPort()
    for _ in range(20):
        var deadline = Deadline(1)
        var race = AddressRace([silent.address()], deadline)
        assert_equal(race.run(), -1)
        assert_equal(deadline.left_ms(), 0)
    _ = silent^


def test_connecting_to_no_address() raises:
    assert_true(_failure([], PATIENCE_MS).kind == BadAddress)


def test_connecting_to_oneself_is_noticed() raises:
    # Bound to the port it asks for: what the kernel does by chance, at will.
    var own = RawSocket.tcp()
    own.bind(SocketAddr.localhost(0))
    var address = own.local_addr()
    if not own.connect(address):
        own.check_connected(address)
    assert_true(is_connected_to_itself(own))
    var pair = TcpPair()
    var socket = pair^.take_client()
    assert_false(is_connected_to_itself(socket))


def _advanced(addresses: List[SocketAddr], timeout_ms: Int) raises -> Int:
    """Runs a race as a reactor does; gives the winner."""
    var race = AddressRace(addresses.copy(), Deadline(timeout_ms))
    while True:
        var winner = race.advance()
        if winner != STILL_RACING:
            return winner
        var entries = List[PollEntry]()
        for number in race.fds():
            entries.append(PollEntry(number, POLL_WRITE, 0))
        _ = poll_descriptors(entries, race.wait_ms())


def test_a_race_goes_on_without_waiting() raises:
    var silent = SilentPort()
    var refusing = RefusingPort()
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var good = listener.local_addr()
    var bad = refusing.address()
    assert_equal(_advanced([good], PATIENCE_MS), 0)
    assert_equal(_advanced([bad, good], PATIENCE_MS), 1)
    assert_equal(_advanced([silent.address(), bad, good], PATIENCE_MS), 2)
    assert_equal(_advanced([bad, bad], PATIENCE_MS), -1)
    assert_equal(_advanced([silent.address()], 50), -1)
    # It never waits itself, whatever there is to wait for.
    var race = AddressRace([silent.address()], Deadline(PATIENCE_MS))
    var start = monotonic_ns()
    assert_equal(race.advance(), STILL_RACING)
    assert_true(monotonic_ns() - start < 1_000_000_000)
    assert_true(race.wait_ms() > 1_000)
    assert_equal(len(race.fds()), 1)
    _ = silent^
    _ = refusing^
    _ = listener^


@fieldwise_init
struct _Row(Copyable):
    var rule: String
    var address_count: Int
    var script: String
    """A number asks for the next step at that time; `f20` is a failure at 20,
    `s` a success."""
    var steps: String


def _play(row: _Row) raises -> String:
    var race = ConnectionRace(row.address_count, 0, 1_000)
    var steps = String()
    for word in row.script.split(" "):
        if word == "s":
            race.succeeded()
        elif word.startswith("f"):
            race.failed(Int(word[byte = 1 : word.byte_length()]))
        else:
            if steps.byte_length() > 0:
                steps.write(", ")
            steps.write(race.next_step(Int(word)))
    return steps^


def test_connection_race_rows() raises:
    var rows: List[_Row] = [
        _Row("first at once", 2, "0 0", "start 0, wait 250"),
        _Row(
            "8305-5 attempts 250 ms apart",
            3,
            "0 249 250 499 500 500",
            "start 0, wait 250, start 1, wait 500, start 2, wait 1000",
        ),
        _Row(
            "8305-5 the delay counts from the start that was",
            3,
            "0 300 300 550",
            "start 0, start 1, wait 550, start 2",
        ),
        _Row(
            "a failure starts the next at once",
            3,
            "0 f10 10 10 f20 20 20",
            "start 0, start 1, wait 260, start 2, wait 1000",
        ),
        _Row(
            "a late failure of an early attempt, too",
            3,
            "0 250 f300 300",
            "start 0, start 1, start 2",
        ),
        _Row("8305-5 success ends it", 2, "0 s 0 300", "start 0, won, won"),
        _Row("the second may win", 2, "0 250 s 260", "start 0, start 1, won"),
        _Row(
            "a failure after the success changes nothing",
            2,
            "0 250 s f260 260",
            "start 0, start 1, won",
        ),
        _Row("one address", 1, "0 0 f30 30", "start 0, wait 1000, all failed"),
        _Row(
            "all fail",
            2,
            "0 f1 1 f2 2",
            "start 0, start 1, all failed",
        ),
        _Row(
            "too late while an attempt is under way",
            1,
            "0 999 1000",
            "start 0, wait 1000, too late",
        ),
        _Row(
            "a start is never later than the deadline",
            9,
            "0 800 900 1000",
            "start 0, start 1, wait 1000, too late",
        ),
        _Row("no time at all", 1, "1000", "too late"),
        _Row("no address", 0, "0", "all failed"),
        _Row(
            "failure counts before lateness",
            1,
            "0 f1 1000",
            "start 0, all failed",
        ),
    ]
    for row in rows:
        assert_equal(_play(row), row.steps, row.rule)
