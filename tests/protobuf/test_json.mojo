"""Tests of messages in JSON: https://protobuf.dev/programming-guides/json/."""

from flare.protobuf import (
    Any,
    Duration,
    Empty,
    FieldMask,
    Int32Value,
    ListValue,
    Message,
    ProtobufErrorKind,
    ProtobufJson,
    Struct,
    Timestamp,
    Value,
    decode_json,
    encode_json,
)
from tests.protobuf.messages.every_pb import Color, Every, Every_Inner
from tests.support.assertions import assert_equal, assert_true


@fieldwise_init
struct Taken(ImplicitlyCopyable):
    """A text that is a message, and what is written of it."""

    var rule: StaticString
    var text: StaticString
    var again: StaticString
    """Empty if the same text."""


@fieldwise_init
struct Refused(ImplicitlyCopyable):
    """A text that is no message."""

    var rule: StaticString
    var text: StaticString
    var kind: ProtobufErrorKind
    var offset: Int
    var number: Int


def _check_taken[M: Message](rows: List[Taken]) raises:
    for row in rows:
        var again = row.again if row.again.byte_length() > 0 else row.text
        var message = decode_json[M](row.text)
        assert_equal(encode_json(message), again, row.rule)


def test_texts_are_read_and_written() raises:
    _check_taken[Every](
        [
            Taken("an object", "{}", ""),
            Taken("white space", ' { "fInt32" : 1 } ', '{"fInt32":1}'),
            Taken("names of the .proto", '{"f_int32":1}', '{"fInt32":1}'),
            Taken("a name of its own", '{"@other":"a"}', ""),
            Taken("null is not there", '{"fInt32":null,"rInt32":null}', "{}"),
            Taken(
                "defaults are not written", '{"fInt32":0,"fString":""}', "{}"
            ),
            Taken("presence", '{"oInt32":0,"oString":"","oBytes":""}', ""),
            Taken("int32 as a text", '{"fInt32":"-7"}', '{"fInt32":-7}'),
            Taken("int32 with a point", '{"fInt32":1.0}', '{"fInt32":1}'),
            Taken(
                "int32 with an exponent", '{"fInt32":1e3}', '{"fInt32":1000}'
            ),
            Taken(
                "no digit of an int64 is lost to a point",
                '{"fInt64":"9007199254740993.0","fSint64":-90071992547409930e-1}',
                '{"fInt64":"9007199254740993","fSint64":"-9007199254740993"}',
            ),
            Taken(
                "int64 with an exponent",
                '{"fInt64":9.223372036854775807e18,"fUint64":0.000e+9}',
                '{"fInt64":"9223372036854775807"}',
            ),
            Taken("int64 is a text", '{"fInt64":"-9223372036854775808"}', ""),
            Taken(
                "uint64 as a number keeps its digits",
                '{"fUint64":18446744073709551615}',
                '{"fUint64":"18446744073709551615"}',
            ),
            Taken("uint32 most", '{"fUint32":4294967295}', ""),
            Taken("float, the shortest text", '{"fFloat":0.1}', ""),
            Taken("double", '{"fDouble":-1.5e+300}', ""),
            Taken("NaN", '{"fDouble":"NaN","fFloat":"NaN"}', ""),
            Taken("Infinity", '{"rDouble":["Infinity","-Infinity"]}', ""),
            Taken("a double as a text", '{"fDouble":"1.5"}', '{"fDouble":1.5}'),
            Taken("-0", '{"fDouble":-0}', '{"fDouble":-0.0}'),
            Taken("bool", '{"fBool":true,"rBool":[false]}', ""),
            Taken(
                "escapes",
                '{"fString":"\\u00e9\\n\\ud83d\\ude00"}',
                '{"fString":"é\\n😀"}',
            ),
            Taken("base64", '{"fBytes":"AP8="}', ""),
            Taken(
                "base64 without padding",
                '{"fBytes":"AP8"}',
                '{"fBytes":"AP8="}',
            ),
            Taken("base64 for URLs", '{"fBytes":"-_8"}', '{"fBytes":"+/8="}'),
            Taken(
                "bits of base64 that are left over",
                '{"fBytes":"-_"}',
                '{"fBytes":"+w=="}',
            ),
            Taken("an enumeration", '{"fColor":"GREEN"}', ""),
            Taken(
                "an enumeration by number", '{"fColor":1}', '{"fColor":"RED"}'
            ),
            Taken("a number without a name", '{"fColor":77}', ""),
            Taken("a message", '{"fInner":{"name":"a","deep":{}}}', ""),
            Taken("lists", '{"rInt32":[1,-1],"rInner":[{},{"count":"1"}]}', ""),
            Taken("maps", '{"mString":{"a":"b"},"mBool":{"true":"AQ=="}}', ""),
            Taken(
                "keys are texts", '{"mInt32":{"-1":"2"},"mEvery":{"3":{}}}', ""
            ),
            Taken("a oneof", '{"cString":""}', ""),
            Taken(
                "a oneof and null",
                '{"cString":null,"cUint32":1}',
                '{"cUint32":1}',
            ),
            Taken("a time", '{"fTime":"2020-02-29T12:00:00.500Z"}', ""),
        ]
    )


