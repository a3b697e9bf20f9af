"""Objects that are written member by member, and what is wrong with them."""

from flare.json.composer import JsonComposer
from std.testing import assert_equal, assert_raises


def test_members() raises:
    var writer = JsonComposer()
    writer.text("a", 'x"y')
    writer.number("b", -7)
    writer.flag("c", True)
    writer.json("d", '[1, {"e": null}]')
    writer.begin_array("f")
    writer.begin_object()
    writer.end_object()
    writer.end_array()
    writer.begin_object("g")
    writer.end_object()
    assert_equal(
        writer^.finish(),
        '{"a":"x\\"y","b":-7,"c":true,"d":[1,{"e":null}],"f":[{}],"g":{}}',
    )


def test_what_is_wrong_is_told_at_the_end() raises:
    # RFC 8259-8.1: text is UTF-8.
    var octets: List[UInt8] = [0xFF]
    var bad_text = JsonComposer()
    bad_text.text("a", StringSpan(unsafe_from_utf8=octets))
    bad_text.text("b", "x")
    with assert_raises(contains="UTF-8"):
        _ = bad_text^.finish()
    var bad_json = JsonComposer()
    bad_json.json("a", "{")
    with assert_raises(contains="JSON text"):
        _ = bad_json^.finish()
    var unended = JsonComposer()
    unended.begin_array("a")
    with assert_raises(contains="JSON writer"):
        _ = unended^.finish()
