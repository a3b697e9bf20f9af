"""Header fields that a program sets: the map, the checks of names and values, Vary."""

from flare.bytes.ascii import equals_ignore_case, trim_whitespace
from flare.bytes.checked import *
from flare.bytes.copy import unsafe_copy_octets
from flare.bytes.buffer import unsafe_lend, unsafe_lend_text
from flare.bytes.scan import BytePtr, TCHAR
from flare.bytes.text import Text
from flare.http.message.fields import (
    Field,
    FieldIterator,
    FieldLine,
    Fields,
    ListElements,
    find_line,
)
from std.builtin.globals import global_constant

comptime HEADER_BLOCK_LEN_MAX = 65_535
"""Longest header block in bytes: offsets in a `FieldLine` have 16 bits."""

# Room that the first line brings along: enough for a handful of them.
comptime _FIRST_OCTET_COUNT = 240
comptime _FIRST_LINE_COUNT = 8
comptime _KEPT_OCTET_COUNT_MAX = 2_048
comptime _KEPT_TYPE_LEN_MAX = 128

comptime _CONTENT_TYPE_NAME = StaticString("Content-Type")


struct HeaderMap(Copyable, Defaultable, Movable, Sized, Writable):
    """Header fields in order; names compare without regard to case.

    Names and values are checked where they are set, so no value can end its
    line (response splitting). The lines are kept as they will be sent; setting
    the Content-Type costs no allocation.
    """

    # Content-Type has a place of its own because nearly every response sets it
    # to a literal, which a String holds without a copy.
    var _content_type: String
    var _octets: List[UInt8]
    var _lines: List[FieldLine]

    def __init__(out self):
        """Makes an empty map; allocates nothing."""
        self._content_type = String()
        self._octets = []
        self._lines = []

    def __init__(out self, *, content_type: StaticString):
        """Makes a map with a Content-Type.

        Args:
            content_type: A media type. It is literal text, so that no peer can
                have had a hand in it; other text goes through `set`.
        """
        self._content_type = String(content_type)
        self._octets = []
        self._lines = []

    def __init__(out self, *, copy_of: Self, spare_octets: Int):
        """Copies a map, with room for a few more lines.

        Args:
            copy_of: The map.
            spare_octets: How much more the lines may take before they move, in
                bytes.
        """
        self._content_type = copy_of._content_type
        var length = len(copy_of._octets)
        self._octets = List[UInt8](capacity=length + spare_octets)
        self._octets.extend(Span(copy_of._octets))
        var count = len(copy_of._lines)
        self._lines = List[FieldLine](capacity=count + _FIRST_LINE_COUNT)
        self._lines.extend(Span(copy_of._lines))

    @no_inline
    def __deinit__(deinit self):
        return

    def _has_content_type(self) -> Int:
        return 1 if self._content_type.byte_length() > 0 else 0

    def __len__(self) -> Int:
        """Counts the field lines, not distinct names."""
        return self._has_content_type() + len(self._lines)

    def name(self, index: Int) -> StringSpan[ImmOrigin(origin_of(self))]:
        """Lends the name in a line, as it was set.

        Args:
            index: At least 0 and less than `len(self)`.
        """
        # SAFETY: literal text, and text of this map for the loan's length.
        var own = index - self._has_content_type()
        if own < 0:
            return self._lend(_CONTENT_TYPE_NAME.unsafe_ptr(), 12)
        var line = self._lines.at(own)
        return self._lend_octets(line.name_offset(), line.name_len())

    def value(self, index: Int) -> StringSpan[ImmOrigin(origin_of(self))]:
        """Lends the value in a line, as it was set."""
        # SAFETY: literal text, and text of this map for the loan's length.
        var own = index - self._has_content_type()
        if own < 0:
            ref text = self._content_type
            return self._lend(text.unsafe_ptr(), text.byte_length())
        var line = self._lines.at(own)
        return self._lend_octets(line.value_offset(), line.value_len())

    def _lend_octets(
        self, start: Int, length: Int
    ) -> StringSpan[ImmOrigin(origin_of(self))]:
        # SAFETY: offsets of this map's own lines lie within its octets.
        return self._lend(
            self._octets.unsafe_ptr().unsafe_offset(start), length
        )

    def _lend(
        self, base: Pointer[UInt8, _], length: Int
    ) -> StringSpan[ImmOrigin(origin_of(self))]:
        # SAFETY: the octets are literal or belong to this map, which is the
        # span's origin.
        return unsafe_lend_text[ImmOrigin(origin_of(self))](base, length)

    def find(self, name: StringSpan, start: Int = 0) -> Int:
        """Finds the index of the first line with a name; -1 if there is none.

        Args:
            name: A field name in any case.
            start: Index of the first line to look at.
        """
        var own = self._has_content_type()
        if start < own and equals_ignore_case(
            name.as_bytes(), _CONTENT_TYPE_NAME.as_bytes()
        ):
            return 0
        var found = find_line(
            Span(self._octets), Span(self._lines), name, max(start - own, 0)
        )
        return found + own if found >= 0 else -1

    def __contains__(self, name: StringSpan) -> Bool:
        """Tells whether at least one line has a name."""
        return self.find(name) >= 0

    def get(
        self, name: StringSpan
    ) -> Optional[StringSpan[ImmOrigin(origin_of(self))]]:
        """Lends the first value of a field; None if no line has the name."""
        var index = self.find(name)
        if index < 0:
            return None
        return self.value(index)

    def get(self, name: StringSpan, default: StringSpan) -> String:
        """Copies the first value of a field, or what stands for none.

        Args:
            default: What to give if no line has the name.
        """
        var index = self.find(name)
        return String(self.value(index)) if index >= 0 else String(default)

    def get_all(
        self, name: StringSpan
    ) -> List[StringSpan[ImmOrigin(origin_of(self))]]:
        """Lends every value of a field, such as Set-Cookie has, in order; none
        if no line has the name."""
        var values = List[StringSpan[ImmOrigin(origin_of(self))]]()
        var index = self.find(name)
        while index >= 0:
            values.append(self.value(index))
            index = self.find(name, index + 1)
        return values^

    def __iter__(self) -> FieldIterator[ImmOrigin(origin_of(self))]:
        """Goes through the lines in order, the Content-Type first, and gives
        each as a `Field`, good until the map changes: `for field in
        response.headers:`."""
        var first = Optional[Field[ImmOrigin(origin_of(self))]](None)
        if self._has_content_type() > 0:
            first = Field(self.name(0), self.value(0))
        return FieldIterator(first, self.lines_fields())

    def __getitem__(
        self, name: StringSpan
    ) raises -> StringSpan[ImmOrigin(origin_of(self))]:
        """Lends the first value of a field that has to be there.

        Raises:
            Error: If no line has the name.
        """
        var index = self.find(name)
        if index < 0:
            raise Error("the message has no field '", name, "'")
        return self.value(index)

    def set(mut self, name: StringSpan, value: StringSpan) raises HeaderError:
        """Sets a field to one value, in place of all it had.

        Args:
            name: A token (RFC 9110 section 5.1).
            value: The value; whitespace around it is dropped.

        Raises:
            HeaderError: If the name is no token, the value holds a control
                octet but HTAB, or the block grows over its limit.
        """
        check_field(name, value)
        _ = self.remove(name)
        self._add(name, value)

    def append(
        mut self, name: StringSpan, value: StringSpan
    ) raises HeaderError:
        """Adds one more line for a field; the rest is as for `set`."""
        check_field(name, value)
        self._add(name, value)

    def unsafe_append_judged(
        mut self, name: StringSpan, value: StringSpan
    ) raises HeaderError:
        """Adds a line that was judged before by the rules of `append`, as each
        is that a parser of HTTP/1.1 or a decoder of HTTP/2 has let through.

        Args:
            name: A token; the caller's promise.
            value: Without a control octet but HTAB; likewise.

        Raises:
            HeaderError: If the block grows over its limit.
        """
        self._add(name, value)

    @always_inline
    def _add(mut self, name: StringSpan, value: StringSpan) raises HeaderError:
        # SAFETY: the caller keeps map and texts until the call returns.
        _add_line(
            Pointer(to=self),
            unsafe_lend_text[ImmUntrackedOrigin](
                name.unsafe_ptr(), name.byte_length()
            ),
            unsafe_lend_text[ImmUntrackedOrigin](
                value.unsafe_ptr(), value.byte_length()
            ),
        )

    def remove(mut self, name: StringSpan) -> Bool:
        """Drops every line of a field, and gives True if there was one."""
        if self.find(name) < 0:
            return False
        if equals_ignore_case(name.as_bytes(), _CONTENT_TYPE_NAME.as_bytes()):
            self._content_type = String()
        var octets = List[UInt8]()
        var lines = List[FieldLine]()
        for line in self._lines:
            var start = line.name_offset()
            var end = line.value_offset() + line.value_len()
            var old_name = Span(self._octets).between(
                start, start + line.name_len()
            )
            if equals_ignore_case(old_name, name.as_bytes()):
                continue
            var offset = len(octets)
            octets.extend(Span(self._octets).between(start, end))
            octets.extend("\r\n".as_bytes())
            lines.append(
                FieldLine(
                    offset,
                    line.name_len(),
                    offset + line.value_offset() - start,
                    line.value_len(),
                )
            )
        self._octets = octets^
        self._lines = lines^
        return True

    def clear(mut self):
        """Drops all lines; the room for others stays."""
        # Room that a copy has, too, is left to it at the next change, for another
        # of twice the size: by its length alone it would grow with each copy.
        if self._content_type.capacity() <= _KEPT_TYPE_LEN_MAX:
            self._content_type.resize(unsafe_uninit_length=0)
        else:
            self._content_type = String()
        self._octets.clear()
        self._lines.clear()

    def reuse(mut self):
        """Drops all lines; usual room for others stays."""
        self.clear()
        if self._octets.capacity() > _KEPT_OCTET_COUNT_MAX:
            self._octets = []
            self._lines = []

    @always_inline
    def content_type(self) -> StringSpan[ImmOrigin(origin_of(self))]:
        """Lends the Content-Type; empty if there is none."""
        # SAFETY: the text belongs to this map, which is the span's origin.
        return self._lend(
            self._content_type.unsafe_ptr(), self._content_type.byte_length()
        )

    @always_inline
    def lines_octets(ref self) -> Span[UInt8, origin_of(self._octets)]:
        """Lends all lines but the Content-Type as they are sent, each with its
        CRLF."""
        return Span(self._octets)

    def lines_fields(self) -> Fields[ImmOrigin(origin_of(self))]:
        """Lends all lines but the Content-Type as the fields of a message; good
        until the map changes."""
        # SAFETY: octets and lines belong to this map, which is the origin.
        comptime o = ImmOrigin(origin_of(self))
        return Fields[o](
            unsafe_lend[o](self._octets.unsafe_ptr(), len(self._octets)),
            unsafe_lend[o](self._lines.unsafe_ptr(), len(self._lines)),
            True,
        )

    def write_to(self, mut writer: Some[Writer]):
        """Writes `name: value`, a line each."""
        for index in range(len(self)):
            writer.write(self.name(index), ": ", self.value(index), "\n")