def test_well_known_types_have_forms_of_their_own() raises:
    _check_taken[Timestamp](
        [
            Taken("epoch", '"1970-01-01T00:00:00Z"', ""),
            Taken("first", '"0001-01-01T00:00:00Z"', ""),
            Taken("last", '"9999-12-31T23:59:59.999999999Z"', ""),
            Taken("before 1970", '"1969-12-31T23:59:59.000001Z"', ""),
            Taken(
                "zone", '"2020-03-01T00:30:00+01:00"', '"2020-02-29T23:30:00Z"'
            ),
            Taken(
                "digits",
                '"2020-01-01T00:00:00.1Z"',
                '"2020-01-01T00:00:00.100Z"',
            ),
        ]
    )
    _check_taken[Duration](
        [
            Taken("nothing", '"0s"', ""),
            Taken("negative", '"-0.000000001s"', ""),
            Taken("most", '"315576000000s"', ""),
            Taken("digits", '"1.5s"', '"1.500s"'),
        ]
    )
    _check_taken[FieldMask](
        [
            Taken("paths", '"user.displayName,photo"', ""),
            Taken("none", '""', ""),
        ]
    )
    _check_taken[Int32Value]([Taken("wrapped", "7", "")])
    _check_taken[Empty]([Taken("empty", "{}", "")])
    _check_taken[Struct](
        [Taken("an object", '{"a":[1.5,null,true,"x",{"b":{}}],"c":[]}', "")]
    )
    _check_taken[ListValue]([Taken("an array", "[[],{},null]", "")])
    _check_taken[Value](
        [
            Taken("null", "null", ""),
            Taken("number", "1e10", "10000000000.0"),
            Taken("text", '"x"', ""),
        ]
    )


