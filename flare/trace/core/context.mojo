"""The traceparent field of W3C Trace Context, read and written."""

from flare.bytes.ascii import hex_digits
from flare.bytes.checked import *
from std.bit import byte_swap
from std.memory import bitcast

comptime TRACEPARENT_LEN = 55
"""Length of a traceparent of version 00 in bytes (Trace Context section 3.2.2)."""

comptime SAMPLED = UInt8(1)
"""The flag of traces that are recorded (Trace Context section 3.2.2.5.1)."""

comptime RANDOM = UInt8(2)
"""The flag of trace ids that are random (Trace Context Level 2 section 3.2.2.5).

It says something about the id, so whoever passes the id on passes it on, too.
"""

comptime _KNOWN_FLAGS = SAMPLED | RANDOM
comptime _DASH = UInt8(45)
comptime _ID_LEN = 16


struct TraceContext(Equatable, TrivialRegisterPassable, Writable):
    """Which trace something belongs to, and which span of it.

    Written out it is the traceparent field of version 00.
    """

    var trace_high: UInt64
    """The first half of the trace's id."""
    var trace_low: UInt64
    """The second half, by which traces are sampled."""
    var span_id: UInt64
    """The span's id."""
    var flags: UInt8
    """`SAMPLED` and `RANDOM`, or none of them."""

    @always_inline
    def __init__(out self):
        """Makes the context of what belongs to no trace."""
        self = Self(0, 0, 0, 0)

    @always_inline
    def __init__(
        out self,
        trace_high: UInt64,
        trace_low: UInt64,
        span_id: UInt64,
        flags: UInt8,
    ):
        """Makes a context."""
        self.trace_high = trace_high
        self.trace_low = trace_low
        self.span_id = span_id
        self.flags = flags

    @always_inline
    def is_valid(self) -> Bool:
        """Tells whether this names a trace and a span: neither id is 0."""
        return (self.trace_high | self.trace_low) != 0 and self.span_id != 0

    @always_inline
    def is_sampled(self) -> Bool:
        """Tells whether the flag says that the trace is recorded."""
        return self.flags & SAMPLED != 0

    def trace_id(self) -> String:
        """Gives the trace's id in 32 lower-case hex digits."""
        var text = String(capacity_bytes=2 * _ID_LEN)
        self.write_trace_id(text)
        return text^

    def span_id_text(self) -> String:
        """Gives the span's id in 16 lower-case hex digits."""
        var text = String(capacity_bytes=_ID_LEN)
        self.write_span_id(text)
        return text^

    def write_trace_id(self, mut writer: Some[Writer]):
        """Writes the trace's id as 32 lower-case hex digits.

        Args:
            writer: Where to.
        """
        write_id(self.trace_high, writer)
        write_id(self.trace_low, writer)

    def write_span_id(self, mut writer: Some[Writer]):
        """Writes the span's id as 16 lower-case hex digits."""
        write_id(self.span_id, writer)

    def write_to(self, mut writer: Some[Writer]):
        """Writes the traceparent field's value, of version 00."""
        writer.write_string("00-")
        self.write_trace_id(writer)
        writer.write_string("-")
        self.write_span_id(writer)
        # Both flags that there are fit in the second digit.
        writer.write_string("-0")
        UInt8(self.flags & _KNOWN_FLAGS).write_to(writer)


def write_id(id: UInt64, mut writer: Some[Writer]):
    """Writes an id, or half of one, in 16 lower-case hex digits."""
    var digits = hex_digits(id)
    var room = Array[UInt8, _ID_LEN](fill=0)
    comptime for index in range(_ID_LEN):
        room[index] = digits[index]
    writer.write_string(StringSpan(unsafe_from_utf8=Span(room)))


def parse_traceparent(value: Span[UInt8, _]) -> TraceContext:
    """Reads a traceparent field's value.

    Source: Trace Context section 3.2. A version above 00 is read by what
    version 00 has, as section 4.3 asks for; what stands behind is not looked
    at. Flags that are not known are dropped.

    Args:
        value: The value, without whitespace around it.

    Returns:
        The context; one that is not valid if the value breaks a rule: nothing
        is to be taken from it then, nor from tracestate.
    """
    if len(value) < TRACEPARENT_LEN:
        return TraceContext()
    # Version and flags have two digits each: both are read at once, after
    # twelve that are none of the value's.
    var ends = SIMD[DType.uint8, _ID_LEN](48)
    ends[12] = value.at(0)
    ends[13] = value.at(1)
    ends[14] = value.at(53)
    ends[15] = value.at(54)
    # SAFETY: sixteen octets from each place lie within the 55 that are there.
    var octets = value.unsafe_ptr()
    var is_sound = value.at(2) == _DASH
    is_sound = is_sound and value.at(35) == _DASH and value.at(52) == _DASH
    var context = TraceContext()
    context.trace_high = _read_hex(
        octets.unsafe_load[width=_ID_LEN, alignment=1](3), is_sound
    )
    context.trace_low = _read_hex(
        octets.unsafe_load[width=_ID_LEN, alignment=1](19), is_sound
    )
    context.span_id = _read_hex(
        octets.unsafe_load[width=_ID_LEN, alignment=1](36), is_sound
    )
    var version_and_flags = _read_hex(ends, is_sound)
    var version = version_and_flags >> 8
    if len(value) > TRACEPARENT_LEN:
        is_sound = (
            is_sound and version != 0 and value.at(TRACEPARENT_LEN) == _DASH
        )
    if not is_sound or version == 0xFF or not context.is_valid():
        return TraceContext()
    context.flags = UInt8(version_and_flags & 255) & _KNOWN_FLAGS
    return context


@always_inline
def _read_hex(digits: SIMD[DType.uint8, _ID_LEN], mut is_sound: Bool) -> UInt64:
    """Reads sixteen lower-case hex digits; others make `is_sound` False."""
    # Both wrap around for octets below the range.
    var numbers = digits - 48
    var letters = digits - 97
    var is_number = numbers.lt(10)
    is_sound = is_sound and (is_number | letters.lt(6)).reduce_and()
    var pairs = is_number.select(numbers, letters + 10).deinterleave()
    return byte_swap(bitcast[DType.uint64, 1](pairs[0] << 4 | pairs[1])[0])
