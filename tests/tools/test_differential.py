"""The comparison with other parsers: what counts as a difference, and that the
classes in docs/conformance.md are those that a run knows."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "differential"))

import classes  # noqa: E402
import differential  # noqa: E402
import protobuf_words  # noqa: E402
import tables  # noqa: E402
from subjects import SUBJECTS  # noqa: E402

REQUEST = next(subject for subject in SUBJECTS if subject.name == "request")
ONE = "M GET / 1.1 keep a:b - - "


@pytest.mark.parametrize(
    ("ours", "theirs", "found"),
    [
        (ONE + "E end", ONE + "E end", None),
        (ONE + "E end", ONE + "E partial", "end / partial"),
        ("E refuse:7", "E refuse:malformed_line", None),
        ("E refuse:7", ONE + "E end", "refuse:7 / take"),
        (ONE + ONE + "E end", ONE + 'E refuse:bad_x:_"y"', "take / refuse:bad_x"),
        (ONE + "E end", ONE.replace("a:b -", "a:b c") + "E end", "differ:content"),
        (ONE + "E end", ONE.replace("keep", "~") + "E end", None),
        (ONE + "E refuse:7", ONE.replace("keep", "~") + "E end", "refuse:7 / end"),
    ],
)
def test_first_difference(ours: str, theirs: str, found: str | None) -> None:
    assert differential.difference(ours, theirs, REQUEST) == found


def test_class_is_found_by_difference_judge_and_input() -> None:
    upgrade = b"GET / HTTP/1.1\r\nUpgrade: x\r\n\r\n"
    assert classes.find("request", "Node", "take / end", upgrade) is not None
    assert classes.find("request", "Node", "take / end", b"GET /") is None
    assert classes.find("request", "Go", "take / end", upgrade) is None
    assert classes.find("json", "Node", "take / end", upgrade) is None


def test_digits_that_a_float_loses_are_a_class() -> None:
    # 97125740331020660, of which Python's float makes ...656.
    for text in (b'I"9712574033102066e1"', b"I9007199254740993.0"):
        assert classes.find("protobuf-json", "Python", "differ:octets", text), text
    assert classes.find("protobuf-json", "Python", "differ:octets", b'I"12e1"') is None


ONE_TO_ONE, TWO_TO_TWO = "f2030408011001", "f2030408021002"
A_TEXT, B_TEXT = "e2020161", "e2020162"


@pytest.mark.parametrize(
    ("octets", "ordered"),
    [
        # Entries of a map have no order, those of a list have.
        (TWO_TO_TWO + ONE_TO_ONE, ONE_TO_ONE + TWO_TO_TWO),
        (B_TEXT + A_TEXT, B_TEXT + A_TEXT),
        # Within a message.
        ("92010e" + TWO_TO_TWO + ONE_TO_ONE, "92010e" + ONE_TO_ONE + TWO_TO_TWO),
    ],
)
def test_entries_of_maps_are_put_in_order(octets: str, ordered: str) -> None:
    line = f"M x{octets} - - - E refuse:12:none"
    expected = f"M x{ordered} - - - E refuse:12:none"
    assert protobuf_words.in_order(b"E", line) == expected


def test_numbers_are_compared_by_their_bits() -> None:
    one, other = (f"M x - - - M - j{text} - - E end" for text in (
        '{"fFloat":16777216.0,"fInt32":1}', '{"fInt32":1,"fFloat":1.6777216e7}',
    ))  # fmt: skip
    assert protobuf_words.in_order(b"E", one) == protobuf_words.in_order(b"E", other)
    as_text = 'M x - - - M - j{"fInt32":"1","fFloat":16777216} - - E end'
    assert protobuf_words.in_order(b"E", one) != protobuf_words.in_order(b"E", as_text)


def test_classes_have_different_names() -> None:
    for subject in SUBJECTS:
        names = [row.name for row in classes.of(subject.name)]
        assert len(names) == len(set(names)), subject.name


def test_page_has_the_classes_that_are_known() -> None:
    assert tables.problems() == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nosuch"], "there is no subject nosuch; name some of request, "),
        (["json", "jsom"], "there is no subject jsom; "),
        (["--judges", "Python,Perl"], "there is no judge Perl; name some of "),
    ],
)
def test_names_of_nothing_are_refused_before_anything_is_built(
    words, said, monkeypatch, capsys
):
    monkeypatch.setattr(differential, "flare", lambda: pytest.fail("flare was built"))
    with pytest.raises(SystemExit) as end:
        differential.main(words)
    assert end.value.code == 2 and said in capsys.readouterr().err
