"""The tracestate field of W3C Trace Context: checked, bounded, passed on."""

from flare.bytes.ascii import trim_whitespace
from flare.bytes.checked import *
from flare.bytes.copy import text_of
from flare.bytes.scan import OctetClass

comptime MEMBER_COUNT_MAX = 32
"""Most members of a list (Trace Context section 3.3.1.1)."""

comptime TRACESTATE_LEN_MAX = 512
"""Most octets that are passed on (Trace Context section 3.3.1.5).

The section asks for at least as many, and for no more.
"""

comptime _LONG_MEMBER_LEN = 128
# Longer members go first where not all have room (section 3.3.1.5).
comptime _SIMPLE_KEY_LEN_MAX = 256
comptime _TENANT_LEN_MAX = 241
comptime _SYSTEM_LEN_MAX = 14
comptime _VALUE_LEN_MAX = 256

comptime _COMMA = UInt8(44)
comptime _EQUALS = UInt8(61)
comptime _AT = UInt8(64)
comptime _KEY = OctetClass("abcdefghijklmnopqrstuvwxyz0123456789_-*/")


struct TraceStateReader(Movable):
    """Reads the tracestate fields of one message into one list.

    ```mojo
    var reader = TraceStateReader()
    reader.add(req.header("tracestate").as_bytes())
    var state = reader.text()
    ```

    What comes out is what goes to the next service: members in their order,
    without whitespace and empty members between them. Of two members with one
    key the first, which is the newer one, is kept.
    """

    var _members: List[String]
    # False once something breaks the grammar: then nothing is passed on.
    var _is_sound: Bool

    def __init__(out self):
        """Starts with nothing."""
        self._members = []
        self._is_sound = True

    def add(mut self, value: Span[UInt8, _]):
        """Takes the value of a field; several are one list in their order.

        Args:
            value: The value.
        """
        var start = 0
        for index in range(len(value) + 1):
            if index < len(value) and value.at(index) != _COMMA:
                continue
            var member = trim_whitespace(value.between(start, index).as_imm())
            start = index + 1
            # Empty members are allowed (section 3.3.1.1).
            if len(member) > 0 and self._is_sound:
                self._add_member(member)

    def text(self) -> String:
        """Gives the list to pass on, of at most `TRACESTATE_LEN_MAX` octets;
        empty if there is none, or a field was malformed."""
        if not self._is_sound:
            return String()
        var rest = self._members.copy()
        _shorten(rest, _LONG_MEMBER_LEN)
        _shorten(rest, 0)
        var text = String(capacity_bytes=_length(rest))
        for index in range(len(rest)):
            if index > 0:
                text += ","
            text += rest.at(index)
        return text^

    def _add_member(mut self, member: Span[UInt8, _]):
        var key_len = _key_len(member)
        if (
            key_len == 0
            or not _is_value(member.after(key_len + 1))
            or len(self._members) == MEMBER_COUNT_MAX
        ):
            self._is_sound = False
            return
        for ref known in self._members:
            var octets = known.as_bytes()
            if len(octets) > key_len and octets.before(
                key_len + 1
            ) == member.before(key_len + 1):
                return
        self._members.append(text_of(member))


def _shorten(mut members: List[String], len_min: Int):
    """Drops members that are longer than `len_min`, the last ones first, until
    the others have room."""
    var index = len(members) - 1
    while index >= 0 and _length(members) > TRACESTATE_LEN_MAX:
        if members.at(index).byte_length() > len_min:
            _ = members.pop(index)
        index -= 1


def _length(members: List[String]) -> Int:
    var length = max(len(members) - 1, 0)
    for ref member in members:
        length += member.byte_length()
    return length


def _key_len(member: Span[UInt8, _]) -> Int:
    """Reads a key and the `=` after it (section 3.3.1.3.1). Returns the key's
    length; 0 if it is none."""
    var at = -1
    for index in range(len(member)):
        var octet = member.at(index)
        if octet == _EQUALS:
            return index if _is_key(member.before(index), at) else 0
        if octet == _AT and at < 0 and index > 0:
            at = index
        elif not materialize[_KEY]().contains(octet):
            return 0
    return 0


def _is_key(key: Span[UInt8, _], at: Int) -> Bool:
    if len(key) == 0:
        return False
    if at < 0:
        return len(key) <= _SIMPLE_KEY_LEN_MAX and _is_letter(key.at(0))
    var system_len = len(key) - at - 1
    return (
        at <= _TENANT_LEN_MAX
        and (_is_letter(key.at(0)) or _is_digit(key.at(0)))
        and system_len >= 1
        and system_len <= _SYSTEM_LEN_MAX
        and _is_letter(key.at(at + 1))
    )


def _is_value(value: Span[UInt8, _]) -> Bool:
    """Checks a value (section 3.3.1.3.2); blanks at its end are gone."""
    if len(value) == 0 or len(value) > _VALUE_LEN_MAX:
        return False
    for octet in value:
        if octet < 32 or octet > 126 or octet == _EQUALS:
            return False
    return True


def _is_letter(octet: UInt8) -> Bool:
    return octet >= 97 and octet <= 122


def _is_digit(octet: UInt8) -> Bool:
    return octet >= 48 and octet <= 57
