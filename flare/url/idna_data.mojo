"""What Unicode says of a character in a host name, and its normal form (NFC)."""

from flare.bytes.checked import *
from flare.url.idna_table import (
    COMPOSITIONS,
    COMPOSITION_ORDER,
    RECORDS,
    SPELLINGS,
)

comptime VALID = 0
"""May stand in a label; the value holds its properties."""
comptime IGNORED = 1
"""Is left out."""
comptime DISALLOWED = 2
"""May stand in no name."""
comptime MAPPED = 3
"""Is replaced by one code point: the value."""
comptime SPELLED = 4
"""Is replaced by several: the value holds their place and count."""
# Each second one is mapped to the one after it, which is valid.
comptime _PAIRED = 5

comptime BIDI_L = 0
"""Left-to-right (Unicode's Bidi_Class, as all `BIDI_` numbers)."""
comptime BIDI_R = 1
"""Right-to-left."""
comptime BIDI_AL = 2
"""Right-to-left Arabic."""
comptime BIDI_AN = 3
"""Arabic number."""
comptime BIDI_EN = 4
"""European number."""
comptime BIDI_NSM = 10
"""Nonspacing mark; those between it and the numbers are neutral or weak."""
comptime BIDI_OTHER = 15
"""A class that RFC 5893 lets into no label."""

comptime JOINING_T = 1
"""Transparent (Unicode's Joining_Type, as all `JOINING_` numbers)."""
comptime JOINING_L = 2
"""Left-joining."""
comptime JOINING_R = 3
"""Right-joining."""
comptime JOINING_D = 4
"""Dual-joining."""

comptime COMBINING_CLASS_VIRAMA = 9
"""The combining class of what links two consonants in Indic scripts."""

comptime _RECORD_LEN = 7
comptime _COMPOSITION_LEN = 9
# Planes 4 to 13 are empty; plane 14 takes the place of plane 4 in the table.
comptime _EMPTY_START = 0x40000
comptime _EMPTY_END = 0xE0000


@fieldwise_init
struct IdnaEntry(TrivialRegisterPassable):
    """What UTS 46 does with one code point."""

    var kind: Int
    """`VALID`, `IGNORED`, `DISALLOWED`, `MAPPED` or `SPELLED`."""
    var value: Int
    """Depends on the kind."""

    def combining_class(self) -> Int:
        """Gives the Canonical_Combining_Class, by which marks are ordered; 0 if
        it is not valid."""
        return self.value & 0xFF if self.kind == VALID else 0

    def bidi_class(self) -> Int:
        """Gives the Bidi_Class: in which direction it runs; `BIDI_OTHER` if it
        is not valid."""
        return self.value >> 8 & 0xF if self.kind == VALID else BIDI_OTHER

    def joining_type(self) -> Int:
        """Gives the Joining_Type: how it joins its neighbours; 0 for those that
        have no name here."""
        return self.value >> 12 & 0x7 if self.kind == VALID else 0

    def is_mark(self) -> Bool:
        """Tells whether its General_Category is one of the combining marks."""
        return self.kind == VALID and self.value >> 15 & 1 == 1

    def may_compose(self) -> Bool:
        """Tells whether NFC may join it to what stands before it. True unless
        its Quick_Check for NFC is Yes."""
        return self.kind == VALID and self.value >> 16 & 1 == 1


def idna_entry(code_point: Int) -> IdnaEntry:
    """Looks up a code point, which is at least 0.

    Source: UTS 46 section 5, with non-transitional processing: what it calls a
    deviation is valid.
    """
    var wanted = code_point
    if wanted >= _EMPTY_START:
        if wanted < _EMPTY_END:
            return IdnaEntry(DISALLOWED, 0)
        wanted -= _EMPTY_END - _EMPTY_START
    # The first record starts at 0, so there is always one at or before.
    var low = 0
    var high = RECORDS.byte_length() // _RECORD_LEN
    while high - low > 1:
        var middle = (low + high) // 2
        if _number[3](RECORDS, middle * _RECORD_LEN) <= wanted:
            low = middle
        else:
            high = middle
    var at = low * _RECORD_LEN
    var kind = _number[1](RECORDS, at + 3)
    var value = _number[3](RECORDS, at + 4)
    var distance = wanted - _number[3](RECORDS, at)
    if kind == MAPPED:
        return IdnaEntry(MAPPED, value + distance)
    if kind == _PAIRED:
        if distance % 2 == 0:
            return IdnaEntry(MAPPED, code_point + 1)
        return IdnaEntry(VALID, value)
    return IdnaEntry(kind, value)


def append_spelling(entry: IdnaEntry, mut text: List[Int]):
    """Appends what a `SPELLED` code point, whose entry it is, is replaced by."""
    var start = entry.value >> 5
    for place in range(start, start + (entry.value & 31)):
        text.append(_number[3](SPELLINGS, place * 3))


def decompose(code_point: Int) -> Tuple[Int, Int]:
    """Takes one step of the canonical decomposition of a valid code point,
    Hangul left aside: two parts, or (-1, -1) if it has none."""
    var low = 0
    var high = COMPOSITIONS.byte_length() // _COMPOSITION_LEN
    while low < high:
        var middle = (low + high) // 2
        var at = middle * _COMPOSITION_LEN
        var found = _number[3](COMPOSITIONS, at)
        if found == code_point:
            return (
                _number[3](COMPOSITIONS, at + 3),
                _number[3](COMPOSITIONS, at + 6),
            )
        if found < code_point:
            low = middle + 1
        else:
            high = middle
    return (-1, -1)


