"""Tests of texts put together from parts."""

from flare.bytes.text import Text
from tests.support.assertions import assert_equal


@fieldwise_init
struct _Point(Writable):
    var x: Int
    var y: Int

    def write_to(self, mut writer: Some[Writer]):
        self.x.write_to(writer)
        writer.write_string(",")
        self.y.write_to(writer)


def test_parts_follow_each_other() raises:
    var name = String("a name of more than twenty-three octets")
    var part = StringSpan(name)
    assert_equal(
        Text().add("[").add(name).add("|").add(part).add("]").end(),
        String("[", name, "|", part, "]"),
    )
    assert_equal(Text().end(), "")
    assert_equal(Text().add("").add(String()).end(), "")


def test_values_are_what_string_makes_of_them() raises:
    assert_equal(
        Text().add(Int.MIN).add(" ").add(Int.MAX).end(),
        String(Int.MIN, " ", Int.MAX),
    )
    assert_equal(
        Text().add(UInt64.MAX).add(_Point(1, -2)).add(True).end(),
        String(UInt64.MAX, _Point(1, -2), True),
    )
    assert_equal(Text().add(Error("broken")).end(), "broken")


def test_a_text_is_not_changed_by_its_copy() raises:
    var first = String("some text that lies on the heap, not in the struct")
    var longer = Text().add(first).add("!").end()
    assert_equal(first.byte_length() + 1, longer.byte_length())
    assert_equal(first, "some text that lies on the heap, not in the struct")


def test_octets_are_escaped_as_in_log_lines() raises:
    assert_equal(
        Text().add("'").add_escaped("a\n\\".as_bytes()).add("'").end(),
        "'a\\x0a\\x5c'",
    )
