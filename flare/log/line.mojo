"""One line of a log while it is written, as JSON or as text.

Whatever a message or a value holds, a line is one line of printable UTF-8, no
longer than what a pipe takes at once, and a field of it cannot be forged.
"""

from flare.bytes.ascii import hex_digit_text
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.utf8 import decode_utf8
from flare.http.message.date import write_timestamp
from flare.json.writer import write_float
from flare.log.level import Level
from flare.log.sink import LogFormat
from flare.sys.log import LOG_LINE_LEN_MAX
from std.math import isfinite

comptime _JSON_END = StaticString(',"truncated":true}\n')
comptime _TEXT_END = StaticString(" truncated=true\n")
comptime FIELDS_LEN_MAX = LOG_LINE_LEN_MAX - 20
"""Longest line without its end, in bytes; the rest is cut.

The end says that something was cut, and is JSON again.
"""

comptime MESSAGE_LEN_MAX = 2_048
"""Longest message in bytes as it is written, so that fields have room."""


struct LogLine(Movable):
    """A line that grows by fields."""

    var _text: String
    var _format: LogFormat
    var _is_cut: Bool

    def __init__(out self, format: LogFormat, level: Level, unix_ms: Int):
        """Begins a line with time and level.

        Args:
            format: How it is written.
            level: Its level.
            unix_ms: Milliseconds since 1970-01-01 00:00:00 UTC.
        """
        self._text = String(capacity_bytes=256)
        self._format = format
        self._is_cut = False
        if format == LogFormat.JSON:
            self._text += '{"time":"'
            write_timestamp(unix_ms, self._text)
            self._text += '","level":"'
            self._text += level.name()
            self._text += '"'
        else:
            self._text += "time="
            write_timestamp(unix_ms, self._text)
            self._text += " level="
            self._text += level.name()

    def __init__(out self, format: LogFormat, *, fields: String):
        """Begins a list of fields, for a logger that has them in each line.

        Args:
            format: How they are written.
            fields: Those that are there already.
        """
        self._text = fields
        self._format = format
        self._is_cut = False

    @no_inline
    def put_message(mut self, message: StringSpan):
        """Adds the message, before all fields.

        Args:
            message: The message.
        """
        self._begin("msg")
        self._put_text(
            message.as_bytes(), self._text.byte_length() + MESSAGE_LEN_MAX
        )

    @no_inline
    def put_fields(mut self, fields: String):
        """Adds fields that are written already.

        Args:
            fields: What `fields` of another line gave.
        """
        if self._text.byte_length() + fields.byte_length() > FIELDS_LEN_MAX:
            self._is_cut = True
            return
        self._text += fields

    @always_inline
    def put[V: Writable](mut self, name: StringSpan, value: V):
        """Adds a field; numbers and booleans are such in JSON.

        Parameters:
            V: The value's type.

        Args:
            name: The field's name.
            value: Its value.
        """
        comptime if V == Bool:
            self.put_raw(name, "true" if rebind[Bool](value) else "false")
        elif V == Int:
            self.put_int(name, rebind[Int](value))
        elif V == Float64:
            self.put_float(name, rebind[Float64](value))
        elif V == Float32:
            self.put_float(name, Float64(rebind[Float32](value)))
        elif _is_number[V]():
            var text = String()
            value.write_to(text)
            self.put_raw(name, text)
        elif V == String:
            self.put_text(name, rebind[String](value))
        else:
            var text = String()
            value.write_to(text)
            self.put_text(name, text)

    @no_inline
    def put_text(mut self, name: StringSpan, value: StringSpan):
        """Adds a text.

        Args:
            value: The text.
        """
        if self._has_room(name.byte_length() + 16):
            self._begin(name, _is_taken(name))
            self._put_text(value.as_bytes(), FIELDS_LEN_MAX)

    @no_inline
    def put_raw(mut self, name: StringSpan, value: StringSpan):
        """Adds what is a value in both formats, such as a number.

        Args:
            value: The value, as it is written.
        """
        if self._has_room(name.byte_length() + 16 + value.byte_length()):
            self._begin(name, _is_taken(name))
            self._text += value

    @no_inline
    def put_int(mut self, name: StringSpan, value: Int):
        """Adds an integer."""
        self.put_raw(name, String(value))

    @no_inline
    def put_float(mut self, name: StringSpan, value: Float64):
        """Adds a number; JSON has none for infinity and what is no number, so
        these are texts."""
        if not isfinite(value):
            self.put_text(name, String(value))
            return
        var buffer = Buffer()
        write_float(buffer, value)
        self.put_raw(name, StringSpan(unsafe_from_utf8=buffer.span()))

    def fields(deinit self) -> String:
        """Gives the fields of a list that was begun as such."""
        return self._text^

    def end(deinit self) -> String:
        """Ends the line, and gives it, with its end."""
        var text = self._text^
        if self._format == LogFormat.JSON:
            text += _JSON_END if self._is_cut else "}\n"
        else:
            text += _TEXT_END if self._is_cut else "\n"
        return text^

    def _has_room(mut self, count: Int) -> Bool:
        if self._text.byte_length() + count <= FIELDS_LEN_MAX:
            return True
        self._is_cut = True
        return False

    def _begin(mut self, name: StringSpan, is_taken: Bool = False):
        """Writes the name of a field, and what is before its value."""
        self._text += ',"' if self._format == LogFormat.JSON else " "
        for octet in name.as_bytes():
            # `_` for what would end the name.
            _put_octet(self._text, octet if _is_bare_octet(octet) else 95)
        if is_taken:
            self._text += "_"
        self._text += '":' if self._format == LogFormat.JSON else "="

    def _put_text(mut self, octets: Span[UInt8, _], len_max: Int):
        """Writes a text, in quotation marks where they are needed, and as far
        as there is room."""
        if self._format == LogFormat.TEXT and _is_bare(octets):
            if self._text.byte_length() + len(octets) <= len_max:
                self._text += StringSpan(unsafe_from_utf8=octets)
                return
        self._text += '"'
        var index = 0
        while index < len(octets):
            # The longest that is written for one character is \ud83d-like: 6
            # octets, or 4 of UTF-8; and the closing mark.
            if self._text.byte_length() + 7 > len_max:
                self._is_cut = True
                break
            index += _put_character(self._text, octets, index)
        self._text += '"'


