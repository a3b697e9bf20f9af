"""Structs and JSON: both ways, and where a text does not fit."""

from flare.json.error import JsonError, JsonErrorKind
from flare.json.struct_reader import JsonReadable, read_json
from flare.json.struct_writer import JsonWritable, json_text
from flare.json.value import JsonView, parse
from flare.json.writer import JsonWriter, dumps
from flare.sys.random import KeyedHasher
from tests.support.assertions import assert_equal, assert_true


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


def test_a_text_is_read_at_once() raises:
    assert_equal(json_text(read_json[_Whole](FULL)), FULL)
    for row in [
        ("{", JsonErrorKind.TRUNCATED),
        ('{"name": 7, "sizes": []}', JsonErrorKind.WRONG_KIND),
    ]:
        try:
            _ = read_json[_Part](row[0])
        except error:
            assert_true(error.kind == row[1], String(error))
            continue
        raise Error(row[0], ": was read")


def test_unsigned_integers_are_written_as_they_are_read() raises:
    for number in [
        UInt64(0),
        UInt64(Int.MAX),
        UInt64(1) << 63,
        UInt64(10_000_000_000_000_000_000),
        UInt64.MAX - 1,
        UInt64.MAX,
    ]:
        var text = json_text(number)
        assert_equal(text, String(number))
        var value = parse(text)
        assert_equal(read_json[UInt64](value.view()), number)
        # RFC 8259 section 6: also as whatever else can hold it.
        assert_equal(value.float_value(), Float64(number))
        assert_equal(
            dumps(parse(String("[", text, "]"))), String("[", text, "]")
        )


def test_what_an_unsigned_integer_cannot_hold() raises:
    for text in [
        "-1",
        "-9223372036854775809",
        "18446744073709551616",
        "19999999999999999999",
        "20000000000000000000",
        "99999999999999999999",
        "118446744073709551615",
        "9223372036854775808.0",
        "1e19",
        '"1"',
        "[1]",
    ]:
        var value = parse(text)
        try:
            _ = read_json[UInt64](value.view())
        except:
            continue
        raise Error(text, ": was read")
    # And none of them is an `Int`.
    for text in ["9223372036854775808", "18446744073709551615"]:
        var value = parse(text)
        assert_equal(len(value), 0)
        try:
            _ = value.int_value()
        except error:
            assert_true(error.kind == JsonErrorKind.WRONG_KIND, String(error))
            continue
        raise Error(text, ": was read")


def test_what_a_float_of_32_bits_cannot_hold() raises:
    """RFC 8259 section 6 knows no infinity."""
    assert_equal(read_json[Float32](parse("3.4e38").view()), Float32(3.4e38))
    for text in ["3.5e38", "-1e300"]:
        var value = parse(text)
        try:
            _ = read_json[Float32](value.view())
        except error:
            assert_true(error.kind == JsonErrorKind.NUMBER_RANGE, String(error))
            continue
        raise Error(text, ": was read")


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


def _object(names: List[String]) -> String:
    var text = String("{")
    for index in range(len(names)):
        text.write("," if index > 0 else "", '"', names[index], '":1')
    return text + "}"


def _names(count: Int, mask: UInt64, wanted: UInt64) -> List[String]:
    """Makes names whose hashes without a key agree in some bits."""
    var names = List[String]()
    var number = 0
    while len(names) < count:
        var name = String(number)
        if hash(name) & mask == wanted:
            names.append(name)
        number += 1
    return names^


def test_names_that_were_made_to_collide() raises:
    var rows = [
        ("one place", _names(2_000, 0xFFF, 5)),
        ("a sixteenth of the table", _names(3_000, 0xF00, 0x500)),
        ("an eighth of a larger one", _names(20_000, 0x7000, 0x3000)),
        ("equal", List[String](length=2_000, fill="a")),
    ]
    for row in rows:
        var value = parse(_object(row[1]))
        # The hash with a key reads them all, at the usual cost.
        var members = read_json[Dict[String, Int, KeyedHasher]](value.view())
        assert_equal(len(members), 1 if row[0] == "equal" else len(row[1]))
        assert_equal(members[row[1][7]], 1)
        var kind = JsonErrorKind.UNEXPECTED
        try:
            _ = read_json[Dict[String, Int]](value.view())
        except error:
            kind = error.kind
            assert_true("KeyedHasher" in String(error), String(error))
        assert_true(kind == JsonErrorKind.COLLIDING_NAMES, row[0])


def test_many_names_by_chance() raises:
    for count in [1_023, 1_024, 1_025, 5_000, 65_536, 100_000]:
        var value = parse(_object(_names(count, 0, 0)))
        assert_equal(len(read_json[Dict[String, Int]](value.view())), count)


def test_a_few_names_may_collide() raises:
    var value = parse(_object(_names(1_000, 0xFFF, 5)))
    assert_equal(len(read_json[Dict[String, Int]](value.view())), 1_000)
