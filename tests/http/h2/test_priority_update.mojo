"""PRIORITY_UPDATE of a client (RFC 9218 sections 7 and 7.1)."""

from flare.http.h2.connection_state import Http2Limits, Http2Role
from flare.http.h2.priority import Priority
from std.collections.string.string_span import get_static_string
from tests.support.assertions import assert_equal, assert_true
from tests.support.h2_log import Frames, Http2Log
from tests.support.h2_rows import POST_BLOCK

comptime _WITH_PRIORITY = get_static_string[
    POST_BLOCK, "00", "08", "7072696f72697479", "03", "753d35"
]()
"""A request with `priority: u=5`."""


def _feed(
    mut log: Http2Log, type: Int, flags: Int, id: Int, payload: StringSpan
) raises:
    var frames = Frames(has_preface=False)
    frames.add(type, flags, id, payload)
    log.feed(frames.octets.span())


def _server(stream_count_max: Int) raises -> Http2Log:
    var limits = Http2Limits()
    limits.stream_count_max = stream_count_max
    var log = Http2Log(Http2Role.SERVER, limits)
    var frames = Frames()
    log.feed(frames.octets.span())
    return log^


def _urgency(log: Http2Log, id: Int) raises -> Int:
    ref table = log.session.state.table
    return Int(table.at(table.find(id)).priority.urgency)


def test_the_field_of_the_request_counts() raises:
    var log = _server(100)
    _feed(log, 1, 4, 1, _WITH_PRIORITY)
    assert_equal(_urgency(log, 1), 5)
    _feed(log, 1, 4, 3, POST_BLOCK)
    assert_equal(_urgency(log, 3), 3)


def test_an_open_stream() raises:
    var log = _server(100)
    _feed(log, 1, 4, 1, _WITH_PRIORITY)
    _feed(log, 16, 0, 0, "00000001" + "753d322c69")
    ref table = log.session.state.table
    assert_true(table.at(table.find(1)).priority == Priority(2, True))
    # What it does not name has its default again.
    _feed(log, 16, 0, 0, "80000001")
    assert_true(table.at(table.find(1)).priority == Priority())


def test_a_stream_that_has_not_begun() raises:
    # 9218-7: what came last before HEADERS is more than the field.
    var log = _server(100)
    _feed(log, 16, 0, 0, "00000003" + "753d37")
    _feed(log, 16, 0, 0, "00000003" + "753d31")
    _feed(log, 16, 0, 0, "00000005" + "753d36")
    _feed(log, 1, 4, 1, _WITH_PRIORITY)
    _feed(log, 1, 4, 3, _WITH_PRIORITY)
    assert_equal(_urgency(log, 1), 5)
    assert_equal(_urgency(log, 3), 1)
    _feed(log, 1, 4, 5, POST_BLOCK)
    assert_equal(_urgency(log, 5), 6)
    # A stream that is over is none of those.
    _feed(log, 3, 0, 5, "00000008")
    _feed(log, 16, 0, 0, "00000005" + "753d37")
    assert_true("<" not in log.text)


def test_not_more_than_the_streams_allowed() raises:
    # 9218-7.1: idle ones that have a priority, and those that are open.
    var log = _server(3)
    _feed(log, 1, 4, 1, POST_BLOCK)
    _feed(log, 16, 0, 0, "00000005")
    _feed(log, 16, 0, 0, "00000007")
    _feed(log, 16, 0, 0, "00000005")
    # It leaves out 5, which is idle no more.
    _feed(log, 1, 4, 7, POST_BLOCK)
    _feed(log, 16, 0, 0, "00000009")
    assert_true("<" not in log.text, log.text)
    _feed(log, 16, 0, 0, "0000000b")
    assert_true(log.text.endswith("<45>"), log.text)
