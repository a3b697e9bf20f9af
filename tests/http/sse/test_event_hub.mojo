"""Who gets which events, and what waits for whom."""

from flare.backplane.shared_memory import SharedMemoryBackplane
from flare.bytes.buffer import Buffer
from flare.http.message.body import BodyStream, Poll
from flare.http.message.owned_request import OwnedRequest
from flare.http.sse.event_hub import EventHub, ServerSentEvent
from flare.sys.clock import Deadline, thread_cpu_ns
from flare.sys.process import end_process, fork_process, reap
from flare.sys.signal import SignalPause
from std.memory import ArcPointer
from tests.support.assertions import assert_equal, assert_raises, assert_true


struct Listener(Movable):
    """A subscriber without a connection."""

    var stream: ArcPointer[BodyStream]

    def __init__(
        out self,
        hub: EventHub,
        last_id: StringSpan = "",
        *,
        sends_history: Bool = False,
        user: StringSpan = "",
    ) raises:
        var request = OwnedRequest("GET", "/events")
        if last_id.byte_length() > 0:
            request.add_header("Last-Event-ID", last_id)
        self.stream = hub.subscribe(
            request.view(), sends_history=sends_history, user=user
        ).body.stream()

    def heard(mut self) raises -> String:
        """Takes all that waits; a dot behind each event."""
        var text = String()
        while True:
            var out = Buffer()
            var supply = self.stream[].fill(out)
            text.write(StringSpan(unsafe_from_utf8=out.span()))
            if supply != Poll.READY:
                break
        return text.replace("data: ", "").replace("\n\n", ".")


def listeners(hub: EventHub, count: Int) raises -> List[Listener]:
    var made = List[Listener]()
    for _ in range(count):
        made.append(Listener(hub))
    return made^


def test_who_stays_gets_all_whoever_leaves() raises:
    """In whatever order they go."""
    for start in range(4):
        var hub = EventHub()
        var all = listeners(hub, 10)
        hub.publish(ServerSentEvent("a"))
        for count in range(9, 0, -1):
            # From the front, the back and the middle.
            var index = (start * 3 + count * 7) % len(all)
            all.swap_elements(index, len(all) - 1)
            _ = all.pop()
            assert_equal(hub.subscriber_count(), count)
        hub.publish(ServerSentEvent("b"))
        assert_equal(all[0].heard(), "a.b.")
        all.clear()
        assert_equal(hub.subscriber_count(), 0)


def test_who_names_no_event_gets_the_history_if_that_is_wanted() raises:
    var hub = EventHub(history=2)
    for name in ["a", "b", "c"]:
        hub.publish(ServerSentEvent(name, id=name))
    var stranger = Listener(hub)
    assert_equal(stranger.heard(), "")
    var reader = Listener(hub, sends_history=True)
    assert_equal(reader.heard(), "id: b\nb.id: c\nc.")
    # Who names one goes on behind it.
    var known = Listener(hub, "b", sends_history=True)
    assert_equal(known.heard(), "id: c\nc.")


def test_a_user_alone_gets_what_is_for_him() raises:
    var hub = EventHub(history=10)
    var phone = Listener(hub, user="ann")
    var laptop = Listener(hub, user="ann")
    var bob = Listener(hub, user="bob")
    var stranger = Listener(hub)
    hub.publish(ServerSentEvent("all", id="1"))
    assert_equal(hub.publish_to_user("ann", ServerSentEvent("own", id="2")), 2)
    assert_equal(hub.publish_to_user("eve", ServerSentEvent("no", id="3")), 0)
    assert_equal(hub.publish_to_user("", ServerSentEvent("no")), 0)
    hub.publish(ServerSentEvent("end", id="4"))
    assert_equal(phone.heard(), "id: 1\nall.id: 2\nown.id: 4\nend.")
    assert_equal(laptop.heard(), "id: 1\nall.id: 2\nown.id: 4\nend.")
    assert_equal(bob.heard(), "id: 1\nall.id: 4\nend.")
    assert_equal(stranger.heard(), "id: 1\nall.id: 4\nend.")
    # So it is with what is kept.
    var again = Listener(hub, "1", user="ann")
    assert_equal(again.heard(), "id: 2\nown.id: 4\nend.")
    again = Listener(hub, "2", user="ann")
    assert_equal(again.heard(), "id: 4\nend.")
    again = Listener(hub, "1", user="bob")
    assert_equal(again.heard(), "id: 4\nend.")
    again = Listener(hub, "3", user="eve")
    assert_equal(again.heard(), "id: 4\nend.")


def test_the_streams_of_a_user_end() raises:
    var hub = EventHub()
    var phone = Listener(hub, user="ann")
    var bob = Listener(hub, user="bob")
    var stranger = Listener(hub)
    hub.publish(ServerSentEvent("a"))
    assert_equal(hub.close_user(""), 0)
    assert_equal(hub.close_user("ann"), 1)
    hub.publish(ServerSentEvent("b"))
    assert_equal(bob.heard(), "a.b.")
    assert_equal(stranger.heard(), "a.b.")
    var out = Buffer()
    # What was sent before is still there.
    assert_true(phone.stream[].fill(out) == Poll.DONE)
    assert_equal(StringSpan(unsafe_from_utf8=out.span()), "data: a\n\n")
    out.clear()
    assert_true(bob.stream[].fill(out) == Poll.PENDING)


