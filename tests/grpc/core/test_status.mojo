"""Codes, messages and details of gRPC, and their fields."""

from flare.grpc.core.connect import connect_code_name
from flare.grpc.core.status import (
    GrpcCode,
    GrpcStatus,
    append_status,
    decode_message,
    encode_message,
    find_status,
    parse_code,
)
from flare.http.message.header_map import HeaderMap
from flare.protobuf.known import Duration, StringValue
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.guard_page import GuardedBytes


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var text: String
    var expected: String


def test_codes() raises:
    var rows: List[_Row] = [
        _Row("OK", "0", "OK"),
        _Row("one digit", "5", "NOT_FOUND"),
        _Row("two digits", "16", "UNAUTHENTICATED"),
        _Row("no name", "17", "UNKNOWN"),
        _Row("PROTOCOL-HTTP2.md: 1*DIGIT, leading zero", "05", "NOT_FOUND"),
        _Row("1*DIGIT, leading zeros", "00016", "UNAUTHENTICATED"),
        _Row("1*DIGIT, no name behind zeros", "017", "UNKNOWN"),
        _Row("1*DIGIT, more than fit", "0123", "UNKNOWN"),
        _Row("sign", "-1", "UNKNOWN"),
        _Row("empty", "", "UNKNOWN"),
        _Row("1*DIGIT, zeros alone", "000000000000000000000", "OK"),
        _Row("zero, and no digit", "0x", "UNKNOWN"),
        _Row("letters", "ok", "UNKNOWN"),
    ]
    for row in rows:
        var guarded = GuardedBytes(row.text.as_bytes())
        assert_equal(String(parse_code(guarded.span())), row.expected, row.rule)
    for number in range(17):
        var fields = HeaderMap()
        var code = GrpcCode.from_number(number)
        append_status(GrpcStatus(code), fields)
        assert_equal(String(fields.value(0)), String(number), "written")
        var read = find_status(fields.lines_fields())
        assert_true(read.value().code == code, code.name())


def test_numbers_without_a_name_are_unknown() raises:
    """Whoever makes them (statuscodes.md)."""
    for number in [17, 99, 255]:
        var code = GrpcCode(UInt8(number))
        assert_true(code == GrpcCode.UNKNOWN, code.name())
        assert_equal(String(connect_code_name(code)), "unknown")


def test_messages_are_percent_encoded() raises:
    var rows: List[_Row] = [
        _Row("plain", "not found: a/b", "not found: a/b"),
        _Row("percent", "100%", "100%25"),
        _Row("line end", "a\r\nb", "a%0D%0Ab"),
        _Row("UTF-8", "f\u00fcr", "f%C3%BCr"),
        _Row("DEL and ~", "~\u007f", "~%7F"),
        _Row("spaces at the ends", " a ", "%20a%20"),
        _Row("nothing", "", ""),
    ]
    for row in rows:
        assert_equal(encode_message(row.text), row.expected, row.rule)
        var guarded = GuardedBytes(row.expected.as_bytes())
        assert_equal(decode_message(guarded.span()), row.text, row.rule)


def test_a_wrong_percent_stands_for_itself() raises:
    var rows: List[_Row] = [
        _Row("cut behind", "a%", "a%"),
        _Row("one digit", "a%4", "a%4"),
        _Row("no digits", "%zz%41", "%zzA"),
        _Row("lower case", "%c3%bc", "\u00fc"),
        _Row("no UTF-8", "a%FFb", "a\ufffdb"),
        _Row("twice", "%%41", "%A"),
    ]
    for row in rows:
        var guarded = GuardedBytes(row.text.as_bytes())
        assert_equal(decode_message(guarded.span()), row.expected, row.rule)


def test_details_go_and_come() raises:
    var status = GrpcStatus(GrpcCode.FAILED_PRECONDITION, "not yet \u2713")
    status.add_detail(Duration(seconds=3))
    status.add_detail(StringValue(value="later"))
    var fields = HeaderMap()
    append_status(status, fields)
    assert_equal(len(fields), 3)
    assert_false("=" in fields["grpc-status-details-bin"], "padding")
    var read = find_status(fields.lines_fields()).value().copy()
    assert_true(read.code == GrpcCode.FAILED_PRECONDITION)
    assert_equal(read.message, "not yet \u2713")
    assert_equal(read.detail[Duration]().value().seconds, Int64(3))
    assert_equal(read.detail[StringValue]().value().value, "later")


def test_details_of_another_code_are_left_out() raises:
    var status = GrpcStatus(GrpcCode.ABORTED)
    status.add_detail(Duration(seconds=3))
    var fields = HeaderMap()
    append_status(status, fields)
    fields.set("grpc-status", "5")
    assert_equal(len(find_status(fields.lines_fields()).value().details), 0)
    fields.set("grpc-status-details-bin", "!!")
    assert_equal(len(find_status(fields.lines_fields()).value().details), 0)
    fields.set("grpc-status-details-bin", "AAAA")
    assert_equal(len(find_status(fields.lines_fields()).value().details), 0)
    assert_false(find_status(HeaderMap().lines_fields()), "no status")


def test_what_other_protocols_say() raises:
    comptime STATUS: List[Tuple[Int, Int]] = [
        (200, 2),
        (400, 13),
        (401, 16),
        (403, 7),
        (404, 12),
        (418, 2),
        (429, 14),
        (500, 2),
        (502, 14),
        (503, 14),
        (504, 14),
    ]
    for row in materialize[STATUS]():
        var code = GrpcCode.from_http_status(row[0])
        assert_equal(Int(code.number), row[1], String(row[0]))
    comptime STREAM: List[Tuple[Int, Int]] = [
        (0, 13),
        (1, 13),
        (5, 2),
        (6, 13),
        (7, 14),
        (8, 1),
        (11, 8),
        (12, 7),
        (13, 2),
        (99, 2),
    ]
    for row in materialize[STREAM]():
        var code = GrpcCode.from_stream_error(row[0])
        assert_equal(Int(code.number), row[1], String(row[0]))


def _fails() raises GrpcStatus:
    _raises()


def _raises() raises:
    raise Error("a secret")


def test_an_error_is_unknown_and_its_text_a_note() raises:
    try:
        _fails()
    except status:
        assert_true(status.code == GrpcCode.UNKNOWN)
        assert_equal(status.message, "")
        assert_equal(status.note, "a secret")
        assert_equal(String(status), "grpc: UNKNOWN (a secret)")
        return
    raise Error("it did not fail")
