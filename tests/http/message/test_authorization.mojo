"""Credentials of the schemes Basic and Bearer."""

from flare.bytes.base64 import base64_encode
from flare.http.message.authorization import (
    has_scheme,
    parse_basic,
    parse_bearer,
)
from tests.support.assertions import assert_equal
from tests.support.guard_page import GuardedBytes

comptime NOTHING = "nothing"


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var value: StaticString
    var wanted: StaticString


def _basic(value: StringSpan) raises -> String:
    var guarded = GuardedBytes(value.as_bytes())
    var found = parse_basic(guarded.span())
    if not found:
        return NOTHING
    return String(found.value().user, " | ", found.value().password)


def _bearer(value: StringSpan) raises -> String:
    var guarded = GuardedBytes(value.as_bytes())
    var found = parse_bearer(guarded.span().as_imm())
    if not found:
        return NOTHING
    var token = String(found.value())
    _ = guarded^
    return token^


def test_basic() raises:
    var rows: List[_Row] = [
        _Row(
            "7617-2 example",
            "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
            "Aladdin | open sesame",
        ),
        _Row("7617-2.1 UTF-8", "Basic dGVzdDoxMjPCow==", "test | 123£"),
        _Row("9110-11.1 scheme without case", "bAsIc YTpi", "a | b"),
        _Row("9110-11.4 1*SP", "Basic   YTpi", "a | b"),
        _Row("7617-2 the first colon parts", "Basic YTpiOmM=", "a | b:c"),
        _Row("7617-2 empty password", "Basic YTo=", "a | "),
        _Row("7617-2 empty user", "Basic OmI=", " | b"),
        _Row("7617-2 both empty", "Basic Og==", " | "),
        _Row("7617-2 a colon is due", "Basic YWI=", NOTHING),
        _Row("7617-2 no control octet (HTAB)", "Basic YTpiCQ==", NOTHING),
        _Row("7617-2 no control octet (NUL)", "Basic YToA", NOTHING),
        _Row("7617-2 no control octet (DEL)", "Basic YTp/", NOTHING),
        _Row("7617-2.1 not UTF-8", "Basic YTr/", NOTHING),
        _Row("4648-4 not base64", "Basic YT*i", NOTHING),
        _Row("4648-4 the wrong length", "Basic YTpi=", NOTHING),
        _Row("no credentials", "Basic", NOTHING),
        _Row("no credentials but a space", "Basic ", NOTHING),
        _Row("no space", "BasicYTpi", NOTHING),
        _Row("HTAB is no SP", "Basic\tYTpi", NOTHING),
        _Row("space behind", "Basic YTpi ", NOTHING),
        _Row("a longer scheme", "Basics YTpi", NOTHING),
        _Row("another scheme", "Bearer YTpi", NOTHING),
        _Row("nothing at all", "", NOTHING),
    ]
    for row in rows:
        assert_equal(_basic(row.value), row.wanted, row.rule)


def test_bearer() raises:
    var rows: List[_Row] = [
        _Row("6750-2.1 example", "Bearer mF_9.B5f-4.1JqM", "mF_9.B5f-4.1JqM"),
        _Row("9110-11.2 all of token68", "Bearer aZ09-._~+/", "aZ09-._~+/"),
        _Row("9110-11.2 '=' at the end", "Bearer abc==", "abc=="),
        _Row("9110-11.1 scheme without case", "BEARER abc", "abc"),
        _Row("9110-11.4 1*SP", "Bearer  abc", "abc"),
        _Row("9110-11.2 '=' alone", "Bearer ==", NOTHING),
        _Row("9110-11.2 '=' within", "Bearer a=b", NOTHING),
        _Row("9110-11.2 one token", "Bearer abc def", NOTHING),
        _Row("9110-11.2 no parameters", 'Bearer realm="a"', NOTHING),
        _Row("9110-11.2 ASCII alone", "Bearer ä", NOTHING),
        _Row("9110-11.2 no comma", "Bearer a,b", NOTHING),
        _Row("no token", "Bearer", NOTHING),
        _Row("no token but a space", "Bearer ", NOTHING),
        _Row("no space", "Bearerabc", NOTHING),
        _Row("another scheme", "Basic abc", NOTHING),
        _Row("nothing at all", "", NOTHING),
    ]
    for row in rows:
        assert_equal(_bearer(row.value), row.wanted, row.rule)


@fieldwise_init
struct _Scheme(Copyable, Movable):
    var value: StaticString
    var is_basic: Bool


def test_schemes() raises:
    var rows: List[_Scheme] = [
        _Scheme("Basic", True),
        _Scheme("basic x", True),
        _Scheme("Basic *broken*", True),
        _Scheme("Basi", False),
        _Scheme("Basicx", False),
        _Scheme("Basic\tx", False),
        _Scheme("", False),
    ]
    for row in rows:
        assert_equal(
            has_scheme(row.value.as_bytes(), "basic"), row.is_basic, row.value
        )


def test_basic_reads_back_what_is_encoded() raises:
    for octet in range(32, 127):
        var password = chr(octet) + "x"
        var value = String("Basic ")
        value += base64_encode(String("a:", password).as_bytes())
        assert_equal(_basic(value), String("a | ", password))
