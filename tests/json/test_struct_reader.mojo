"""Structs and JSON: both ways, and where a text does not fit."""

from flare.json.error import JsonError, JsonErrorKind
from flare.json.struct_reader import JsonReadable, read_json
from flare.json.struct_writer import JsonWritable, json_text
from flare.json.value import parse
from flare.json.view import JsonView
from flare.json.writer import JsonWriter
from std.testing import assert_equal, assert_true


@fieldwise_init
struct _Color(Copyable, JsonReadable, JsonWritable):
    """Written as text of its own."""

    var code: Int

    @staticmethod
    def from_json(view: JsonView) raises JsonError -> Self:
        return Self(view.string_value().byte_length())

    def to_json(self, mut writer: JsonWriter) raises JsonError:
        writer.value("o" * self.code)


@fieldwise_init
struct _Part(Copyable, Movable):
    var name: String
    var sizes: List[Float64]


@fieldwise_init
struct _Whole(Copyable, Movable):
    var id: Int
    var flag: Bool
    var small: UInt8
    var tiny: Int8
    var note: Optional[String]
    var parts: List[_Part]
    var counts: Dict[String, Int]
    var color: _Color
    var chief: Optional[_Part]


comptime FULL = StaticString(
    '{"id":-7,"flag":true,"small":255,"tiny":-128,"note":"a long note that has'
    ' no room inline","parts":[{"name":"p","sizes":[1.5,2.0]},{"name":"",'
    '"sizes":[]}],"counts":{"b":1,"a":2},"color":"ooo","chief":{"name":"c",'
    '"sizes":[]}}'
)


def test_round_trip() raises:
    var whole = read_json[_Whole](parse(FULL).view())
    assert_equal(whole.id, -7)
    assert_equal(whole.parts[0].sizes[1], 2.0)
    assert_equal(whole.counts["a"], 2)
    assert_equal(whole.color.code, 3)
    assert_equal(json_text(whole), FULL)


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var found: StaticString
    var replaced: StaticString
    var kind: JsonErrorKind
    var path: StaticString


def test_what_does_not_fit() raises:
    comptime KIND = JsonErrorKind.WRONG_KIND
    comptime RANGE = JsonErrorKind.NUMBER_RANGE
    comptime NONE = JsonErrorKind.NO_MEMBER
    var rows: List[_Row] = [
        _Row("text for an integer", "-7", '"7"', KIND, '$["id"]'),
        _Row("a fraction", "-7", "-7.5", KIND, '$["id"]'),
        _Row("null for an integer", "-7", "null", KIND, '$["id"]'),
        _Row("a number for a boolean", "true", "1", KIND, '$["flag"]'),
        _Row("above 255", "255", "256", RANGE, '$["small"]'),
        _Row("below 0", "255", "-1", RANGE, '$["small"]'),
        _Row("below -128", "-128", "-129", RANGE, '$["tiny"]'),
        _Row("missing", '"flag":true,', "", NONE, '$["flag"]'),
        _Row(
            "missing inside", '"name":"p",', "", NONE, '$["parts"][0]["name"]'
        ),
        _Row("deep", "2.0", "[]", KIND, '$["parts"][0]["sizes"][1]'),
        _Row("in a dict", '"a":2', '"a":"2"', KIND, '$["counts"]["a"]'),
        _Row(
            "an array for an object", '{"b":1,"a":2}', "[]", KIND, '$["counts"]'
        ),
        _Row("own type", '"ooo"', "3", KIND, '$["color"]'),
    ]
    for row in rows:
        var text = String(FULL).replace(row.found, row.replaced)
        assert_true(text != FULL, row.rule)
        var value = parse(text)
        try:
            _ = read_json[_Whole](value.view())
        except error:
            assert_true(error.kind == row.kind, String(row.rule, ": ", error))
            assert_equal(error.path, row.path, row.rule)
            continue
        raise Error(row.rule, ": was read")


def test_absent_null_and_unknown() raises:
    var text = String(FULL).replace(
        '"note":"a long note that has no room inline",', ""
    )
    text = text.replace('"id":-7', '"id":-7,"more":{"x":[1]}')
    text = text.replace('{"name":"c","sizes":[]}', "null")
    var whole = read_json[_Whole](parse(text).view())
    assert_true(not whole.note)
    assert_true(not whole.chief)
    assert_true('"note":null' in json_text(whole))


def test_the_last_of_repeated_names_wins() raises:
    var text = String(FULL).replace('"id":-7', '"id":1,"id":2')
    assert_equal(read_json[_Whole](parse(text).view()).id, 2)


def test_values_that_are_no_struct() raises:
    assert_equal(read_json[Int](parse("7").view()), 7)
    assert_equal(
        json_text(read_json[List[Optional[Bool]]](parse("[true,null]").view())),
        "[true,null]",
    )
    assert_equal(json_text(String('a"b')), '"a\\"b"')
    assert_equal(json_text(Float32(0.5)), "0.5")
    assert_equal(json_text([UInt16(1), UInt16(2)]), "[1,2]")


@fieldwise_init
struct _Empty(Copyable, Movable):
    comptime NOTHING = 0


def test_a_struct_without_fields_is_an_object_still() raises:
    _ = read_json[_Empty](parse("{}").view())
    try:
        _ = read_json[_Empty](parse("[]").view())
    except error:
        assert_true(error.kind == JsonErrorKind.WRONG_KIND)
        return
    raise Error("an array was read as an object")
