"""The life of a stream (RFC 9113 section 5.1), every state with every event."""

from flare.http.h2.stream import (
    Http2Stream,
    StreamContent,
    StreamEvent,
    StreamState,
    StreamTable,
    happens,
    state_after,
)
from tests.support.assertions import assert_equal, assert_false, assert_true


@fieldwise_init
struct _Edge(Copyable, Movable):
    var state: StreamState
    var event: StreamEvent
    var next: StreamState


def test_every_edge() raises:
    # What is not listed does not happen.
    var edges: List[_Edge] = [
        _Edge(StreamState.IDLE, StreamEvent.HEADERS_SENT, StreamState.OPEN),
        _Edge(StreamState.IDLE, StreamEvent.HEADERS_RECEIVED, StreamState.OPEN),
        _Edge(StreamState.OPEN, StreamEvent.HEADERS_SENT, StreamState.OPEN),
        _Edge(StreamState.OPEN, StreamEvent.HEADERS_RECEIVED, StreamState.OPEN),
        _Edge(
            StreamState.OPEN,
            StreamEvent.END_SENT,
            StreamState.HALF_CLOSED_LOCAL,
        ),
        _Edge(
            StreamState.OPEN,
            StreamEvent.END_RECEIVED,
            StreamState.HALF_CLOSED_REMOTE,
        ),
        _Edge(StreamState.OPEN, StreamEvent.RESET, StreamState.CLOSED),
        _Edge(
            StreamState.HALF_CLOSED_LOCAL,
            StreamEvent.HEADERS_RECEIVED,
            StreamState.HALF_CLOSED_LOCAL,
        ),
        _Edge(
            StreamState.HALF_CLOSED_LOCAL,
            StreamEvent.END_RECEIVED,
            StreamState.CLOSED,
        ),
        _Edge(
            StreamState.HALF_CLOSED_LOCAL,
            StreamEvent.RESET,
            StreamState.CLOSED,
        ),
        _Edge(
            StreamState.HALF_CLOSED_REMOTE,
            StreamEvent.HEADERS_SENT,
            StreamState.HALF_CLOSED_REMOTE,
        ),
        _Edge(
            StreamState.HALF_CLOSED_REMOTE,
            StreamEvent.END_SENT,
            StreamState.CLOSED,
        ),
        _Edge(
            StreamState.HALF_CLOSED_REMOTE,
            StreamEvent.RESET,
            StreamState.CLOSED,
        ),
        _Edge(StreamState.CLOSED, StreamEvent.RESET, StreamState.CLOSED),
    ]
    for number in range(StreamState.COUNT):
        for column in range(StreamEvent.COUNT):
            var state = StreamState(UInt8(number))
            var event = StreamEvent(UInt8(column))
            var place = String("state ", number, " event ", column)
            var found = False
            for edge in edges:
                if edge.state == state and edge.event == event:
                    found = True
                    assert_true(state_after(state, event) == edge.next, place)
            assert_equal(happens(state, event), found, place)
            if not found:
                assert_true(state_after(state, event) == state, place)


def test_streams_are_found_while_others_go() raises:
    var table = StreamTable()
    for id in range(1, 11, 2):
        _ = table.add(Http2Stream(id, 10, 10))
    table.drop(table.find(3))
    table.drop(table.find(9))
    assert_equal(table.find(3), -1)
    assert_equal(table.find(9), -1)
    for id in [1, 5, 7]:
        assert_equal(table.at(table.find(id)).id, id)


def test_the_last_resets_are_remembered() raises:
    var table = StreamTable()
    for id in range(1, 1_201):
        table.note_reset(id, 10)
    assert_false(table.was_reset(176))
    assert_true(table.was_reset(177))
    assert_true(table.was_reset(1_200))
    assert_false(table.was_reset(1_201))
    # The first time counts, and so much may follow.
    table.note_reset(1_200, 100)
    assert_true(table.take_late(1_200, 4) and table.take_late(1_200, 6))
    assert_false(table.take_late(1_200, 1))
    assert_true(table.take_late(1_199, 10))
    assert_false(table.take_late(176, 0))


def test_a_table_and_a_list() raises:
    # Random walks beside the simplest thing that does the same.
    for seed in range(200):
        var word = UInt64(seed) * 2 + 1
        var table = StreamTable()
        var open = List[Int]()
        var resets = List[Int]()
        for step in range(120):
            word = word * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407
            var choice = Int((word >> 40) % 3)
            if choice == 0 or len(open) == 0:
                var id = 2 * step + 1
                var index = table.add(Http2Stream(id, step, 7))
                assert_equal(table.at(index).id, id)
                open.append(id)
            elif choice == 1:
                var place = Int((word >> 33) % UInt64(len(open)))
                table.drop(table.find(open[place]))
                _ = open.pop(place)
            else:
                resets.append(step)
                table.note_reset(step, 0)
            assert_equal(len(table), len(open))
            for id in range(1, 2 * step + 2, 2):
                var index = table.find(id)
                assert_equal(index >= 0, id in open)
                if index >= 0:
                    assert_equal(table.at(index).send_window, id // 2)
            assert_equal(table.was_reset(step), step in resets)


@fieldwise_init
struct _StatusRow(Copyable):
    var before: StreamContent
    var status: Int
    var after: StreamContent
    var rule: StaticString


def test_what_follows_each_status() raises:
    comptime C = StreamContent
    var rows: List[_StatusRow] = [
        _StatusRow(C.ANY, 200, C.ANY, "9110-6.4.1 content"),
        _StatusRow(C.ANY, 204, C.NONE, "9110-6.4.1 204 has none"),
        _StatusRow(C.ANY, 304, C.NONE, "9110-6.4.1 304 has none"),
        _StatusRow(C.ANY, 404, C.ANY, "9110-6.4.1 of an error"),
        _StatusRow(C.NONE, 200, C.NONE, "9110-9.3.2 HEAD"),
        _StatusRow(C.NONE, 204, C.NONE, "9110-9.3.2 HEAD"),
        _StatusRow(C.NONE, 304, C.NONE, "9110-9.3.2 HEAD"),
        _StatusRow(C.NONE, 404, C.NONE, "9110-9.3.2 HEAD"),
        # RFC 9113 section 8.5: any of 2xx opens it.
        _StatusRow(C.TUNNEL, 200, C.TUNNEL, "9110-9.3.6 a tunnel"),
        _StatusRow(C.TUNNEL, 204, C.TUNNEL, "9110-9.3.6 a tunnel"),
        _StatusRow(C.TUNNEL, 304, C.NONE, "9110-9.3.6 refused"),
        _StatusRow(C.TUNNEL, 404, C.ANY, "9110-9.3.6 refused, with content"),
    ]
    for row in rows:
        var content = row.before
        content.note_status(row.status)
        assert_equal(
            Int(content.number),
            Int(row.after.number),
            String(row.rule, ", status ", row.status),
        )
    assert_equal(len(rows), StreamContent.COUNT * 4)