def test_what_does_not_fit_is_refused() raises:
    comptime K = ProtobufErrorKind
    var rows: List[Refused] = [
        Refused("nothing", "", K.JSON, 0, 0),
        Refused("no object", "[]", K.JSON, 0, 0),
        Refused("no end", '{"fInt32":1', K.JSON, 11, 0),
        Refused("something behind", "{} x", K.JSON, 3, 0),
        Refused("a comma too many", '{"fInt32":1,}', K.JSON, 12, 0),
        Refused("no colon", '{"fInt32" 1}', K.JSON, 10, 0),
        Refused("an escape", '{"fString":"\\x"}', K.JSON, 13, 0),
        Refused("half a pair", '{"fString":"\\ud800"}', K.JSON, 12, 0),
        Refused("a literal", '{"fBool":trux}', K.JSON, 12, 0),
        Refused("leading zeros", '{"fInt32":01}', K.JSON, 11, 0),
        Refused("unknown names", '{"a":1}', K.JSON_NAME, 1, 0),
        Refused("a name twice", '{"fInt32":1,"f_int32":2}', K.JSON_NAME, 12, 3),
        Refused(
            "a oneof twice", '{"cString":"","cBool":true}', K.JSON_NAME, 14, 77
        ),
        Refused(
            "a key twice", '{"mInt32":{"1":"1","1":"2"}}', K.JSON_NAME, 19, 62
        ),
        Refused("int32 beyond", '{"fInt32":2147483648}', K.JSON_VALUE, 10, 3),
        Refused("int32 no whole", '{"fInt32":1.5}', K.JSON_VALUE, 10, 3),
        Refused("no whole, small", '{"fInt64":1e-1000}', K.JSON_VALUE, 10, 4),
        Refused("int64 by a float", '{"fInt64":1e19}', K.JSON_VALUE, 10, 4),
        Refused(
            "a digit that is too many",
            '{"fInt64":1.000000000000000000001}',
            K.JSON_VALUE,
            10,
            4,
        ),
        Refused("int32 with a space", '{"fInt32":" 1"}', K.JSON_VALUE, 10, 3),
        Refused("uint32 negative", '{"fUint32":-1}', K.JSON_VALUE, 11, 5),
        Refused(
            "uint64 beyond",
            '{"fUint64":18446744073709551616}',
            K.JSON_VALUE,
            11,
            6,
        ),
        Refused(
            "int64 beyond",
            '{"fInt64":"9223372036854775808"}',
            K.JSON_VALUE,
            10,
            4,
        ),
        Refused("float beyond", '{"fFloat":1e39}', K.JSON_VALUE, 10, 2),
        Refused("double beyond", '{"fDouble":1e400}', K.JSON_VALUE, 11, 1),
        Refused("NaN without quotes", '{"fDouble":NaN}', K.JSON_VALUE, 11, 1),
        Refused("bool as a text", '{"fBool":"true"}', K.JSON_VALUE, 9, 13),
        Refused("a string as a number", '{"fString":1}', K.JSON_VALUE, 11, 14),
        Refused("no base64", '{"fBytes":"a"}', K.JSON_VALUE, 10, 15),
        Refused("no name", '{"fColor":"BLUE"}', K.JSON_VALUE, 10, 16),
        Refused("null in a list", '{"rInt32":[null]}', K.JSON_VALUE, 11, 33),
        Refused(
            "null in a map", '{"mString":{"a":null}}', K.JSON_VALUE, 16, 61
        ),
        Refused("a key", '{"mBool":{"1":""}}', K.JSON_VALUE, 10, 63),
        Refused(
            "a month", '{"fTime":"2020-13-01T00:00:00Z"}', K.JSON_VALUE, 9, 0
        ),
        Refused(
            "a day", '{"fTime":"2021-02-29T00:00:00Z"}', K.JSON_VALUE, 9, 0
        ),
        Refused(
            "ten digits",
            '{"fTime":"2020-01-01T00:00:00.0123456789Z"}',
            K.JSON_VALUE,
            9,
            0,
        ),
        Refused(
            "no zone", '{"fTime":"2020-01-01T00:00:00"}', K.JSON_VALUE, 9, 0
        ),
    ]
    for row in rows:
        var kind = K.TRUNCATED
        try:
            _ = decode_json[Every](row.text)
        except error:
            kind = error.kind
            if error.offset != row.offset or error.number != row.number:
                kind = K.GROUP
                print(row.rule, error.offset, error.number, error)
        assert_equal(Int(kind.code), Int(row.kind.code), row.rule)


def test_each_cut_of_a_text_is_refused_within() raises:
    var text = encode_json(
        Every(
            f_int32=-7,
            f_string="é\n",
            r_double=[1.5, -2e100],
            f_time=Timestamp(seconds=5, nanos=7),
            f_inner=Every_Inner(name="x"),
        )
    )
    for length in range(text.byte_length()):
        var octets = List[UInt8](text.as_bytes()[:length])
        var offset = -1
        try:
            _ = decode_json[Every](StringSpan(unsafe_from_utf8=octets))
        except error:
            offset = error.offset
        assert_true(
            offset >= 0 and offset <= length, String(length, ": ", offset)
        )


def test_depth_has_a_limit() raises:
    for depth in [100, 101]:
        var text = String("[") * depth + String("]") * depth
        var kind = ProtobufErrorKind.JSON
        try:
            _ = decode_json[Value](text)
        except error:
            kind = error.kind
        var expected = ProtobufErrorKind.JSON
        if depth > 100:
            expected = ProtobufErrorKind.TOO_DEEP
        assert_equal(kind, expected, String(depth))


