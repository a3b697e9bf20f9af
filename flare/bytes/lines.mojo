"""Tables of texts, as one text with a line for each number: rules, names."""

from flare.bytes.checked import *


@no_inline
def line_at(texts: StaticString, index: Int) -> StaticString:
    """Gives the line of a number, from 0 on; for what has none, the last one."""
    var lines_left = index
    var start = 0
    var octets = texts.as_bytes()
    var end = 0
    while end < len(octets):
        if octets.at(end) == 10:
            if lines_left == 0:
                break
            lines_left -= 1
            start = end + 1
        end += 1
    # SAFETY: lines of ASCII, which a feed ends.
    return StaticString(unsafe_from_utf8=octets.between(start, end))
