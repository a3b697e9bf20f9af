"""Writing JSON texts."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.float_text import float_text
from flare.bytes.utf8 import is_valid_utf8
from flare.json.error import JsonError, JsonErrorKind, JsonKind
from flare.json.string import scan_plain
from flare.json.value import JsonValue, JsonView, parse
from std.builtin.globals import global_constant
from std.math import floor, isfinite
from std.memory import bitcast

comptime _VALUE = UInt8(0)
comptime _FIRST_ELEMENT = UInt8(1)
comptime _ELEMENT = UInt8(2)
comptime _FIRST_NAME = UInt8(3)
comptime _NAME = UInt8(4)
comptime _NOTHING = UInt8(5)

comptime _CLOSE_ARRAY = UInt8(93)
comptime _CLOSE_OBJECT = UInt8(125)


@fieldwise_init
struct _Pending(TrivialRegisterPassable):
    """The children of an array or object that are still to be written."""

    var next: Int
    var end: Int
    var is_object: Bool

    def is_done(self) -> Bool:
        return self.next == self.end

    def closer(self) -> UInt8:
        return _CLOSE_OBJECT if self.is_object else _CLOSE_ARRAY


struct JsonWriter(Movable):
    """Writes one JSON text, compact, checking that the calls make one.

    ```mojo
    var writer = JsonWriter()
    writer.begin_object()
    writer.key("id")
    writer.value(7)
    writer.end_object()
    var text = writer^.finish()
    ```
    """

    var _out: Buffer
    var _closers: List[UInt8]
    var _due: UInt8

    def __init__(out self, capacity: Int = 256):
        """Starts a text.

        Args:
            capacity: Bytes of text that fit without growing.
        """
        self._out = Buffer(capacity)
        self._closers = List[UInt8]()
        self._due = _VALUE

    @no_inline
    def __deinit__(deinit self):
        return

    def begin_object(mut self) raises JsonError:
        """Opens an object; `key` or `end_object` comes next.

        Raises:
            JsonError: If no value is due here.
        """
        self._begin_value()
        self._out.append_octet(123)
        self._closers.append(_CLOSE_OBJECT)
        self._due = _FIRST_NAME

    def end_object(mut self) raises JsonError:
        """Closes the innermost object.

        Raises:
            JsonError: If that is no object, or a member lacks its value.
        """
        if self._due != _FIRST_NAME and self._due != _NAME:
            raise _misuse("end_object only behind a whole member")
        self._end(_CLOSE_OBJECT)

    def begin_array(mut self) raises JsonError:
        """Opens an array; elements or `end_array` come next. The rest is as for
        `begin_object`."""
        self._begin_value()
        self._out.append_octet(91)
        self._closers.append(_CLOSE_ARRAY)
        self._due = _FIRST_ELEMENT

    def end_array(mut self) raises JsonError:
        """Closes the innermost array.

        Raises:
            JsonError: If the innermost open thing is no array.
        """
        if self._due != _FIRST_ELEMENT and self._due != _ELEMENT:
            raise _misuse("end_array only within an array")
        self._end(_CLOSE_ARRAY)

    def key(mut self, name: StringSpan) raises JsonError:
        """Writes a member's name; its value comes next.

        Args:
            name: The name; that it is not repeated is up to the caller.

        Raises:
            JsonError: If no name is due here or the name is not UTF-8.
        """
        _check_utf8(name)
        self._put_name(name)

    def value(mut self, text: StringSpan) raises JsonError:
        """Writes a string.

        Args:
            text: The string; it is escaped here.

        Raises:
            JsonError: If no value is due here or the text is not UTF-8.
        """
        _check_utf8(text)
        self._begin_value()
        append_json_string(self._out, text)
        self._end_value()

    def value(mut self, number: Int) raises JsonError:
        """Writes an integer.

        Args:
            number: Any.

        Raises:
            JsonError: If no value is due here.
        """
        self._begin_value()
        if number >= 0:
            self._out.append_decimal(number)
        else:
            self._out.write(number)
        self._end_value()

    def value(mut self, number: UInt64) raises JsonError:
        """Writes an integer that is not negative.

        Args:
            number: Any; many readers round what is above 2^53 (RFC 8259
                section 6).
        """
        self._begin_value()
        self._out.write(number)
        self._end_value()

    def value(mut self, number: Float64) raises JsonError:
        """Writes a number so that it is read back as the same float.

        Args:
            number: Neither an infinity nor a NaN.

        Raises:
            JsonError: If no value is due here or the number is not finite.
        """
        if not isfinite(number):
            raise JsonError.in_writer(
                JsonErrorKind.NOT_FINITE,
                "a finite number (RFC 8259 section 6)",
            )
        self._begin_value()
        write_float(self._out, number)
        self._end_value()

    def value(mut self, flag: Bool) raises JsonError:
        """Writes `true` or `false`.

        Args:
            flag: Which.

        Raises:
            JsonError: If no value is due here.
        """
        self._begin_value()
        if flag:
            self._out.append_literal["true"]()
        else:
            self._out.append_literal["false"]()
        self._end_value()

    def null(mut self) raises JsonError:
        """Writes `null`; the rest is as for `begin_object`."""
        self._begin_value()
        self._out.append_literal["null"]()
        self._end_value()

    def value(mut self, view: JsonView) raises JsonError:
        """Writes a parsed value with all that is inside.

        Args:
            view: The value.
        """
        var pending = List[_Pending]()
        var current = view
        while True:
            var node = current.node()
            var kind = node.kind()
            var first = Int(node.payload)
            if kind == JsonKind.ARRAY:
                self.begin_array()
                pending.append({first, first + node.count(), False})
            elif kind == JsonKind.OBJECT:
                self.begin_object()
                pending.append({first, first + 2 * node.count(), True})
            else:
                self._put_scalar(current)
            while len(pending) > 0 and pending.at(len(pending) - 1).is_done():
                self._end(pending.pop().closer())
            if len(pending) == 0:
                return
            ref parent = pending.at(len(pending) - 1)
            if parent.is_object:
                self._put_name(current.at(parent.next).text())
                parent.next += 1
            current = current.at(parent.next)
            parent.next += 1

    def finish(deinit self) raises JsonError -> String:
        """Ends the text, and gives it.

        Raises:
            JsonError: If there is no value yet or something is still open.
        """
        if self._due != _NOTHING:
            raise _misuse("finish only behind a whole value")
        return String(StringSpan(unsafe_from_utf8=self._out.span()))

    @always_inline
    def _begin_value(mut self) raises JsonError:
        if self._due == _ELEMENT:
            self._out.append_octet(44)
        elif self._due > _ELEMENT:
            raise _misuse("a key or an end, not a value")

    @always_inline
    def _end_value(mut self):
        if len(self._closers) == 0:
            self._due = _NOTHING
        elif self._closers.at(len(self._closers) - 1) == _CLOSE_ARRAY:
            self._due = _ELEMENT
        else:
            self._due = _NAME

    def _end(mut self, closer: UInt8):
        self._out.append_octet(closer)
        _ = self._closers.pop()
        self._end_value()

    @always_inline
    def _put_name(mut self, name: StringSpan) raises JsonError:
        if self._due == _NAME:
            self._out.append_octet(44)
        elif self._due != _FIRST_NAME:
            raise _misuse("a value, not a key")
        append_json_string(self._out, name)
        self._out.append_octet(58)
        self._due = _VALUE

    def _put_scalar(mut self, view: JsonView) raises JsonError:
        var kind = view.kind()
        if kind == JsonKind.STRING:
            self._begin_value()
            append_json_string(self._out, view.text())
            self._end_value()
        elif kind == JsonKind.INT:
            self.value(view.int_value())
        elif view.node().is_wide():
            self.value(view.node().payload)
        elif kind == JsonKind.FLOAT:
            self.value(view.float_value())
        elif kind == JsonKind.BOOL:
            self.value(view.bool_value())
        else:
            self.null()


def append_json_string(mut out: Buffer, text: StringSpan):
    """Writes a string of UTF-8 with its quotes, escaped (RFC 8259 section 7)."""
    # The text is copied first, so that the scan runs in the buffer, which has
    # slack; mostly there is nothing to escape.
    var count = text.byte_length()
    out.append_octet(34)
    var start = len(out)
    out.append(text.as_bytes())
    _ = out.terminate()
    var stop = scan_plain(out.unsafe_base(), start)
    if stop < start + count:
        out.truncate(stop)
        _append_escaped(out, text.as_bytes().after(stop - start))
    out.append_octet(34)


@no_inline
def _append_escaped(mut out: Buffer, octets: Span[UInt8, _]):
    comptime DIGITS = StaticString("0123456789abcdef")
    for octet in octets:
        if octet == 34 or octet == 92:
            out.append_octet(92)
            out.append_octet(octet)
        elif octet >= 32:
            out.append_octet(octet)
        elif octet == 10:
            out.append_literal["\\n"]()
        elif octet == 13:
            out.append_literal["\\r"]()
        elif octet == 9:
            out.append_literal["\\t"]()
        else:
            var low = Int(octet & 15)
            out.append_literal["\\u00"]()
            out.append_octet(48 + (octet >> 4))
            out.append_octet(DIGITS.as_bytes().at(low))


@always_inline
def _check_utf8(text: StringSpan) raises JsonError:
    if not is_valid_utf8(text.as_bytes()):
        raise JsonError.in_writer(
            JsonErrorKind.NOT_UTF8, "UTF-8 (RFC 8259 section 8.1)"
        )


@no_inline
def _misuse(expected: StaticString) -> JsonError:
    return JsonError.in_writer(JsonErrorKind.MISUSED_WRITER, expected)


def dumps(value: JsonView) raises JsonError -> String:
    """Writes a value as compact JSON text.

    Args:
        value: What to write.

    Returns:
        The text; members keep their order, and repeated names stay.

    Raises:
        JsonError: Never for a value that the parser made.
    """
    var writer = JsonWriter()
    writer.value(value)
    return writer^.finish()


def dumps(value: JsonValue) raises JsonError -> String:
    """Writes a value as compact JSON text; see the overload for views.

    Args:
        value: What to write.

    Returns:
        The text.

    Raises:
        JsonError: Never for a value that the parser made.
    """
    return dumps(value.view())


comptime _PLACES_MAX = 6
comptime _POWERS: Array[Float64, _PLACES_MAX + 1] = [
    1,
    1e1,
    1e2,
    1e3,
    1e4,
    1e5,
    1e6,
]


def write_float(mut out: Buffer, number: Float64):
    """Writes a float as a number of RFC 8259 section 6."""
    var magnitude = abs(number)
    if bitcast[DType.uint64](number) >> 63 != 0:
        out.append_octet(45)
    if magnitude < 1e9:
        for places in range(_PLACES_MAX + 1):
            var power = global_constant[_POWERS]().at(places)
            var scaled = floor(magnitude * power + 0.5)
            # Both sides are exact, so the quotient is what a reader computes.
            if scaled / power == magnitude:
                _write_decimal(out, Int(scaled), Int(power), places)
                return
    out.write(float_text(magnitude))


def _write_decimal(mut out: Buffer, scaled: Int, power: Int, places: Int):
    """Writes `scaled / power`, with at least one place."""
    var whole = scaled // power
    out.append_decimal(whole)
    out.append_octet(46)
    var rest = scaled - whole * power
    if places == 0:
        out.append_octet(48)
        return
    var place = power // 10
    while place > 1 and rest < place:
        out.append_octet(48)
        place //= 10
    out.append_decimal(rest)


struct JsonComposer(Movable):
    """Writes objects member by member.

    Its calls are never inlined, and none of them raises: what is wrong is told
    by `finish`. So the code that uses it is a tenth of what it would be with a
    `JsonWriter`, and slower.
    """

    var _writer: JsonWriter
    var _error: Optional[JsonError]

    def __init__(out self):
        """Begins with the outermost object."""
        self._writer = JsonWriter()
        self._error = None
        self.begin_object()

    @no_inline
    def begin_object(mut self, name: StringSpan):
        """Begins an object that is a member."""
        try:
            self._writer.key(name)
            self._writer.begin_object()
        except error:
            self._keep(error^)

    @no_inline
    def begin_object(mut self):
        """Begins an object that is an element."""
        try:
            self._writer.begin_object()
        except error:
            self._keep(error^)

    @no_inline
    def end_object(mut self):
        try:
            self._writer.end_object()
        except error:
            self._keep(error^)

    @no_inline
    def begin_array(mut self, name: StringSpan):
        """Begins an array that is a member."""
        try:
            self._writer.key(name)
            self._writer.begin_array()
        except error:
            self._keep(error^)

    @no_inline
    def end_array(mut self):
        try:
            self._writer.end_array()
        except error:
            self._keep(error^)

    @no_inline
    def text(mut self, name: StringSpan, value: StringSpan):
        try:
            self._writer.key(name)
            self._writer.value(value)
        except error:
            self._keep(error^)

    @no_inline
    def number(mut self, name: StringSpan, value: Int):
        try:
            self._writer.key(name)
            self._writer.value(value)
        except error:
            self._keep(error^)

    @no_inline
    def flag(mut self, name: StringSpan, value: Bool):
        try:
            self._writer.key(name)
            self._writer.value(value)
        except error:
            self._keep(error^)

    @no_inline
    def json(mut self, name: StringSpan, text: StringSpan):
        """Writes a member of any value, as JSON text."""
        try:
            var value = parse(text)
            self._writer.key(name)
            self._writer.value(value.view())
        except error:
            self._keep(error^)

    def _keep(mut self, var error: JsonError):
        if not self._error:
            self._error = error^

    def finish(deinit self) raises JsonError -> String:
        """Ends the outermost object. Raises the first thing that was wrong: a
        text that is not UTF-8 or no JSON, or calls that make no object."""
        if self._error:
            raise self._error.take()
        self._writer.end_object()
        return self._writer^.finish()