def _put_octet(mut text: String, octet: UInt8):
    var octets = Array[UInt8, 1](fill=octet)
    text += StringSpan(unsafe_from_utf8=Span(octets))


def _put_character(mut text: String, octets: Span[UInt8, _], index: Int) -> Int:
    """Writes the character at an index as JSON has it within quotation marks,
    and gives its length. What is no UTF-8 becomes U+FFFD; what a terminal does
    not show, or what changes how others are shown, is escaped."""
    var character = decode_utf8(octets, index)
    var value = character.value
    if value < 0:
        text += "\uFFFD"
        return 1
    if value == 34 or value == 92:
        text += "\\"
    elif value == 10:
        text += "\\n"
        return 1
    elif value == 13:
        text += "\\r"
        return 1
    elif value == 9:
        text += "\\t"
        return 1
    elif _is_hidden(value):
        text += "\\u"
        for shift in [12, 8, 4, 0]:
            text += hex_digit_text((value >> shift) & 15)
        return character.octet_count
    text += StringSpan(
        unsafe_from_utf8=octets.between(index, index + character.octet_count)
    )
    return character.octet_count


def _is_hidden(value: Int) -> Bool:
    """Controls (C0, DEL, C1), line separators, and marks of direction (Unicode's
    Bidi_Control); all lie in the first plane."""
    if value < 32 or (value >= 0x7F and value < 0xA0) or value == 0x061C:
        return True
    if value < 0x200B or value > 0xFEFF:
        return False
    return (
        value <= 0x200F
        or (value >= 0x2028 and value <= 0x202E)
        or (value >= 0x2060 and value <= 0x206F)
        or value == 0xFEFF
    )


def _is_bare(octets: Span[UInt8, _]) -> Bool:
    """Tells whether a text needs no quotation marks: visible ASCII without
    what separates fields."""
    for octet in octets:
        if not _is_bare_octet(octet):
            return False
    return len(octets) > 0


def _is_bare_octet(octet: UInt8) -> Bool:
    return (
        octet > 32
        and octet < 127
        and octet != 34
        and octet != 61
        and octet != 92
    )


def _is_taken(name: StringSpan) -> Bool:
    """Tells whether each line has a field of this name already."""
    return (
        name == "time"
        or name == "level"
        or name == "msg"
        or name == "truncated"
    )


@always_inline
def _is_number[V: AnyType]() -> Bool:
    """Tells whether a type is an integer of another width."""
    comptime IS_SIGNED = V == Int64 or V == Int32 or V == Int16 or V == Int8
    comptime IS_UNSIGNED = (
        V == UInt64 or V == UInt32 or V == UInt16 or V == UInt8 or V == UInt
    )
    return IS_SIGNED or IS_UNSIGNED
