"""Error codes and rules of HTTP/2 (RFC 9113 section 7), and how they are told."""

from flare.bytes.buffer import Buffer
from flare.http.h2.connection_state import Http2Limits, Http2Role
from flare.http.h2.error import ErrorCode, Http2Error, Http2Rule
from flare.http.h2.session import Http2Session
from tests.support.assertions import assert_equal, assert_true
from tests.vectors.hex_text import hex_of


def test_names_of_codes() raises:
    # 9113-7, in the order of their numbers; 9113-7: unknown ones are no fault.
    var names: List[StaticString] = [
        "NO_ERROR",
        "PROTOCOL_ERROR",
        "INTERNAL_ERROR",
        "FLOW_CONTROL_ERROR",
        "SETTINGS_TIMEOUT",
        "STREAM_CLOSED",
        "FRAME_SIZE_ERROR",
        "REFUSED_STREAM",
        "CANCEL",
        "COMPRESSION_ERROR",
        "CONNECT_ERROR",
        "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY",
        "HTTP_1_1_REQUIRED",
        "UNKNOWN_ERROR",
    ]
    for number in range(len(names)):
        assert_equal(ErrorCode(UInt32(number)).name(), names[number])
    assert_equal(ErrorCode(0xFFFF_FFFF).name(), "UNKNOWN_ERROR")


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: Http2Rule
    var text: StaticString


def test_each_rule_has_its_own_text() raises:
    # The texts are found by counting lines: the first, the last, and some.
    var rows: List[_Row] = [
        _Row(
            Http2Rule.PREFACE,
            "the connection must begin with the client's preface",
        ),
        _Row(Http2Rule.FIRST_FRAME, "SETTINGS must be the first frame"),
        _Row(Http2Rule.PADDING, "padding must be shorter than the payload"),
        _Row(Http2Rule.PUSH_PROMISE, "nothing may be pushed"),
        _Row(
            Http2Rule.CONTENT_LENGTH,
            "the content must be as long as content-length says",
        ),
        _Row(Http2Rule.SETTINGS_LATE, "SETTINGS were not acknowledged in time"),
        _Row(
            Http2Rule.NO_PRIORITIES,
            "SETTINGS_NO_RFC7540_PRIORITIES must be 0 or 1",
        ),
    ]
    for row in rows:
        assert_equal(row.rule.text(), row.text)
    var texts = List[String]()
    for number in range(1, Int(Http2Rule.NO_PRIORITIES.number) + 1):
        var rule = Http2Rule(UInt8(number), ErrorCode.NO_ERROR, False)
        var text = String(rule.text())
        assert_true(text.byte_length() > 10, text)
        assert_true(text not in texts, text)
        texts.append(text)


def test_errors_name_code_stream_and_rule() raises:
    assert_equal(
        String(Http2Error(Http2Rule.HALF_CLOSED_STREAM, 5)),
        "STREAM_CLOSED on stream 5: nothing may follow END_STREAM",
    )
    assert_equal(
        String(Http2Error(Http2Rule.WINDOW_ZERO, 0)),
        "PROTOCOL_ERROR: WINDOW_UPDATE must add at least 1",
    )


def test_settings_that_are_not_acknowledged() raises:
    # 9113-6.5.3: the driver has the clock; the peer gets SETTINGS_TIMEOUT.
    var session = Http2Session(Http2Role.SERVER, Http2Limits(), 0)
    var out = Buffer()
    session.begin(out)
    assert_true(session.state.owes_settings_ack)
    out.clear()
    session.fail(out, Http2Error(Http2Rule.SETTINGS_LATE, 0))
    assert_equal(hex_of(out.span()[3:17]), "0700000000000000000000000004")
