"""Tables of texts with a line for each number."""

from flare.bytes.lines import line_at
from tests.support.assertions import assert_equal

comptime _TEXTS = StaticString("none\n\na few\nmany")


def test_lines_by_number() raises:
    """What has no line of its own has the last one."""
    var rows: List[Tuple[Int, String]] = [
        (0, "none"),
        (1, ""),
        (2, "a few"),
        (3, "many"),
        (4, "many"),
        (Int.MAX, "many"),
    ]
    for ref row in rows:
        assert_equal(String(line_at(_TEXTS, row[0])), row[1])
    assert_equal(String(line_at("one", 7)), "one")
