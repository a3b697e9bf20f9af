"""Hubs of several processes that share their messages."""

from flare.backplane.backplane import LocalBackplane
from flare.backplane.shared_memory import SharedMemoryBackplane
from flare.http.websocket.hub import WsHub
from flare.http.websocket.outbox import WsOutbox, WsSender
from flare.sys.clock import Deadline
from flare.sys.mutex import Mutex
from flare.sys.poll import wait_for
from flare.sys.process import end_process, fork_process, reap
from flare.sys.signal import SignalPause
from std.testing import assert_equal, assert_raises, assert_true
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