struct HeaderError(Copyable, Movable, Writable):
    """Our caller asked for a field line that would break the message.

    Source: RFC 9110 sections 5.1 and 5.5. Such a line is how responses are
    split, so it is refused where it is set, not where it is sent.
    """

    var part: StaticString
    """What was refused: "field name", "field value", "trailer" or "header
    block"."""
    var text: String
    var offset: Int
    """Where in `text` the offending octet stands, in bytes; -1 if it is the name
    of a field that may be no trailer."""

    def __init__(out self, part: StaticString, text: StringSpan, offset: Int):
        """Describes a refused field, by where its offending octet stands; -1
        for a trailer."""
        self.part = part
        self.text = String(text)
        self.offset = offset

    def write_to(self, mut writer: Some[Writer]):
        """Writes the message, with the refused text escaped."""
        writer.write_string(self._message())

    @no_inline
    def _message(self) -> String:
        # Not generic: it would be generated for each kind of writer.
        var message = Text()
        if self.part == "header block":
            message = message^.add(
                "header block: with this field it would be over 65,535 bytes;"
            ).add(" send less in headers")
            return message^.end()
        message = message^.add(self.part).add(" '")
        message = message^.add_escaped(self.text.as_bytes())
        message = message^.add("': ")
        if self.offset < 0:
            return (
                message
                ^.add(
                    "it is needed before the content (RFC 9110 section 6.5.1); set"
                    " it in headers"
                ).end()
            )
        if self.text.byte_length() == 0:
            message = message^.add(
                "it is empty; a name needs at least one octet"
            )
            return message^.end()
        message = message^.add("octet ").add(
            Int(self.text.as_bytes().at(self.offset))
        )
        message = message^.add(" at byte ").add(self.offset).add(
            " is not allowed; "
        )
        if self.part == "field name":
            message = message^.add(
                "a name is letters, digits and !#$%&'*+-.^_`|~"
            )
            message = message^.add(" (RFC 9110 section 5.6.2)")
        else:
            message = message^.add("a value holds no control octet but HTAB")
            message = message^.add(" (RFC 9110 section 5.5)")
        return message^.end()


