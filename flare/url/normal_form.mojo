"""Unicode's Normalization Form C, of text that UTS 46 has mapped.

Source: Unicode Standard Annex 15 and section 3.11 of the Unicode Standard. The
tables hold what may stand in a host name; names with anything else are refused
afterwards, whatever form it has.
"""

from flare.url.idna_data import compose, decompose, idna_entry

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
    """Gives the Normalization Form C of a text.

    Args:
        text: Code points.

    Returns:
        The form; the text itself if it has it.
    """
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
    """Joins each starter with what composes behind it and is not blocked."""
    var text = List[Int](capacity=len(parts))
    var starter = -1
    var last_class = 0
    for index in range(len(parts)):
        var part = parts[index]
        var combining_class = classes[index]
        if starter >= 0 and (last_class == 0 or last_class < combining_class):
            var composed = _compose_pair(text[starter], part)
            if composed >= 0:
                text[starter] = composed
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
