"""Tests reading a parsed value, on its own and inside expressions."""

from flare.json.error import JsonError, JsonErrorKind, JsonKind
from flare.json.value import JsonValue, JsonView, parse
from tests.support.assertions import assert_equal, assert_false, assert_true

comptime TEXT = (
    '{"json": {"hello": "world, in more octets than a short string has"},'
    ' "a": ["x", 1, -2.5, true, null, [[7]], {"b": {"c": 9}}], "a b\\n": 3}'
)


def _reply() raises -> JsonValue:
    return parse(TEXT)


def _second_of(value: JsonView) raises -> Int:
    return value[1].int_value()


def _error_of(value: JsonView, step: Int) raises -> JsonError:
    try:
        if step == 0:
            _ = value["nope"]
        elif step == 1:
            _ = value["a"][7]
        elif step == 2:
            _ = value["a"][-1]
        elif step == 3:
            _ = value["a"][4].string_value()
        elif step == 4:
            _ = value["a"][6]["b"]["c"].bool_value()
        elif step == 5:
            _ = value["a"]["x"]
        elif step == 6:
            _ = value[0]
        elif step == 7:
            _ = value["a b\n"].members()
        elif step == 8:
            _ = value["a"][2].int_value()
        elif step == 9:
            _ = value["a"][5][0][0].elements()
        else:
            _ = value["json"]["hello"].float_value()
    except error:
        return error.copy()
    raise Error("no error in step ", step)


def test_reads_in_one_expression() raises:
    assert_equal(
        _reply()["json"]["hello"].string_value(),
        "world, in more octets than a short string has",
    )
    assert_equal(parse('[{"a": [5]}]')[0]["a"][0].int_value(), 5)
    assert_equal(parse('"alone"').string_value(), "alone")


def test_reads_each_kind() raises:
    var data = _reply()
    assert_equal(data["a"][0].string_value(), "x")
    assert_equal(data["a"][1].int_value(), 1)
    assert_equal(data["a"][1].float_value(), 1.0)
    assert_equal(data["a"][2].float_value(), -2.5)
    assert_true(data["a"][3].bool_value())
    assert_true(data["a"][4].is_null())
    assert_false(data["a"][3].is_null())
    assert_equal(data["a"][5][0][0].int_value(), 7)
    assert_equal(data["a b\n"].int_value(), 3)
    assert_equal(_second_of(data["a"]), 1)
    assert_true(data.kind() == JsonKind.OBJECT)
    assert_true(data["a"].kind() == JsonKind.ARRAY)


def test_root_reads_like_a_view() raises:
    assert_true(parse("true").bool_value())
    assert_true(parse("null").is_null())
    assert_equal(parse("7").int_value(), 7)
    assert_equal(parse("7.5").float_value(), 7.5)
    assert_equal(len(parse("[1,2]")), 2)
    assert_equal(len(parse('"text"')), 0)
    assert_equal(len(parse("12")), 0)
    assert_true(parse('{"a":1}').contains("a"))
    assert_false(parse('["a"]').contains("a"))


def test_counts_and_optional_members() raises:
    var data = _reply()
    assert_equal(len(data), 3)
    assert_equal(len(data["a"]), 7)
    assert_true(data.contains("json"))
    assert_false(data.contains("jso"))
    assert_false(data.contains(""))
    assert_true(data.get("nope") is None)
    var found = data.get("a b\n")
    assert_true(Bool(found))
    if found:
        assert_equal(found.value().int_value(), 3)


def test_last_of_repeated_names_wins() raises:
    # RFC 8259 section 4 leaves it open; most readers agree on the last.
    var data = parse('{"a": 1, "b": 2, "a": 3}')
    assert_equal(data["a"].int_value(), 3)
    assert_equal(len(data), 3)


def test_iterates() raises:
    var data = parse('{"k": [1, [2], 3], "l": {}, "\\u006d": []}')
    var names = String()
    for member in data.members():
        names.write(member.name, ":", len(member.value), " ")
    assert_equal(names, "k:3 l:0 m:0 ")
    var total = 0
    for element in data["k"].elements():
        if element.kind() == JsonKind.INT:
            total += element.int_value()
    assert_equal(total, 4)
    for _ in data["m"].elements():
        assert_true(False, "an empty array has no element")
    for element in parse("[8]").elements():
        assert_equal(element.int_value(), 8)


def test_errors_name_the_value() raises:
    comptime WRONG = JsonErrorKind.WRONG_KIND
    var kinds: List[JsonErrorKind] = [
        JsonErrorKind.NO_MEMBER,
        JsonErrorKind.NO_ELEMENT,
        JsonErrorKind.NO_ELEMENT,
        WRONG,
        WRONG,
        WRONG,
        WRONG,
        WRONG,
        WRONG,
        WRONG,
        WRONG,
    ]
    var paths: List[StaticString] = [
        "$",
        '$["a"]',
        '$["a"]',
        '$["a"][4]',
        '$["a"][6]["b"]["c"]',
        '$["a"]',
        "$",
        '$["a b?"]',
        '$["a"][2]',
        '$["a"][5][0][0]',
        '$["json"]["hello"]',
    ]
    var data = _reply()
    for step in range(len(paths)):
        var error = _error_of(data.view(), step)
        assert_true(error.kind == kinds[step], String(error))
        assert_equal(error.path, paths[step])
        assert_equal(error.offset, -1)
    assert_equal(
        String(_error_of(data.view(), 3)),
        'JSON value $["a"][4]: found null, expected a string',
    )
    assert_equal(
        String(_error_of(data.view(), 0)),
        "JSON value $: found an object of 3 without it, expected a member"
        ' "nope"',
    )
