"""Hubs of several processes that share their messages."""

from flare.backplane.backplane import LocalBackplane
from flare.backplane.redis import RedisBackplane
from flare.backplane.shared_memory import SharedMemoryBackplane
from flare.http.websocket.hub import WsHub
from flare.http.websocket.outbox import WsOutbox, WsSender
from flare.sys.clock import Deadline
from flare.sys.memory_map import SharedCounters
from flare.sys.mutex import Mutex
from flare.sys.poll import wait_for
from flare.sys.process import end_process, fork_process, reap
from flare.sys.signal import SignalPause
from tests.support.assertions import assert_equal, assert_raises, assert_true
from tests.support.ws_box import open_box, taken


def _child_ends(child: Int) raises:
    var deadline = Deadline(20_000)
    var status = reap(child)
    while not status:
        assert_true(deadline.left_ms() > 0, "the child does not end")
        status = reap(child)
    assert_equal(status.value().code, 0)


def _awaited(box: Mutex[WsOutbox], wanted: String) raises:
    """Takes what comes until it is all of what is wanted."""
    var deadline = Deadline(20_000)
    var heard = String()
    while heard.byte_length() < wanted.byte_length():
        assert_true(deadline.left_ms() > 0, heard)
        heard += taken(box)
        _ = wait_for(-1, 0, Deadline(1))
    assert_equal(heard, wanted)


def test_local_is_what_a_hub_is_without() raises:
    var ann = open_box(1)
    var hub = WsHub(LocalBackplane())
    hub.join(WsSender(ann), "red")
    assert_equal(hub.send_text("r", "red"), 1)
    assert_equal(taken(ann), "\\x81\\x01r")
    assert_equal(hub.backplane_counts().sent, 0)


def test_own_messages_come_once_and_are_counted() raises:
    var ann = open_box(1, waiting_len_max=10_000)
    var hub = WsHub(SharedMemoryBackplane(4_096))
    hub.join(WsSender(ann), "red")
    for _ in range(100):
        assert_equal(hub.send_text("r", "red"), 1)
        assert_equal(hub.send_binary("b".as_bytes(), "red"), 1)
        assert_equal(taken(ann), "\\x81\\x01r\\x82\\x01b")
    assert_equal(hub.send_text("r", "blue"), 0)
    assert_equal(hub.backplane_counts().sent, 201)
    assert_equal(hub.backplane_counts().received, 0)


def test_messages_of_another_process_come_in_order() raises:
    var ann = open_box(1, waiting_len_max=100_000)
    var hub = WsHub(SharedMemoryBackplane())
    hub.join(WsSender(ann), "red")
    var pause = SignalPause()
    var child = fork_process()
    if child == 0:
        for number in range(30):
            _ = hub.send_text(String(number), "red")
            _ = hub.send_text("elsewhere", "blue")
        end_process(0)
    pause^.end()
    var wanted = String()
    for number in range(30):
        wanted += "\\x81\\x01" if number < 10 else "\\x81\\x02"
        wanted += String(number)
    _awaited(ann, wanted)
    _child_ends(child)
    assert_equal(hub.backplane_counts().received, 60)
    assert_equal(hub.backplane_counts().lost, 0)


def test_a_message_that_is_too_long_goes_to_nobody() raises:
    var ann = open_box(1, waiting_len_max=10_000)
    var hub = WsHub(SharedMemoryBackplane(4_096))
    hub.join(WsSender(ann))
    assert_equal(hub.send_text(String("x") * 1_000), 0)
    assert_equal(hub.send_text(String("x") * 100, String("r") * 70_000), 0)
    assert_equal(taken(ann), "")
    assert_equal(hub.backplane_counts().refused, 2)
    assert_equal(hub.send_text("short"), 1)


def test_sizes_of_the_ring_are_checked() raises:
    for size in [0, -4_096, 4_095, 5_000, 2_048, 1 << 33]:
        with assert_raises(contains="a power of two from 4096"):
            _ = SharedMemoryBackplane(size)


def test_hubs_end_with_their_threads() raises:
    for _ in range(20):
        var hub = WsHub(SharedMemoryBackplane(4_096))
        hub.join(WsSender(open_box(1)))
        assert_equal(hub.send_text("x"), 1)