@no_inline
def _add_line(
    at: MutPointer[HeaderMap, _],
    name: StringSpan[ImmUntrackedOrigin],
    value: StringSpan[ImmUntrackedOrigin],
) raises HeaderError:
    """Adds a line to a map, which comes by its address: `mut self` would load
    and store all of it."""
    # SAFETY: the caller lends map and texts until this returns.
    ref map = at[]
    var text = value.as_bytes()
    var text_len = len(text)
    # Few values have whitespace around them.
    if text_len > 0 and (text.at(0) <= 32 or text.at(text_len - 1) <= 32):
        text = trim_whitespace(text)
        text_len = len(text)
    var name_len = name.byte_length()
    if map._has_content_type() == 0 and equals_ignore_case(
        name.as_bytes(), _CONTENT_TYPE_NAME.as_bytes()
    ):
        map._content_type.resize(unsafe_uninit_length=text_len)
        # SAFETY: it has so many octets, and nobody else has them.
        unsafe_copy_octets(map._content_type.unsafe_ptr_mut(), text)
        return
    var start = len(map._octets)
    var end = start + name_len + text_len + 4
    if end > HEADER_BLOCK_LEN_MAX:
        raise HeaderError("header block", name, 0)
    # Few responses have just one line, and none of ours grows line by line.
    if len(map._lines) == 0:
        map._octets.reserve(_FIRST_OCTET_COUNT)
        map._lines.reserve(_FIRST_LINE_COUNT)
    if end > map._octets.capacity():
        map._octets.reserve(max(end, 2 * start))
    map._octets.resize(unsafe_uninit_length=end)
    # SAFETY: the list has just got these octets.
    var to = map._octets.unsafe_ptr().unsafe_offset(start)
    _write_line(
        name.as_bytes(), text, to.unsafe_origin_cast[MutUntrackedOrigin]()
    )
    map._lines.append(
        FieldLine(start, name_len, start + name_len + 2, text_len)
    )


