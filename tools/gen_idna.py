"""Writes flare/url/idna_table.mojo from Unicode's data.

Source: IdnaMappingTable, DerivedJoiningType, DerivedBidiClass, combining
classes, general categories and canonical decompositions of one version of
Unicode, as the Python packages `idna` and `unicodedata2` bring them:

    pip install --target build/unicode idna==3.11 unicodedata2==16.0.0
    python3 tools/gen_idna.py build/unicode
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

# Digits are the visible ASCII octets but for the quote and the backslash.
DIGITS = [chr(c) for c in range(35, 127) if c != 92]
LINE_LEN = 76
MAX = 0x110000
# Planes 4 to 13 hold nothing, so plane 14 takes the place of plane 4.
EMPTY_START, EMPTY_END = 0x40000, 0xE0000

VALID, IGNORED, DISALLOWED, SHIFTED, SPELLED, PAIRED = range(6)

BIDI = ["L", "R", "AL", "AN", "EN", "ES", "CS", "ET", "ON", "BN", "NSM"]
OTHER_BIDI = 15
JOINING = ["U", "T", "L", "R", "D"]

PYTHON_STATUS = {"V": VALID, "D": VALID, "I": IGNORED, "X": DISALLOWED}

Record = tuple[int, int, int]


def number(value: int, width: int) -> str:
    """Writes a number in a fixed count of digits, the highest first."""
    text = ""
    for _ in range(width):
        value, digit = divmod(value, len(DIGITS))
        text = DIGITS[digit] + text
    if value:
        raise ValueError("a number has too many digits for its place")
    return text


class Data:
    """What Unicode says about each code point."""

    def __init__(self, packages: Path) -> None:
        sys.path.insert(0, str(packages))
        import unicodedata2
        from idna import idnadata, uts46data

        self.ucd = unicodedata2
        self.version = unicodedata2.unidata_version
        found = {self.version, idnadata.__version__, uts46data.__version__}
        if len(found) != 1:
            raise SystemExit(f"gen_idna: versions differ: {sorted(found)}")
        self.joining = idnadata.joining_types
        self.status: list[int] = [DISALLOWED] * MAX
        self.target: dict[int, str] = {}
        rows = uts46data.uts46data
        ends = [row[0] for row in rows[1:]] + [MAX]
        for row, end in zip(rows, ends):
            for code_point in range(row[0], end):
                if row[1] == "M":
                    self.status[code_point] = SPELLED
                    self.target[code_point] = row[2]
                else:
                    self.status[code_point] = PYTHON_STATUS[row[1]]

    def decomposition(self, code_point: int) -> tuple[int, ...]:
        """Gives one step of the canonical decomposition, if there is one."""
        text = self.ucd.decomposition(chr(code_point))
        if not text or text.startswith("<"):
            return ()
        return tuple(int(part, 16) for part in text.split())

    def compositions(self) -> list[tuple[int, int, int]]:
        """Lists (composed, first, second) of what NFC composes."""
        found = []
        for code_point in range(MAX):
            parts = self.decomposition(code_point)
            text = chr(code_point)
            if len(parts) != 2 or self.ucd.normalize("NFC", text) != text:
                continue
            if all(self.status[part] == VALID for part in parts):
                found.append((code_point, *parts))
        return found

    def properties(self, code_point: int, seconds: set[int]) -> int:
        """Packs what the checks of a valid code point ask for."""
        text = chr(code_point)
        bidi = self.ucd.bidirectional(text)
        joining = chr(self.joining.get(code_point, ord("U")))
        packed = self.ucd.combining(text)
        packed |= (BIDI.index(bidi) if bidi in BIDI else OTHER_BIDI) << 8
        packed |= (JOINING.index(joining) if joining in JOINING else 0) << 12
        packed |= self.ucd.category(text).startswith("M") << 15
        packed |= (code_point in seconds) << 16
        return packed


def check_normal_forms(data: Data, composed: set[int]) -> None:
    """Checks that a table of pairs is enough for what is valid."""
    for code_point in range(MAX):
        if data.status[code_point] != VALID or 0xAC00 <= code_point <= 0xD7A3:
            continue
        text = chr(code_point)
        if data.ucd.normalize("NFC", text) != text:
            raise SystemExit(f"gen_idna: {code_point:X} is valid, but not NFC")
        if data.decomposition(code_point) and code_point not in composed:
            raise SystemExit(f"gen_idna: {code_point:X} has parts not valid")


def records(data: Data, seconds: set[int], pool: list[int]) -> list[Record]:
    """Lists (start, kind, value), each up to where the next one starts."""
    if set(data.status[EMPTY_START:EMPTY_END]) != {DISALLOWED}:
        raise SystemExit("gen_idna: planes 4 to 13 are no longer empty")
    found: list[Record] = []
    code_point = 0
    while code_point < MAX:
        start, kind, value, code_point = next_run(
            data, seconds, pool, code_point
        )
        if kind == DISALLOWED and found and found[-1][1] == kind:
            continue
        if start >= EMPTY_END:
            start -= EMPTY_END - EMPTY_START
        found.append((start, kind, value))
    return found


def next_run(
    data: Data, seconds: set[int], pool: list[int], start: int
) -> tuple[int, int, int, int]:
    """Finds the longest record that starts here, and its end."""
    end = start + 1
    status = data.status[start]
    if status in (IGNORED, DISALLOWED):
        while end < MAX and data.status[end] == status and end != EMPTY_END:
            end += 1
        return start, status, 0, end
    if status == VALID:
        packed = data.properties(start, seconds)
        while (
            end < MAX
            and data.status[end] == VALID
            and data.properties(end, seconds) == packed
        ):
            end += 1
        return start, VALID, packed, end
    target = data.target[start]
    if len(target) > 1:
        return start, SPELLED, spell(pool, target), end
    if maps_to_next(data, start):
        packed = data.properties(start + 1, seconds)
        end += 1
        while (
            maps_to_next(data, end)
            and data.properties(end + 1, seconds) == packed
        ):
            end += 2
        if end > start + 2:
            return start, PAIRED, packed, end
        end = start + 1
    while data.target.get(end) == chr(ord(target) + end - start):
        end += 1
    return start, SHIFTED, ord(target), end


def maps_to_next(data: Data, code_point: int) -> bool:
    """Tells whether a code point maps to a valid one right behind it."""
    after = code_point + 1
    return (
        data.target.get(code_point) == chr(after)
        and data.status[after] == VALID
    )


def spell(pool: list[int], target: str) -> int:
    """Finds or adds a text in the pool; packs its place and its length."""
    wanted = [ord(char) for char in target]
    count = len(wanted)
    for place in range(len(pool) - count + 1):
        if pool[place : place + count] == wanted:
            return place << 5 | count
    pool += wanted
    return len(pool) - count << 5 | count


MEANINGS = {
    "RECORDS": "Where each run of code points starts, its kind, its value.",
    "SPELLINGS": "Code points that others are replaced by, in a row.",
    "COMPOSITIONS": "What composes, and its two parts, in order of the first.",
    "COMPOSITION_ORDER": "Places in `COMPOSITIONS`, in order of the parts.",
}


def literal(name: str, text: str) -> Iterator[str]:
    """Writes a text as a constant."""
    yield f"comptime {name}: StaticString = ("
    for at in range(0, len(text), LINE_LEN - 6):
        yield f'    "{text[at : at + LINE_LEN - 6]}"'
    yield ")"
    yield f'"""{MEANINGS[name]}"""'


HEAD = '''\
# Generated by tools/gen_idna.py from Unicode {version}; do not edit.
"""Tables of Unicode Technical Standard 46 and of Normalization Form C.

