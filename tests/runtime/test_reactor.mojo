"""Tests of the reactor."""

from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr
from flare.runtime.event import Interest, Waker
from flare.runtime.reactor import EVENT_COUNT_MAX, RESERVED_TOKEN, Reactor
from flare.sys.clock import monotonic_ns
from flare.sys.errno import EINVAL
from flare.sys.signal import SIGUSR1, SignalPipe, process_id, send_signal
from flare.sys.thread import Task, Thread
from tests.support.assertions import assert_equal, assert_false, assert_true


def _poll_until_events(mut reactor: Reactor) raises -> Int:
    while True:
        var count = reactor.poll(5_000)
        if count > 0:
            return count


def test_reactor_reports_a_connection_then_its_octets_then_its_end() raises:
    var reactor = Reactor()
    var listener = RawSocket.listen_tcp(SocketAddr.localhost(0))
    reactor.register(listener.fd(), 1, Interest.READ)
    assert_equal(reactor.poll(0), 0)
    var client = RawSocket.tcp()
    _ = client.connect(listener.local_addr())
    assert_equal(_poll_until_events(reactor), 1)
    assert_equal(reactor.event(0).token, 1)
    var server = listener.accept().take_socket()
    assert_true(server.is_open())

    reactor.register(server.fd(), 2, Interest.READ | Interest.EDGE)
    _ = client.send("hi".as_bytes())
    assert_equal(_poll_until_events(reactor), 1)
    assert_equal(reactor.event(0).token, 2)
    assert_true(reactor.event(0).is_readable)
    assert_false(reactor.event(0).is_closed)
    assert_equal(reactor.poll(0), 0)

    client.finish_writing()
    assert_equal(_poll_until_events(reactor), 1)
    assert_true(reactor.event(0).is_closed)
    reactor.deregister(server.fd())
    client.close()
    assert_equal(reactor.poll(0), 0)
    _ = server^


@fieldwise_init
struct _Waking(Task):
    var waker: Waker

    def run(mut self) raises:
        self.waker.wake()


def test_reactor_wake_ends_a_poll_without_an_event() raises:
    var reactor = Reactor()
    var thread = Thread(_Waking(reactor.waker()))
    assert_equal(reactor.poll(), 0)
    thread^.join()
    # Drained: the next poll would wait again.
    assert_equal(reactor.poll(0), 0)


def test_reactor_timers_bound_the_wait_and_never_come_early() raises:
    var reactor = Reactor()
    for delay_ms in [0, 1, 5, 20]:
        var begin_ns = monotonic_ns()
        _ = reactor.insert_timer(delay_ms, 42)
        var token = Optional[UInt64](None)
        while not token:
            assert_equal(reactor.poll(), 0)
            token = reactor.next_expired()
        assert_equal(token.value(), 42)
        assert_true(monotonic_ns() - begin_ns >= delay_ms * 1_000_000)
        assert_equal(reactor.timer_count(), 0)


def test_reactor_timers_in_order_and_cancelled() raises:
    var reactor = Reactor()
    _ = reactor.insert_timer(6, 3)
    var second = reactor.insert_timer(4, 2)
    _ = reactor.insert_timer(2, 1)
    assert_true(reactor.cancel_timer(second))
    assert_false(reactor.cancel_timer(second))
    var tokens = List[UInt64]()
    while reactor.timer_count() > 0:
        _ = reactor.poll()
        while True:
            var token = reactor.next_expired()
            if not token:
                break
            tokens.append(token.value())
    assert_equal(len(tokens), 2)
    assert_equal(tokens[0], 1)
    assert_equal(tokens[1], 3)


def test_reactor_timeout_is_kept_with_a_far_timer() raises:
    var reactor = Reactor()
    _ = reactor.insert_timer(3_600_000, 1)
    var begin_ns = monotonic_ns()
    assert_equal(reactor.poll(5), 0)
    assert_true(monotonic_ns() - begin_ns < 60_000_000_000)
    assert_false(reactor.next_expired().__bool__())
    assert_equal(reactor.timer_count(), 1)


def test_reactor_bounds_too_large_for_the_kernel() raises:
    var reactor = Reactor()
    _ = reactor.insert_timer(Int.MAX, 1)
    assert_equal(reactor.poll(0), 0)
    assert_false(reactor.next_expired().__bool__())
    # As 32 bits these would be 0, negative, and -1.
    for timeout_ms in [1 << 32, 1 << 31, (1 << 32) - 1]:
        reactor.waker().wake()
        assert_equal(reactor.poll(timeout_ms), 0)
    _ = reactor.insert_timer(-5, 2)
    while reactor.timer_count() > 1:
        _ = reactor.poll()
        _ = reactor.next_expired()


def _errno_of_register(mut reactor: Reactor, number: Int32) -> Int:
    try:
        reactor.register(number, RESERVED_TOKEN, Interest.READ)
        return 0
    except error:
        return error.number


def _errno_of_modify(mut reactor: Reactor, number: Int32) -> Int:
    try:
        reactor.modify(number, RESERVED_TOKEN, Interest.READ)
        return 0
    except error:
        return error.number


def test_reactor_refuses_its_own_token() raises:
    var reactor = Reactor()
    var waker = Waker()
    assert_equal(_errno_of_register(reactor, waker.fd()), EINVAL)
    reactor.register(waker.fd(), 1, Interest.READ)
    assert_equal(_errno_of_modify(reactor, waker.fd()), EINVAL)
    reactor.modify(waker.fd(), 2, Interest.READ)
    waker.wake()
    assert_equal(_poll_until_events(reactor), 1)
    assert_equal(reactor.event(0).token, 2)
    _ = waker^


def test_reactor_signal_is_an_event() raises:
    var reactor = Reactor()
    var bell = SignalPipe([SIGUSR1])
    reactor.register(bell.fd(), 9, Interest.READ)
    send_signal(process_id(), SIGUSR1)
    assert_equal(_poll_until_events(reactor), 1)
    assert_equal(reactor.event(0).token, 9)
    assert_equal(len(bell.take()), 1)
    assert_equal(reactor.poll(0), 0)
    _ = bell^


def test_reactor_many_connections_each_once() raises:
    comptime COUNT = 100
    var reactor = Reactor()
    var wakers = List[Waker]()
    for token in range(COUNT):
        var waker = Waker()
        reactor.register(
            waker.fd(), UInt64(token), Interest.READ | Interest.EDGE
        )
        waker.wake()
        wakers.append(waker^)
    var seen = List[Int](length=COUNT, fill=0)
    var total = 0
    while total < COUNT:
        var count = _poll_until_events(reactor)
        assert_true(count <= EVENT_COUNT_MAX)
        for index in range(count):
            seen[Int(reactor.event(index).token)] += 1
        total += count
    for token in range(COUNT):
        assert_equal(seen[token], 1)
    _ = wakers^
