"""Fields of a program's messages as HTTP/2 sends them (RFC 9113 section 8.2)."""

from flare.bytes.buffer import Buffer
from flare.http.h2.connection_state import Http2Limits, Http2Role
from flare.http.h2.hpack_decoder import HpackDecoder
from flare.http.h2.message_fields import (
    LENGTH_UNKNOWN,
    add_fields,
    add_response_fields,
    add_trailers,
)
from flare.http.h2.session import Http2Session
from flare.http.message.header_map import HeaderMap
from flare.http.message.response import Response
from flare.http.message.trailers import Trailers
from tests.support.assertions import assert_equal


def _sent(headers: HeaderMap) raises -> String:
    """Lists the fields that are sent of a map, each in a line; those of a second
    block, which may refer to the first, are the same."""
    var session = Http2Session(Http2Role.SERVER, Http2Limits(), 0)
    var decoder = HpackDecoder()
    var name = Buffer(0)
    session.begin_block()
    add_fields(session, headers, name)
    var sent = _decoded(session, decoder)
    session.begin_block()
    add_fields(session, headers, name)
    assert_equal(_decoded(session, decoder), sent, "in the second block")
    return sent


def _decoded(session: Http2Session, mut decoder: HpackDecoder) raises -> String:
    """Lists the fields of the block that was written, each in a line."""
    decoder.begin()
    var octets = Buffer(0)
    var text = String()
    while True:
        octets.clear()
        var field = decoder.next(session.fields.span(), octets)
        if not field.is_there:
            return text
        var line = field.line
        var value = line.value_offset()
        text += String(from_utf8=octets.span()[: line.name_len()])
        text += ": "
        text += String(
            from_utf8=octets.span()[value : value + line.value_len()]
        )
        text += "\n"


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var name: StaticString
    var sent: StaticString


def test_which_fields_are_sent_and_how() raises:
    var rows: List[_Row] = [
        _Row("9113-8.2.1 names are in lower case", "X-Sum", "x-sum: V\n"),
        _Row("9113-8.2.1 one that is, stays", "x-sum", "x-sum: V\n"),
        _Row("9113-8.2.1 the last letter counts", "x-suM", "x-sum: V\n"),
        _Row("9113-8.2.1 so does the first", "Xsum", "xsum: V\n"),
        _Row("9113-8.2.1 others have no case", "x_1-2", "x_1-2: V\n"),
        _Row("9113-8.2.2 no field of a connection", "Connection", ""),
        _Row("9113-8.2.2 in either case", "connection", ""),
        _Row("9113-8.2.2 nor others of its kind", "keep-alive", ""),
        _Row("9113-8.1.1 the length has its own place", "content-length", ""),
    ]
    for row in rows:
        var headers = HeaderMap()
        headers.append(row.name, "V")
        assert_equal(_sent(headers), row.sent, row.rule)


def test_fields_are_sent_in_order() raises:
    var headers = HeaderMap()
    headers.append("b", "1")
    headers.append("A", "2")
    headers.append("b", "3")
    assert_equal(_sent(headers), "b: 1\na: 2\nb: 3\n")


@fieldwise_init
struct _LengthRow(Copyable, Movable):
    var rule: StaticString
    var status: Int
    var content_len: Int
    var sent: StaticString


def test_which_length_is_said() raises:
    var rows: List[_LengthRow] = [
        _LengthRow("9110-8.6 that of the content", 200, 5, "5"),
        _LengthRow("9110-8.6 none is known", 200, LENGTH_UNKNOWN, ""),
        _LengthRow("9110-8.6 none of 204", 204, 5, ""),
        _LengthRow("9110-8.6 none of 304 but its own", 304, 5, ""),
        # A length that no DATA adds up to is malformed (RFC 9113 8.1.1).
        _LengthRow("9110-15.3.6 205 has no content", 205, 5, "0"),
        _LengthRow("9110-15.3.6 be it unknown", 205, LENGTH_UNKNOWN, "0"),
    ]
    for row in rows:
        var session = Http2Session(Http2Role.SERVER, Http2Limits(), 0)
        var name = Buffer(0)
        session.begin_block()
        add_response_fields(
            session,
            Response(row.status, "12345"),
            row.content_len,
            "now".as_bytes(),
            name,
        )
        var decoder = HpackDecoder()
        var sent = _decoded(session, decoder)
        var line = String("content-length: ", row.sent, "\n")
        assert_equal(line in sent, row.sent != "", row.rule)
        assert_equal(
            "content-length" in sent, row.sent != "", String(row.rule, sent)
        )


def test_trailers_that_come_again() raises:
    """They are the same for who reads them, whatever was sent between."""
    var session = Http2Session(Http2Role.SERVER, Http2Limits(), 0)
    var decoder = HpackDecoder()
    var name = Buffer(0)
    var trailers = Trailers()
    trailers.set("grpc-status", "0")
    var shared = trailers.copy()
    # Somebody else has them for all the time, as who sends them again does.
    var owner = trailers.copy()
    trailers.set("grpc-status", "7")
    # What happens before, and what is sent then.
    for step in ["", "", "another", "", "entry", "", "resize", "", "long", ""]:
        if step == "another":
            session.begin_block()
            add_trailers(session, trailers, name)
            assert_equal(_decoded(session, decoder), "grpc-status: 7\n")
        elif step == "entry":
            var headers = HeaderMap()
            headers.append("x-entry", "1")
            session.begin_block()
            add_fields(session, headers, name)
            assert_equal(_decoded(session, decoder), "x-entry: 1\n")
        elif step == "resize":
            session.encoder.set_size_max(0)
            session.encoder.set_size_max(4_096)
        elif step == "long":
            shared = Trailers()
            shared.set("grpc-status", "0")
            shared.set("grpc-message", "m" * 100)
        var expected = String("grpc-status: 0\n")
        if "grpc-message" in shared:
            expected += String("grpc-message: ", "m" * 100, "\n")
        session.begin_block()
        add_trailers(session, shared, name)
        assert_equal(_decoded(session, decoder), expected, step)
    # One that is another's place in memory is not taken for it.
    for code in range(20):
        var own = Trailers()
        own.set("grpc-status", String(code % 3))
        session.begin_block()
        add_trailers(session, own, name)
        assert_equal(
            _decoded(session, decoder), String("grpc-status: ", code % 3, "\n")
        )
    _ = owner^


def test_types_and_dates_that_come_again() raises:
    """Each head has its own, whatever the last ones had."""
    var session = Http2Session(Http2Role.SERVER, Http2Limits(), 0)
    var decoder = HpackDecoder()
    var name = Buffer(0)
    var types: List[StaticString] = ["text/plain", "text/html", "a/b"]
    for index in range(200):
        if index == 150:
            session.encoder.set_size_max(100)
        ref type = types[(index * index // 5) % 3]
        # Every other one is the last one's; all of them are more than the table
        # has room for.
        var date = String("date ", index // 2)
        session.begin_block()
        add_response_fields(
            session,
            Response(200, "12345", content_type=type),
            5,
            date.as_bytes(),
            name,
        )
        assert_equal(
            _decoded(session, decoder),
            String(
                ":status: 200\ncontent-type: ",
                type,
                "\ndate: ",
                date,
                "\ncontent-length: 5\n",
            ),
        )