Data: Unicode {version}, Copyright Unicode, Inc., under the Unicode License v3.
Numbers are written in base 91, the highest digit first; `idna_data.mojo` says
what they mean. Text in the program's image costs the compiler nothing.
"""
'''


def main() -> None:
    """Writes the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", type=Path, help="where pip put both")
    packages = parser.parse_args().packages
    for name in ("idna", "unicodedata2"):
        if not next(packages.glob(f"{name}*"), None):
            parser.error(f"{packages} has no {name}; what puts it there stands in {__file__}")
    data = Data(packages)
    pairs = data.compositions()
    check_normal_forms(data, {pair[0] for pair in pairs})
    # Hangul vowels and final consonants compose by arithmetic.
    seconds = {pair[2] for pair in pairs}
    seconds |= {*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)}
    pool: list[int] = []
    rows = records(data, seconds, pool)
    by_parts = sorted(range(len(pairs)), key=lambda at: pairs[at][1:])
    tables = {
        "RECORDS": "".join(
            number(a, 3) + number(b, 1) + number(c, 3) for a, b, c in rows
        ),
        "SPELLINGS": "".join(number(code_point, 3) for code_point in pool),
        "COMPOSITIONS": "".join(number(x, 3) for pair in pairs for x in pair),
        "COMPOSITION_ORDER": "".join(number(at, 2) for at in by_parts),
    }
    lines = HEAD.format(version=data.version).splitlines()
    for name, text in tables.items():
        lines += ["", *literal(name, text)]
    root = Path(__file__).resolve().parent.parent
    path = root / "flare/url/idna_table.mojo"
    path.write_text("\n".join(lines) + "\n")
    for name, text in tables.items():
        print(f"{name}: {len(text)} octets")


if __name__ == "__main__":
    main()