def test_leaving_takes_no_longer_among_many() raises:
    """It takes about what joining takes, which looks at nobody else. Looking
    through 60,000 others takes a hundred times as long."""
    var hub = EventHub()
    var start_ns = thread_cpu_ns()
    var all = listeners(hub, 60_000)
    var joining_ns = thread_cpu_ns() - start_ns
    # The first ones first.
    all.reverse()
    start_ns = thread_cpu_ns()
    while len(all) > 0:
        _ = all.pop()
    var leaving_ns = thread_cpu_ns() - start_ns
    assert_equal(hub.subscriber_count(), 0)
    assert_true(
        leaving_ns < 4 * joining_ns,
        String(joining_ns, " ns to join, ", leaving_ns, " ns to leave"),
    )


def test_too_much_cuts_off_but_one_event_always_fits() raises:
    var hub = EventHub(buffer_max=100)
    var listener = Listener(hub)
    var text = String("x") * 200
    hub.publish(ServerSentEvent(text))
    assert_equal(listener.heard(), text + ".", "nothing waited")
    hub.publish(ServerSentEvent(text))
    hub.publish(ServerSentEvent("y"))
    with assert_raises(contains="in time"):
        _ = listener.heard()
    assert_true(listener.stream[].has_given_up())


def test_a_client_that_comes_back_gets_a_long_history() raises:
    """However much that is: else it would be cut off each time."""
    var hub = EventHub(history=10, buffer_max=100)
    for number in range(10):
        hub.publish(ServerSentEvent(String("x") * 50, id=String(number)))
    var listener = Listener(hub, "forgotten")
    assert_equal(listener.heard().count("."), 10)


def test_many_small_events_come_whole_and_in_order() raises:
    """Piece by piece, with others in between."""
    var hub = EventHub(buffer_max=10_000_000)
    var listener = Listener(hub)
    var wanted = String()
    var got = String()
    for round in range(5):
        for number in range(10_000):
            var text = String(round, "-", number)
            hub.publish(ServerSentEvent(text))
            wanted.write(text, ".")
        var out = Buffer()
        assert_true(listener.stream[].fill(out) == Poll.READY)
        got.write(StringSpan(unsafe_from_utf8=out.span()))
    got = got.replace("data: ", "").replace("\n\n", ".")
    got += listener.heard()
    assert_equal(got.byte_length(), wanted.byte_length())
    assert_true(got == wanted)


def _written(event: ServerSentEvent) raises -> String:
    var out = Buffer()
    event.append_to(out)
    return String(from_utf8=out.span())


def _expect(data: StaticString, wanted: StaticString) raises:
    assert_equal(_written(ServerSentEvent(String(data))), String(wanted))


def test_line_ends_of_data_split_it() raises:
    # HTML Standard 9.2.6: CR, LF and CRLF end a line.
    _expect("", "data: \n\n")
    _expect("a", "data: a\n\n")
    _expect(" a ", "data:  a \n\n")
    _expect("a\nb", "data: a\ndata: b\n\n")
    _expect("a\r\nb", "data: a\ndata: b\n\n")
    _expect("a\rb", "data: a\ndata: b\n\n")
    _expect("a\n", "data: a\ndata: \n\n")
    _expect("\n\r\r\n", "data: \ndata: \ndata: \ndata: \n\n")
    _expect("a\n\nid: 7", "data: a\ndata: \ndata: id: 7\n\n")


def test_fields_go_before_the_data() raises:
    assert_equal(
        _written(ServerSentEvent("d", name="n", id="i", retry_ms=20)),
        "id: i\nevent: n\nretry: 20\ndata: d\n\n",
    )


def test_names_and_ids_are_one_line() raises:
    with assert_raises(contains="name of an event has a line end"):
        _ = ServerSentEvent("d", name="a\nb")
    with assert_raises(contains="id of an event has a line end"):
        _ = ServerSentEvent("d", id="a\rb")
    with assert_raises(contains="NUL"):
        _ = ServerSentEvent("d", id="a\0b")
    with assert_raises(contains="retry_ms is -1"):
        _ = ServerSentEvent("d", retry_ms=-1)


def test_events_reach_a_history_that_begins_later() raises:
    """A process that subscribes its first client finds what was published."""
    var hub = EventHub(SharedMemoryBackplane(), history=3)
    var pause = SignalPause()
    var child = fork_process()
    if child == 0:
        for number in range(5):
            try:
                hub.publish(ServerSentEvent(String(number), id=String(number)))
            except:
                end_process(1)
        end_process(0)
    pause^.end()
    var deadline = Deadline(20_000)
    var status = reap(child)
    while not status:
        assert_true(deadline.left_ms() > 0, "the child does not end")
        status = reap(child)
    assert_equal(status.value().code, 0)
    # Of five, three are kept; one client has had the third of them.
    var third = Listener(hub, "3")
    assert_equal(third.heard().replace("id: 4\n", ""), "4.")
    var stranger = Listener(hub, "gone")
    assert_equal(len(stranger.heard().split(".")), 4)
    assert_equal(hub.backplane_counts().received, 5)
    var listener = Listener(hub)
    hub.publish(ServerSentEvent("own"))
    assert_equal(listener.heard(), "own.")
