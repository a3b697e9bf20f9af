"""How the rows of Unicode's test file are read: blanks mean what stood before."""

import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests" / "vectors"))

import idna_rows


def ok(text: str) -> str:
    return f"OK {text.encode().hex() or '-'}"


@pytest.mark.parametrize(
    ("line", "source", "expect"),
    [
        ("a.b; ; ; ; ; ;", "a.b", ok("a.b")),
        ("A; a; ; ; ; ;  # a", "A", ok("a")),
        ("\u00df; ; ; xn--zca; ; ss;", "\u00df", ok("xn--zca")),
        (r"\u0061\x{62}; ; ; ; ; ;", "ab", ok("ab")),
        ("1a; ; [B1]; ; ; ;", "1a", "ERR"),
        ("1a; ; [A4_1, B1]; ; ; ;", "1a", "ERR"),
        ("1a; ; ; ; [V7]; ;", "1a", "ERR"),
        ("1a; ; [B1]; ; []; ;", "1a", ok("1a")),
        # Neither lengths nor hyphens nor ASCII signs are checked.
        ("-a; ; [V3]; ; [V3, A4_2, U1]; ;", "-a", ok("-a")),
        ('""; ; [X4_2]; ; [A4_1]; ;', "", ok("")),
        ('\u00ad; ""; ; ; ; ;', "\u00ad", ok("")),
    ],
)
def test_rows(line, source, expect):
    (row,) = idna_rows.read_rows(f"# IdnaTestV2.txt\n\n{line}\n")
    assert row["line"] == (source.encode().hex() or "-")
    assert row["expect"] == expect


def test_text_that_utf_8_cannot_carry_is_left_out():
    assert idna_rows.read_rows("\\uD900; ; [V7]; ; ; ;\na; ; ; ; ; ;\n")[0]["line"] == "61"
