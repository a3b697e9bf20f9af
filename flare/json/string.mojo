"""Strings of RFC 8259 section 7: finding their end, unescaping in place."""

from flare.bytes.scan import BytePtr, SCAN_WIDTH
from flare.json.error import JsonErrorKind
from std.bit import count_trailing_zeros
from std.memory import pack_bits, unsafe_memmove
from std.sys.intrinsics import likely


@always_inline
def scan_plain(base: BytePtr, start: Int) -> Int:
    """Finds the first octet that is special within a string: a quotation mark,
    a reverse solidus or a control character below 0x20. One must follow, with
    `SCAN_SLACK` readable bytes after it."""
    # SAFETY: the caller promises a stop octet with SCAN_SLACK bytes after it.
    var offset = start
    while True:
        var octets = base.unsafe_load[width=SCAN_WIDTH](offset)
        var stops = pack_bits(octets.eq(34) | octets.eq(92) | octets.lt(32))
        if likely(stops != 0):
            return offset + Int(count_trailing_zeros(stops))
        offset += SCAN_WIDTH


def scan_plain_scalar(base: BytePtr, start: Int) -> Int:
    """Does the same as `scan_plain`, one octet at a time."""
    # SAFETY: the caller promises a stop octet.
    var offset = start
    while True:
        var octet = base[unsafe_offset=offset]
        if octet == 34 or octet == 92 or octet < 32:
            return offset
        offset += 1


@fieldwise_init
struct StringScan(TrivialRegisterPassable):
    """A string that was unescaped, or where it breaks a rule."""

    var end: Int
    """Offset after the closing quotation mark, or of what breaks a rule."""
    var length: Int
    """Bytes of the unescaped string; -1 if a rule is broken."""
    var failure: JsonErrorKind
    """Which rule; UNEXPECTED if none."""

    @staticmethod
    def broken(offset: Int, failure: JsonErrorKind) -> Self:
        return Self(offset, -1, failure)


@fieldwise_init
struct _Escape(TrivialRegisterPassable):
    """One escape: the character it stands for, or where it breaks a rule."""

    var end: Int
    var code_point: Int
    var failure: JsonErrorKind

    @staticmethod
    def broken(offset: Int, failure: JsonErrorKind) -> Self:
        return Self(offset, -1, failure)


@no_inline
def unescape(base: BytePtr, start: Int, first_stop: Int) -> StringScan:
    """Replaces the escapes of a string by what they stand for, in place;
    `first_stop` is what `scan_plain` gave for `start`. Returns the string's new
    length, and its end in the text, after which there is a control character,
    with `SCAN_SLACK` readable bytes after it.

    Source: RFC 8259 section 7. No escape is shorter than the UTF-8 it stands
    for, so the string only shrinks.
    """
    # SAFETY: reads stop at the control character that the caller promises;
    # writes stay behind reads.
    var read = first_stop
    var write = first_stop
    while True:
        var octet = base[unsafe_offset=read]
        if octet == 34:
            return StringScan(read + 1, write - start, JsonErrorKind.UNEXPECTED)
        if octet != 92:
            return StringScan.broken(read, JsonErrorKind.CONTROL)
        var escape = _read_escape(base, read)
        if escape.code_point < 0:
            return StringScan.broken(escape.end, escape.failure)
        write = _put_code_point(base, write, escape.code_point)
        read = escape.end
        var stop = scan_plain(base, read)
        if stop > read:
            unsafe_memmove(
                dest=base.unsafe_offset(write),
                src=base.unsafe_offset(read),
                count=stop - read,
            )
            write += stop - read
            read = stop


def _read_escape(base: BytePtr, at: Int) -> _Escape:
    """Reads the escape whose reverse solidus is at an offset."""
    # SAFETY: octets are read one by one; none is skipped before it is known
    # not to be the control character at the end.
    comptime OK = JsonErrorKind.UNEXPECTED
    var octet = base[unsafe_offset=at + 1]
    if octet == 0x75:
        return _read_unicode_escape(base, at)
    if octet == 0x22 or octet == 0x5C or octet == 0x2F:
        return _Escape(at + 2, Int(octet), OK)
    if octet == 0x6E:
        return _Escape(at + 2, 10, OK)
    if octet == 0x74:
        return _Escape(at + 2, 9, OK)
    if octet == 0x72:
        return _Escape(at + 2, 13, OK)
    if octet == 0x62:
        return _Escape(at + 2, 8, OK)
    if octet == 0x66:
        return _Escape(at + 2, 12, OK)
    return _Escape.broken(at + 1, JsonErrorKind.ESCAPE)


def _read_unicode_escape(base: BytePtr, at: Int) -> _Escape:
    """Reads `\\uXXXX`, or two of them that make a surrogate pair."""
    # SAFETY: as in `_read_escape`.
    comptime OK = JsonErrorKind.UNEXPECTED
    var high = _read_hex4(base, at + 2)
    if high < 0:
        return _Escape.broken(-high, JsonErrorKind.ESCAPE)
    if high < 0xD800 or high > 0xDFFF:
        return _Escape(at + 6, high, OK)
    if high > 0xDBFF:
        return _Escape.broken(at, JsonErrorKind.SURROGATE)
    if base[unsafe_offset=at + 6] != 92 or base[unsafe_offset=at + 7] != 0x75:
        return _Escape.broken(at, JsonErrorKind.SURROGATE)
    var low = _read_hex4(base, at + 8)
    if low < 0:
        return _Escape.broken(-low, JsonErrorKind.ESCAPE)
    if low < 0xDC00 or low > 0xDFFF:
        return _Escape.broken(at, JsonErrorKind.SURROGATE)
    var code_point = 0x10000 + ((high - 0xD800) << 10) + low - 0xDC00
    return _Escape(at + 12, code_point, OK)


def _read_hex4(base: BytePtr, at: Int) -> Int:
    """Reads four hex digits; gives the negated offset of what is none."""
    # SAFETY: as in `_read_escape`.
    var value = 0
    for index in range(4):
        var octet = base[unsafe_offset=at + index]
        var digit = Int(octet) - 48
        if digit < 0 or digit > 9:
            digit = Int(octet | 0x20) - 87
            if digit < 10 or digit > 15:
                return -(at + index)
        value = value << 4 | digit
    return value


@always_inline
def _put_code_point(base: BytePtr, at: Int, code_point: Int) -> Int:
    """Writes a character as UTF-8 (RFC 3629 section 3); gives the new end."""
    # SAFETY: the escape that is replaced took at least as many bytes.
    if code_point < 0x80:
        base[unsafe_offset=at] = UInt8(code_point)
        return at + 1
    var last = UInt8(0x80 | code_point & 0x3F)
    if code_point < 0x800:
        base[unsafe_offset=at] = UInt8(0xC0 | code_point >> 6)
        base[unsafe_offset=at + 1] = last
        return at + 2
    var middle = UInt8(0x80 | code_point >> 6 & 0x3F)
    if code_point < 0x10000:
        base[unsafe_offset=at] = UInt8(0xE0 | code_point >> 12)
        base[unsafe_offset=at + 1] = middle
        base[unsafe_offset=at + 2] = last
        return at + 3
    base[unsafe_offset=at] = UInt8(0xF0 | code_point >> 18)
    base[unsafe_offset=at + 1] = UInt8(0x80 | code_point >> 12 & 0x3F)
    base[unsafe_offset=at + 2] = middle
    base[unsafe_offset=at + 3] = last
    return at + 4
