"""What is expected of routes before their handlers are called."""

from flare.bytes.buffer import unsafe_lend_text
from flare.http.server.response_lengths import (
    HALF_LIFE_MS,
    ResponseLengths,
    UNKNOWN_LEN,
)
from tests.support.assertions import assert_equal


def _route(name: StaticString) -> StringSpan[ImmUntrackedOrigin]:
    # SAFETY: a literal lives as long as the program.
    return unsafe_lend_text[ImmUntrackedOrigin](
        name.unsafe_ptr(), name.byte_length()
    )


def test_the_longest_of_late_is_expected() raises:
    var lengths = ResponseLengths()
    assert_equal(lengths.expected(_route("/a"), 0), UNKNOWN_LEN)
    lengths.note(_route("/a"), 1_000, 0)
    lengths.note(_route("/b"), 0, 0)
    for _ in range(1_000):
        lengths.note(_route("/a"), 10, 1)
    assert_equal(lengths.expected(_route("/a"), 1), 1_000)
    assert_equal(lengths.expected(_route("/b"), 1), 0)
    lengths.note(_route("/a"), 4_000, 1)
    assert_equal(lengths.expected(_route("/a"), HALF_LIFE_MS), 4_000)
    # It is forgotten by halves.
    assert_equal(lengths.expected(_route("/a"), 1 + HALF_LIFE_MS), 2_000)
    assert_equal(lengths.expected(_route("/a"), 1 + 2 * HALF_LIFE_MS), 1_000)
    assert_equal(lengths.expected(_route("/a"), 1 << 50), 0)
    lengths.note(_route("/a"), 3_000, 1 + HALF_LIFE_MS)
    assert_equal(lengths.expected(_route("/a"), 1 + HALF_LIFE_MS), 3_000)


def test_there_is_an_end_to_what_is_known() raises:
    var lengths = ResponseLengths()
    var names = List[String]()
    for number in range(1_100):
        names.append(String(number))
    for ref name in names:
        # SAFETY: the names outlive the table.
        lengths.note(
            unsafe_lend_text[ImmUntrackedOrigin](
                name.unsafe_ptr(), name.byte_length()
            ),
            7,
            0,
        )
    assert_equal(lengths.expected(_route("1023"), 0), 7)
    assert_equal(lengths.expected(_route("1024"), 0), UNKNOWN_LEN)
    _ = names^