def _wait_until_set(word: SharedCounters) -> Bool:
    """Waits for the other process; False if it takes too long."""
    var deadline = Deadline(20_000)
    while word.load(0) == 0:
        if deadline.left_ms() == 0:
            return False
        _ = wait_for(-1, 0, Deadline(1))
    return True


def test_a_user_is_reached_and_closed_from_another_process() raises:
    var ann = open_box(1, waiting_len_max=100_000)
    var bob = open_box(2, waiting_len_max=100_000)
    var hub = WsHub(SharedMemoryBackplane())
    var is_ready = SharedCounters(1)
    var pause = SignalPause()
    # Before the hub has a thread, which a fork would not copy.
    var child = fork_process()
    if child == 0:
        if not _wait_until_set(is_ready):
            end_process(1)
        _ = hub.send_to_user("ann", "t")
        _ = hub.send_to_user("ann", "b".as_bytes())
        _ = hub.send_text("r", "red")
        try:
            _ = hub.close_user("ann", 4_001, "out")
        except:
            end_process(2)
        _ = hub.send_to_user("bob", "on")
        end_process(0)
    pause^.end()
    hub.set_user(WsSender(ann), "ann")
    hub.set_user(WsSender(bob), "bob")
    hub.join(WsSender(ann), "red")
    is_ready.add(0, 1)
    _awaited(ann, "\\x81\\x01t\\x82\\x01b\\x81\\x01r\\x88\\x05\\x0f\\xa1out")
    _awaited(bob, "\\x81\\x02on")
    _child_ends(child)
    assert_equal(hub.backplane_counts().received, 5)


def _speaks(hub: WsHub, expected: Int, text: StringSpan) raises:
    """Another process that finds so many messages, and adds one."""
    var pause = SignalPause()
    var child = fork_process()
    if child == 0:
        try:
            var back = hub.resume(WsSender(open_box(3)), "red", "")
            if back.sent_count != expected or not back.is_complete:
                end_process(1)
        except:
            end_process(2)
        _ = hub.send_text(text, "red", id=text)
        end_process(0)
    pause^.end()
    _child_ends(child)


def test_a_history_is_that_of_all_processes() raises:
    var hub = WsHub(SharedMemoryBackplane(), history=3)
    _speaks(hub, 0, "a")
    # It was not there when the first one was sent.
    _speaks(hub, 1, "b")
    var ann = open_box(1, waiting_len_max=10_000)
    var back = hub.resume(WsSender(ann), "red", "a")
    assert_equal(back.sent_count, 1)
    assert_true(back.is_complete)
    assert_equal(hub.send_text("c", "red", id="c"), 1)
    _awaited(ann, "\\x81\\x01b\\x81\\x01c")


def test_a_history_wants_one_order() raises:
    with assert_raises(contains="in one order"):
        _ = WsHub(RedisBackplane("redis://127.0.0.1:1", "room"), history=5)
    _ = WsHub(
        RedisBackplane("redis://127.0.0.1:1", "room", history=5), history=5
    )


def test_one_is_left_out_in_its_own_process_alone() raises:
    """Both processes have a connection with the number 1: the number tells them
    apart within a process, not beyond it."""
    for history in [0, 5]:
        var ann = open_box(1, waiting_len_max=100_000)
        var hub = WsHub(SharedMemoryBackplane(), history=history)
        hub.join(WsSender(ann), "red")
        var pause = SignalPause()
        var child = fork_process()
        if child == 0:
            var eve = open_box(1)
            hub.join(WsSender(eve), "red")
            _ = hub.send_text("c", "red", all_but=WsSender(eve))
            end_process(0)
        pause^.end()
        _awaited(ann, "\\x81\\x01c")
        _child_ends(child)
        var bob = open_box(2, waiting_len_max=100_000)
        hub.join(WsSender(bob), "red")
        assert_equal(hub.send_text("a", "red", all_but=WsSender(ann)), 1)
        assert_equal(hub.send_text("b", "red"), 2)
        assert_equal(taken(ann), "\\x81\\x01b")
        assert_equal(taken(bob), "\\x81\\x01a\\x81\\x01b")