def test_unknown_members_can_be_left_out() raises:
    var settings = ProtobufJson()
    settings.ignores_unknown = True
    var message = decode_json[Every](
        (
            '{"a":[{"b":1}],"fColor":"BLUE","fInt32":3,"rColor":["RED","BLUE"],'
            '"mFixed32":{"1":"BLUE","2":"RED"}}'
        ),
        settings,
    )
    assert_equal(message.f_int32, 3)
    assert_equal(len(message.r_color), 1)
    assert_equal(len(message.m_fixed32), 1)
    assert_true(message.f_color == Color.COLOR_UNKNOWN)


def test_names_and_defaults_can_be_written() raises:
    var settings = ProtobufJson()
    settings.keeps_names = True
    assert_equal(
        encode_json(Every(f_int32=1), settings),
        '{"f_int32":1}',
    )
    settings.keeps_names = False
    settings.writes_defaults = True
    assert_equal(
        encode_json(Every_Inner(), settings), '{"name":"","count":"0"}'
    )


def test_any_needs_a_registry() raises:
    var settings = ProtobufJson()
    settings.types.add[Every_Inner]()
    settings.types.add[Duration]()
    var texts: List[StaticString] = [
        '{"@type":"type.googleapis.com/flare.test.Every.Inner","name":"a"}',
        '{"@type":"x/google.protobuf.Duration","value":"3s"}',
        "{}",
    ]
    for text in texts:
        assert_equal(
            encode_json(decode_json[Any](text, settings), settings), text
        )
    var behind = decode_json[Any](
        '{"name":"a","@type":"x/flare.test.Every.Inner"}', settings
    )
    assert_equal(len(behind.value), 3)
    var kind = ProtobufErrorKind.JSON
    try:
        _ = encode_json(behind)
    except error:
        kind = error.kind
    assert_equal(kind, ProtobufErrorKind.UNKNOWN_TYPE)
    kind = ProtobufErrorKind.JSON
    try:
        _ = decode_json[Any]('{"@type":"x/no.Type"}', settings)
    except error:
        kind = error.kind
    assert_equal(kind, ProtobufErrorKind.UNKNOWN_TYPE)


def _refused_any(text: StringSpan) raises -> Int:
    """Gives the octet at which a text is refused; -1 if it is taken."""
    var settings = ProtobufJson()
    settings.types.add[Every_Inner]()
    settings.types.add[Duration]()
    settings.types.add[Empty]()
    try:
        _ = decode_json[Any](text, settings)
    except error:
        assert_equal(error.kind, ProtobufErrorKind.JSON_NAME, text)
        return error.offset
    return -1


def test_any_has_one_type_and_a_value() raises:
    var twice = '{"@type":"x/flare.test.Every.Inner","@type":"x/google.protobuf.Duration","value":"3s"}'
    assert_equal(_refused_any(twice), 36, "two types")
    assert_equal(
        _refused_any('{"@type":"x/google.protobuf.Duration"}'), 0, "no value"
    )
    assert_equal(
        _refused_any('{"@type":"x/google.protobuf.Duration","x":1}'),
        38,
        "another name",
    )
    # Some write it so, and some as an object with no members.
    assert_equal(
        _refused_any('{"@type":"x/google.protobuf.Empty","value":{}}'), -1
    )
    assert_equal(_refused_any('{"@type":"x/google.protobuf.Empty"}'), -1)
    assert_equal(_refused_any('{"@type":"x/google.protobuf.Empty","x":{}}'), 35)


def _has_no_form[M: Message](message: M) -> Bool:
    try:
        _ = encode_json(message)
    except error:
        return error.kind == ProtobufErrorKind.NOT_IN_JSON
    return False


def test_what_has_no_form_in_json_is_not_written() raises:
    assert_true(_has_no_form(Timestamp(seconds=253402300800)), "year 10000")
    assert_true(_has_no_form(Timestamp(nanos=-1)), "nanos")
    assert_true(_has_no_form(Duration(seconds=1, nanos=-1)), "signs")
    assert_true(_has_no_form(Duration(seconds=315576000001)), "length")
    assert_true(_has_no_form(Duration(seconds=Int64.MIN)), "the least number")
    var paths: List[String] = ["a__b"]
    assert_true(_has_no_form(FieldMask(paths=paths^)), "path")
    assert_true(_has_no_form(Value()), "no value")
    assert_true(_has_no_form(Value(number_value=Float64.MAX * 2)), "infinity")
