"""Octets as words that hold neither space nor line end."""

from flare.http.message.fields import Fields


def quoted(octets: Span[UInt8, _]) -> String:
    """Writes octets as one word: `%` and two digits for all that is not visible
    ASCII, and for `%` and `|`; `-` for nothing at all."""
    comptime DIGITS = StaticString("0123456789ABCDEF")
    if len(octets) == 0:
        return "-"
    var word = List[UInt8](capacity=len(octets) * 2)
    for octet in octets:
        if octet > 32 and octet < 127 and octet != 37 and octet != 124:
            word.append(octet)
            continue
        word.append(37)
        word.append(DIGITS.as_bytes()[Int(octet >> 4)])
        word.append(DIGITS.as_bytes()[Int(octet & 15)])
    if len(word) == 1 and word[0] == 45:
        return "%2D"
    return String(unsafe_from_utf8=word)


# What says how a message is framed and routed shows in what else is compared,
# and some of the others take it out of their fields.
comptime _LEFT_OUT = StaticString(
    " host content-length transfer-encoding connection trailer "
)


@fieldwise_init
struct _Line(Copyable, Movable):
    var name: String
    var value: String


def quoted_fields(fields: Fields) -> String:
    """Writes field lines as one word, `name:value|name:value`, by name; lines of
    the same name in their order."""
    var lines = List[_Line]()
    for index in range(len(fields)):
        var name = fields.name(index).lower()
        if String(" ", name, " ") in _LEFT_OUT:
            continue
        var line = _Line(
            quoted(name.as_bytes()), quoted(fields.value_bytes(index))
        )
        var place = len(lines)
        while place > 0 and _is_before(line.name, lines[place - 1].name):
            place -= 1
        lines.insert(place, line^)
    if len(lines) == 0:
        return "-"
    var word = String()
    for line in lines:
        word.write("|" if word else "", line.name, ":", line.value)
    return word^


def _is_before(left: String, right: String) -> Bool:
    var mine = left.as_bytes()
    var others = right.as_bytes()
    for index in range(min(len(mine), len(others))):
        if mine[index] != others[index]:
            return mine[index] < others[index]
    return len(mine) < len(others)
