"""Form data: the pairs of names and values in queries and HTML forms."""

from flare.bytes.checked import *
from flare.url.percent import (
    FORM_SET,
    PERCENT,
    hex_pair_value,
    percent_encode,
)

comptime FORM_PAIR_COUNT_MAX = 1000
"""Most pairs accepted in one form or query.

A body of 10 MiB of `&a&a` would otherwise become 240 MiB of pairs.
"""

comptime _AMPERSAND: UInt8 = 38
comptime _EQUALS: UInt8 = 61
comptime _PLUS: UInt8 = 43
comptime _SPACE: UInt8 = 32


@fieldwise_init
struct FormError(Copyable, Movable, Writable):
    """A form has more than `FORM_PAIR_COUNT_MAX` pairs."""

    var offset: Int
    """Where the first pair too many starts, in bytes."""

    def write_to(self, mut writer: Some[Writer]):
        writer.write("form: more than ", FORM_PAIR_COUNT_MAX, " pairs")
        writer.write(" (byte ", self.offset, "); send fewer fields")


@fieldwise_init
struct FormPair(Copyable, Equatable, Movable):

    var name: String
    var value: String


struct FormData(Copyable, Equatable, Movable, Sized, Writable):
    """The fields of a form in order; a name may occur more than once.

    Writes itself as application/x-www-form-urlencoded, which `parse` reads.
    """

    var pairs: List[FormPair]
    """The fields."""

    def __init__(out self):
        """Makes a form without fields."""
        self.pairs = List[FormPair]()

    @no_inline
    def __deinit__(deinit self):
        return

    @staticmethod
    def parse(text: StringSpan) raises FormError -> Self:
        """Reads a form or the query of a URL.

        Args:
            text: As for the other overload.

        Raises:
            FormError: If there are more than `FORM_PAIR_COUNT_MAX` of them.
        """
        return Self.parse(text.as_bytes())

    @staticmethod
    def parse(octets: Span[UInt8, _]) raises FormError -> Self:
        """Reads a form or the query of a URL.

        Source: URL Standard section 5.1. A `+` is a space; a `%` without two
        hex digits stands for itself; what is no UTF-8 becomes U+FFFD. A field
        without `=` has an empty value, and nothing between two `&` is no field.

        Args:
            octets: Pairs such as `a=1&b=2`, without a leading `?`.
        """
        var form = Self()
        var start = 0
        while start < len(octets):
            var cut = _next_pair(octets, start)
            if cut.end > start:
                if len(form.pairs) == FORM_PAIR_COUNT_MAX:
                    raise FormError(start)
                form.pairs.append(
                    FormPair(
                        _decode(octets.between(start, cut.name_end)),
                        _decode(octets.between(cut.value_start, cut.end)),
                    )
                )
            start = cut.end + 1
        return form^

    def add(mut self, var name: String, var value: String):
        """Appends a field.

        Args:
            name: Its name.
            value: Its value.
        """
        self.pairs.append(FormPair(name^, value^))

    def get(self, name: StringSpan) -> Optional[String]:
        """Finds the value of the first field of a name; nothing if there is
        none."""
        for ref pair in self.pairs:
            if pair.name == name:
                return pair.value
        return None

    def get_all(self, name: StringSpan) -> List[String]:
        """Finds the values of all fields of a name, such as ticked boxes, in
        order."""
        var values = List[String]()
        for ref pair in self.pairs:
            if pair.name == name:
                values.append(pair.value)
        return values^

    def __len__(self) -> Int:
        """Counts the fields."""
        return len(self.pairs)

    def write_to(self, mut writer: Some[Writer]):
        """Writes the encoded form.

        Source: URL Standard section 5.2."""
        var encoded = List[UInt8]()
        for ref pair in self.pairs:
            if len(encoded) > 0:
                encoded.append(_AMPERSAND)
            _encode(pair.name, encoded)
            encoded.append(_EQUALS)
            _encode(pair.value, encoded)
        writer.write(StringSpan(unsafe_from_utf8=encoded))


def find_query_value(
    octets: Span[UInt8, _], name: StringSpan
) -> Optional[String]:
    """Finds the decoded first value of a name in a form, or in a query without
    its `?`, without decoding the other fields."""
    var start = 0
    while start < len(octets):
        var cut = _next_pair(octets, start)
        if cut.end > start and _equals_decoded(
            octets.between(start, cut.name_end), name.as_bytes()
        ):
            return _decode(octets.between(cut.value_start, cut.end))
        start = cut.end + 1
    return None


@fieldwise_init
struct _PairCut(TrivialRegisterPassable):
    """Where name and value of a pair end and start."""

    var name_end: Int
    var value_start: Int
    var end: Int


def _next_pair(octets: Span[UInt8, _], start: Int) -> _PairCut:
    var name_end = -1
    var end = start
    while end < len(octets) and octets.at(end) != _AMPERSAND:
        if octets.at(end) == _EQUALS and name_end < 0:
            name_end = end
        end += 1
    if name_end < 0:
        return _PairCut(end, end, end)
    return _PairCut(name_end, name_end + 1, end)


@fieldwise_init
struct _Decoded(TrivialRegisterPassable):
    """A decoded octet, and how many encoded ones it took."""

    var octet: UInt8
    var count: Int


@always_inline
def _decode_at(octets: Span[UInt8, _], index: Int) -> _Decoded:
    var octet = octets.at(index)
    if octet == _PLUS:
        return _Decoded(_SPACE, 1)
    if octet == PERCENT:
        var value = hex_pair_value(octets, index)
        if value >= 0:
            return _Decoded(UInt8(value), 3)
    return _Decoded(octet, 1)


def _decode(octets: Span[UInt8, _]) -> String:
    var decoded = List[UInt8](capacity=len(octets))
    var index = 0
    while index < len(octets):
        var read = _decode_at(octets, index)
        decoded.append(read.octet)
        index += read.count
    return String(from_utf8_lossy=decoded)


def _equals_decoded(octets: Span[UInt8, _], name: Span[UInt8, _]) -> Bool:
    var index = 0
    var count = 0
    while index < len(octets):
        var read = _decode_at(octets, index)
        if count == len(name) or name.at(count) != read.octet:
            return False
        index += read.count
        count += 1
    return count == len(name)


def _encode(text: StringSpan, mut encoded: List[UInt8]):
    var start = len(encoded)
    percent_encode[FORM_SET](text.as_bytes(), encoded)
    # FORM_SET encodes spaces; what is left of them is `%20`.
    var kept = start
    var index = start
    while index < len(encoded):
        var octet = encoded.at(index)
        if octet == PERCENT and encoded.at(index + 1) == 50:
            if encoded.at(index + 2) == 48:
                octet = _PLUS
                index += 2
        encoded.at(kept) = octet
        kept += 1
        index += 1
    encoded.shrink(kept)