def compose(first: Int, second: Int) -> Int:
    """Finds the primary composite of two neighbours, Hangul left aside; -1 if
    the pair stays as it is."""
    var wanted = first << 21 | second
    var low = 0
    var high = COMPOSITION_ORDER.byte_length() // 2
    while low < high:
        var middle = (low + high) // 2
        var at = _number[2](COMPOSITION_ORDER, middle * 2) * _COMPOSITION_LEN
        var found = _number[3](COMPOSITIONS, at + 3) << 21 | _number[3](
            COMPOSITIONS, at + 6
        )
        if found == wanted:
            return _number[3](COMPOSITIONS, at)
        if found < wanted:
            low = middle + 1
        else:
            high = middle
    return -1


def _number[digit_count: Int](table: StaticString, at: Int) -> Int:
    """Reads a number in base 91; its digits leave out the backslash."""
    var octets = table.as_bytes()
    var value = 0
    for place in range(at, at + digit_count):
        var octet = Int(octets.at(place))
        value = value * 91 + octet - 35 - Int(octet > 92)
    return value


# Hangul syllables are made of 19 initial consonants, 21 vowels and 27 final
# ones or none (Unicode Standard section 3.12).
comptime _SYLLABLE = 0xAC00
comptime _INITIAL = 0x1100
comptime _INITIAL_COUNT = 19
comptime _VOWEL = 0x1161
comptime _VOWEL_COUNT = 21
comptime _FINAL = 0x11A7
comptime _FINAL_COUNT = 28
comptime _SYLLABLE_COUNT = _INITIAL_COUNT * _VOWEL_COUNT * _FINAL_COUNT


def normalize(text: Span[Int, _]) -> List[Int]:
    """Gives the Normalization Form C of a text: the text itself if it has it."""
    var is_normal = True
    for code_point in text:
        var entry = idna_entry(code_point)
        if entry.combining_class() != 0 or entry.may_compose():
            is_normal = False
            break
    if is_normal:
        # Every code point that is valid alone is its own form.
        return List[Int](text)
    var parts = List[Int](capacity=2 * len(text))
    for code_point in text:
        _append_parts(code_point, parts)
    var classes = List[Int](capacity=len(parts))
    for part in parts:
        classes.append(idna_entry(part).combining_class())
    _order_marks(parts, classes)
    return _compose_all(parts, classes)


def _append_parts(code_point: Int, mut parts: List[Int]):
    """Appends the full canonical decomposition."""
    var index = code_point - _SYLLABLE
    if index >= 0 and index < _SYLLABLE_COUNT:
        var pair = index // _FINAL_COUNT
        parts.append(_INITIAL + pair // _VOWEL_COUNT)
        parts.append(_VOWEL + pair % _VOWEL_COUNT)
        if index % _FINAL_COUNT != 0:
            parts.append(_FINAL + index % _FINAL_COUNT)
        return
    # Only the first part of a pair decomposes further.
    var seconds = List[Int]()
    var first = code_point
    while True:
        var pair = decompose(first)
        if pair[0] < 0:
            break
        seconds.append(pair[1])
        first = pair[0]
    parts.append(first)
    while len(seconds) > 0:
        parts.append(seconds.pop())


def _order_marks(mut parts: List[Int], mut classes: List[Int]):
    """Sorts each run of marks by combining class, keeping equal ones in order."""
    for end in range(1, len(parts)):
        var at = end
        while at > 0 and classes[at] != 0 and classes[at - 1] > classes[at]:
            parts.swap_elements(at - 1, at)
            classes.swap_elements(at - 1, at)
            at -= 1


def _compose_all(parts: Span[Int, _], classes: Span[Int, _]) -> List[Int]:
    """Joins each starter with what composes after it and is not blocked."""
    var text = List[Int](capacity=len(parts))
    var starter = -1
    var last_class = 0
    for index in range(len(parts)):
        var part = parts.at(index)
        var combining_class = classes.at(index)
        if starter >= 0 and (last_class == 0 or last_class < combining_class):
            var composed = _compose_pair(text.at(starter), part)
            if composed >= 0:
                text.at(starter) = composed
                continue
        if combining_class == 0:
            starter = len(text)
        last_class = combining_class
        text.append(part)
    return text^


def _compose_pair(first: Int, second: Int) -> Int:
    """Joins two code points, or gives -1."""
    var initial = first - _INITIAL
    var vowel = second - _VOWEL
    if initial >= 0 and initial < _INITIAL_COUNT:
        if vowel >= 0 and vowel < _VOWEL_COUNT:
            return _SYLLABLE + (initial * _VOWEL_COUNT + vowel) * _FINAL_COUNT
    var syllable = first - _SYLLABLE
    var final = second - _FINAL
    if syllable >= 0 and syllable < _SYLLABLE_COUNT:
        if syllable % _FINAL_COUNT == 0 and final > 0 and final < _FINAL_COUNT:
            return first + final
    return compose(first, second)
