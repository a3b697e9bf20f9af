"""What is recorded of a span, as exporters get it."""

from flare.bytes.checked import *
from flare.trace.core.context import TraceContext

comptime ATTRIBUTE_COUNT_MAX = 128
"""Most attributes of a span, and of an event; more are counted and dropped.

The number of OpenTelemetry's span limits.
"""

comptime EVENT_COUNT_MAX = 128
"""Most events of a span; more are counted and dropped. As above."""

comptime TEXT_LEN_MAX = 4_096
"""Longest name or text value in bytes; the rest is cut."""


@fieldwise_init
struct SpanKind(Equatable, TrivialRegisterPassable):
    """What a span stands for; the numbers are OTLP's."""

    var code: UInt8
    """The number."""

    comptime INTERNAL = SpanKind(1)
    """Work within the program."""
    comptime SERVER = SpanKind(2)
    """A request that is answered."""
    comptime CLIENT = SpanKind(3)
    """A request that is made."""
    comptime PRODUCER = SpanKind(4)
    """A message that is sent, to be worked on later."""
    comptime CONSUMER = SpanKind(5)
    """Work on such a message."""


struct AttributeValue(Copyable, Movable):
    """Text, a whole number, a number or a truth value."""

    var kind: UInt8
    """`TEXT`, `INTEGER`, `FLOAT` or `BOOL`."""
    var text: String
    """The text."""
    var integer: Int
    """The whole number; 1 for true."""
    var number: Float64
    """The number."""

    comptime TEXT = UInt8(0)
    """Has text."""
    comptime INTEGER = UInt8(1)
    """Has a whole number."""
    comptime FLOAT = UInt8(2)
    """Has a number."""
    comptime BOOL = UInt8(3)
    """Is true or false."""

    @implicit
    def __init__(out self, var text: String):
        """Takes text."""
        self.kind = Self.TEXT
        self.text = text^
        self.integer = 0
        self.number = 0

    @implicit
    def __init__(out self, text: StringLiteral):
        """Takes literal text."""
        self = Self(String(text))

    @implicit
    def __init__(out self, text: StringSpan):
        """Copies text."""
        self = Self(String(text))

    @implicit
    def __init__(out self, integer: Int):
        """Takes a whole number.

        Args:
            integer: The number.
        """
        self.kind = Self.INTEGER
        self.text = String()
        self.integer = integer
        self.number = 0

    @implicit
    def __init__(out self, number: Float64):
        """Takes a number."""
        self.kind = Self.FLOAT
        self.text = String()
        self.integer = 0
        self.number = number

    @implicit
    def __init__(out self, flag: Bool):
        """Takes a truth value.

        Args:
            flag: The value.
        """
        self.kind = Self.BOOL
        self.text = String()
        self.integer = Int(flag)
        self.number = 0


@fieldwise_init
struct Attribute(Copyable, Movable):
    """One attribute."""

    var key: String
    """The name, such as `db.system.name`."""
    var value: AttributeValue
    """The value."""


struct Attributes(Copyable, Defaultable, Movable):
    """Attributes by name, written as a dictionary: `{"rows": 3}`."""

    var items: List[Attribute]
    """In the order in which they came; no name stands twice."""
    var dropped_count: Int
    """How many had no room."""

    def __init__(out self):
        """Makes none."""
        self.items = []
        self.dropped_count = 0

    def __init__(
        out self,
        var keys: List[String],
        var values: List[AttributeValue],
        __dict_literal__: NoneType,
    ):
        """Takes a dictionary as it is written.

        Args:
            keys: The names.
            values: The values.
            __dict_literal__: Marks the literal.
        """
        self = Self()
        for index in range(min(len(keys), len(values))):
            self.set(keys.at(index).copy(), values.at(index).copy())

    def set(mut self, var key: String, var value: AttributeValue):
        """Sets an attribute.

        Args:
            key: Its name; not empty.
            value: Its value, in place of one that was set before.
        """
        key = cut_text(key^)
        if value.text.byte_length() > TEXT_LEN_MAX:
            value.text = cut_text(value.text)
        for index in range(len(self.items)):
            if self.items.at(index).key == key:
                self.items.at(index).value = value^
                return
        if len(self.items) == ATTRIBUTE_COUNT_MAX:
            self.dropped_count += 1
            return
        self.items.append(Attribute(key^, value^))

    def get(self, key: StringSpan) -> Optional[AttributeValue]:
        """Finds the value of an attribute; nothing if it was not set."""
        for ref item in self.items:
            if item.key == key:
                return item.value.copy()
        return None


@fieldwise_init
struct SpanEvent(Copyable, Movable):
    """Something that happened at one moment of a span."""

    var name: String
    """What."""
    var unix_ns: Int
    """When, in nanoseconds since 1970-01-01 UTC."""
    var attributes: Attributes
    """What is told of it."""


struct SpanData(Copyable, Movable):
    """All that is known of a span that is over."""

    var context: TraceContext
    """Its trace and its own id."""
    var parent_id: UInt64
    """The id of the span that it is a part of; 0 for a root."""
    var trace_state: String
    """The tracestate that its trace came with."""
    var kind: SpanKind
    """What it stands for."""
    var name: String
    """What it is called; of few different values."""
    var start_unix_ns: Int
    """When it began, in nanoseconds since 1970-01-01 UTC."""
    var end_unix_ns: Int
    """When it ended."""
    var attributes: Attributes
    """What is told of it."""
    var events: List[SpanEvent]
    """What happened meanwhile."""
    var dropped_event_count: Int
    """How many events had no room."""
    var is_failed: Bool
    """True if it ended with an error."""
    var failure: String
    """What the error was; empty if that is not told."""

    def __init__(
        out self, context: TraceContext, kind: SpanKind, var name: String
    ):
        """Makes a span without anything told of it."""
        self.context = context
        self.parent_id = 0
        self.trace_state = String()
        self.kind = kind
        self.name = cut_text(name^)
        self.start_unix_ns = 0
        self.end_unix_ns = 0
        self.attributes = Attributes()
        self.events = []
        self.dropped_event_count = 0
        self.is_failed = False
        self.failure = String()

    @no_inline
    def __deinit__(deinit self):
        return

    def add_event(mut self, var event: SpanEvent):
        """Adds an event, if there is room.

        Args:
            event: The event.
        """
        if len(self.events) == EVENT_COUNT_MAX:
            self.dropped_event_count += 1
        else:
            self.events.append(event^)


def cut_text(var text: String) -> String:
    """Cuts a text that is longer than `TEXT_LEN_MAX` bytes, between two
    characters."""
    if text.byte_length() <= TEXT_LEN_MAX:
        return text^
    var octets = text.as_bytes()
    var end = TEXT_LEN_MAX
    # 10xxxxxx goes on with a character, which has four octets at most.
    while end > TEXT_LEN_MAX - 3 and octets.at(end) & 0xC0 == 0x80:
        end -= 1
    return String(from_utf8_lossy=octets.before(end))
