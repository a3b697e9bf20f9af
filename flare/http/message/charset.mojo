"""Text of the charsets that content is in.

Names and meaning are those of the Encoding Standard, which is what browsers do:
`us-ascii` and `iso-8859-1` are windows-1252, as most of what is sent with these
names is.
"""

from flare.bytes.ascii import equals_ignore_case, trim_whitespace, write_escaped
from flare.bytes.checked import *
from flare.bytes.copy import text_of
from std.builtin.globals import global_constant

comptime _UTF_8 = StaticString("utf-8 utf8 unicode-1-1-utf-8 x-unicode20utf8")
comptime _WINDOWS_1252 = StaticString(
    "iso-8859-1 us-ascii windows-1252 ascii latin1 cp1252 x-cp1252 l1 cp819"
    " ibm819 iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 iso-ir-100"
    " csisolatin1 ansi_x3.4-1968"
)
comptime _UTF_16LE = StaticString(
    "utf-16 utf-16le unicode ucs-2 iso-10646-ucs-2 csunicode unicodefeff"
)
comptime _UTF_16BE = StaticString("utf-16be unicodefffe")

# The code points of the octets 0x80 to 0x9F in windows-1252. Five octets have
# no character; they stand for the control of their number.
comptime _HIGH_CONTROLS: Array[UInt16, 32] = [
    0x20AC,
    0x81,
    0x201A,
    0x192,
    0x201E,
    0x2026,
    0x2020,
    0x2021,
    0x2C6,
    0x2030,
    0x160,
    0x2039,
    0x152,
    0x8D,
    0x17D,
    0x8F,
    0x90,
    0x2018,
    0x2019,
    0x201C,
    0x201D,
    0x2022,
    0x2013,
    0x2014,
    0x2DC,
    0x2122,
    0x161,
    0x203A,
    0x153,
    0x9D,
    0x17E,
    0x178,
]


struct CharsetError(Copyable, Movable, Writable):
    """Content cannot be read as text."""

    var charset: String
    var offset: Int
    """Where it is not in that charset, in bytes; -1 if the charset is
    unknown, or the place is not known."""
    var is_known: Bool
    """False if the charset is not decoded here."""

    def __init__(out self, charset: StringSpan, offset: Int, is_known: Bool):
        """Describes content that is not in its charset at `offset` (or -1), or
        of a charset that is not decoded here."""
        self.charset = String(charset)
        self.offset = offset
        self.is_known = is_known

    def write_to(self, mut writer: Some[Writer]):
        """Writes the message, with the name escaped."""
        writer.write("the charset '")
        write_escaped(self.charset.as_bytes(), writer)
        if not self.is_known:
            writer.write(
                "' is unknown; utf-8, us-ascii, iso-8859-1, windows-1252 and"
                " utf-16 are not; decode the octets of the body"
            )
            return
        writer.write("' is not what the content is in")
        if self.offset >= 0:
            writer.write(" (byte ", self.offset, ")")
        writer.write("; take the octets of the body")


def decode_text(
    octets: Span[UInt8, _], charset: StringSpan
) raises CharsetError -> String:
    """Decodes text of a charset, in any case, empty for UTF-8; a byte order
    mark is not a part of it.

    Source: RFC 9110 section 8.3.2; Encoding Standard section 4.2. Raises if the
    charset is unknown, or the octets are not in it.
    """
    var name = trim_whitespace(charset.as_bytes().as_imm())
    if len(name) == 0 or _is_one_of(name, _UTF_8):
        return _decode_utf8(octets)
    if _is_one_of(name, _WINDOWS_1252):
        return _decode_windows_1252(octets)
    var is_little = _is_one_of(name, _UTF_16LE)
    if not is_little and not _is_one_of(name, _UTF_16BE):
        raise CharsetError(charset, -1, False)
    # The mark wins over the name.
    var start = 0
    if len(octets) >= 2 and octets.at(0) == 0xFF and octets.at(1) == 0xFE:
        start = 2
        is_little = True
    elif len(octets) >= 2 and octets.at(0) == 0xFE and octets.at(1) == 0xFF:
        start = 2
        is_little = False
    return _decode_utf16(octets, start, is_little, charset)


def _is_one_of(name: Span[UInt8, _], names: StaticString) -> Bool:
    for known in names.split(" "):
        if equals_ignore_case(name, known.as_bytes()):
            return True
    return False


def _decode_utf8(octets: Span[UInt8, _]) raises CharsetError -> String:
    var start = 0
    if len(octets) >= 3 and octets.at(0) == 0xEF:
        if octets.at(1) == 0xBB and octets.at(2) == 0xBF:
            start = 3
    try:
        return String(from_utf8=octets.after(start))
    except:
        raise CharsetError("utf-8", -1, True)


def _decode_windows_1252(octets: Span[UInt8, _]) -> String:
    ref table = global_constant[_HIGH_CONTROLS]()
    var text = List[UInt8](capacity=len(octets) + len(octets) // 8)
    for octet in octets:
        if octet >= 0x80 and octet < 0xA0:
            _append_utf8(UInt32(table.at(Int(octet) - 0x80)), text)
        else:
            _append_utf8(UInt32(octet), text)
    return text_of(text)


def _decode_utf16(
    octets: Span[UInt8, _], start: Int, is_little: Bool, charset: StringSpan
) raises CharsetError -> String:
    var text = List[UInt8](capacity=len(octets))
    var offset = start
    while offset < len(octets):
        var unit = _unit(octets, offset, is_little)
        var next = offset + 2
        var point = unit
        if unit >= 0xD800 and unit < 0xE000:
            # RFC 2781 section 2.2: a high half, then a low one.
            var low = _unit(octets, next, is_little)
            if unit >= 0xDC00 or low < 0xDC00 or low >= 0xE000:
                raise CharsetError(charset, offset, True)
            point = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00)
            next += 2
        if next > len(octets):
            raise CharsetError(charset, offset, True)
        _append_utf8(point, text)
        offset = next
    return text_of(text)


def _unit(octets: Span[UInt8, _], offset: Int, is_little: Bool) -> UInt32:
    """Reads 16 bits; 0, which is no half of anything, if they are not there."""
    if offset + 2 > len(octets):
        return 0
    var first = UInt32(octets.at(offset))
    var second = UInt32(octets.at(offset + 1))
    return first | (second << 8) if is_little else (first << 8) | second


def _append_utf8(point: UInt32, mut text: List[UInt8]):
    """Source: RFC 3629 section 3."""
    if point < 0x80:
        text.append(UInt8(point))
        return
    if point < 0x800:
        text.append(UInt8(0xC0 | (point >> 6)))
    else:
        if point < 0x10000:
            text.append(UInt8(0xE0 | (point >> 12)))
        else:
            text.append(UInt8(0xF0 | (point >> 18)))
            text.append(UInt8(0x80 | ((point >> 12) & 0x3F)))
        text.append(UInt8(0x80 | ((point >> 6) & 0x3F)))
    text.append(UInt8(0x80 | (point & 0x3F)))