@always_inline
def _write_line(
    name: Span[UInt8, ImmUntrackedOrigin],
    value: Span[UInt8, ImmUntrackedOrigin],
    to: BytePtr,
):
    """Writes a field line with its CRLF."""
    # SAFETY: the caller has made room for both and four octets.
    var length = len(name)
    _put(name, to)
    to[unsafe_offset=length] = 58
    to[unsafe_offset=length + 1] = 32
    _put(value, to.unsafe_offset(length + 2))
    length += 2 + len(value)
    to[unsafe_offset=length] = 13
    to[unsafe_offset=length + 1] = 10


@no_inline
def _put(octets: Span[UInt8, ImmUntrackedOrigin], to: BytePtr):
    # SAFETY: as above.
    unsafe_copy_octets(to, octets)


def _tchar_table() -> Array[Bool, 256]:
    var table = Array[Bool, 256](fill=False)
    for octet in range(256):
        table[octet] = TCHAR.contains(UInt8(octet))
    return table^


comptime _IS_TCHAR = _tchar_table()
comptime _LANES = 16


def check_field(name: StringSpan, value: StringSpan) raises HeaderError:
    """Checks that a field line can be written without breaking the message; the
    error carries the offset.

    Source: RFC 9110 sections 5.1 (the name is a token) and 5.5 (no control
    octet but HTAB in the value).
    """
    if name.byte_length() == 0:
        raise HeaderError("field name", name, 0)
    var offset = 0
    for octet in name.as_bytes():
        # SAFETY: an octet is below 256.
        if not global_constant[_IS_TCHAR]().unsafe_at(Int(octet)):
            raise HeaderError("field name", name, offset)
        offset += 1
    offset = _plain_len(value.as_bytes())
    for octet in value.as_bytes().after(offset):
        if (octet < 32 and octet != 9) or octet == 127:
            raise HeaderError("field value", value, offset)
        offset += 1


@always_inline
def _plain_len(octets: Span[UInt8, _]) -> Int:
    """Skips whole blocks that hold neither a control octet nor HTAB."""
    # SAFETY: a block is loaded only where all of it lies within the span.
    var offset = 0
    while offset + _LANES <= len(octets):
        var block = octets.unsafe_ptr().unsafe_load[width=_LANES](offset)
        if (block.lt(32) | block.eq(127)).reduce_or():
            break
        offset += _LANES
    return offset


def add_vary(mut headers: HeaderMap, name: StringSpan) raises HeaderError:
    """Says that the response depends on a field of the request, unless the name
    or `*` is there already.

    Source: RFC 9110 section 12.5.5.
    """
    var index = headers.find("vary")
    while index >= 0:
        for element in ListElements(headers.value(index).as_bytes()):
            if len(element) == 1 and element.at(0) == 42:
                return
            if equals_ignore_case(element, name.as_bytes()):
                return
        index = headers.find("vary", index + 1)
    headers.append("Vary", name)
