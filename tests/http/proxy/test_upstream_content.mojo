"""What the media type of an upstream's response says of its content."""

from flare.http.message.response import Response
from flare.http.proxy.upstream_content import has_events
from tests.support.assertions import assert_equal


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var content_type: StaticString
    var has_events: Bool


def test_only_server_sent_events_are_endless() raises:
    comptime rows = [
        _Row("9110-8.3.1 the type alone", "text/event-stream", True),
        _Row("9110-8.3.1 case does not matter", "Text/EVENT-Stream", True),
        _Row(
            "9110-8.3.1 parameters do not",
            "text/event-stream;charset=utf-8",
            True,
        ),
        _Row("9110-5.6.6 OWS before ;", "text/event-stream \t; a=b", True),
        _Row("9110-8.3.1 a longer subtype", "text/event-streams", False),
        _Row("9110-8.3.1 one with a suffix", "text/event-stream+json", False),
        _Row("9110-8.3.1 another subtype", "text/event", False),
        _Row("9110-8.3.1 another type", "application/event-stream", False),
        _Row("9110-8.3 none", "", False),
    ]
    for row in materialize[rows]():
        var response = Response(200)
        if row.content_type.byte_length() > 0:
            response.headers.set("Content-Type", row.content_type)
        assert_equal(has_events(response), row.has_events, row.rule)
