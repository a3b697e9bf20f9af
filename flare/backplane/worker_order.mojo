"""An order to all worker processes of a server, and what each answers, as octets;
pure.

    0     1         2          8         16       24     24 + topic len
    kind  reserved  topic len  order id  process  topic  text

Numbers are little-endian. Of an order the process is the one that gives it, of an
answer the one that has carried it out, or has not.
"""

from flare.backplane.message import append_word, load_word
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.utf8 import is_valid_utf8

comptime ORDER_HEAD_LEN = 24
"""What a message takes beside topic and text."""


@fieldwise_init
struct OrderKind(Equatable, TrivialRegisterPassable):
    """What a message is."""

    var value: UInt8
    """Its number on the way."""

    comptime ORDER = Self(1)
    """Something is to be carried out; the text says what."""
    comptime DONE = Self(2)
    """It was; the text is what it came to."""
    comptime FAILED = Self(3)
    """It was not; the text says why."""
    comptime KEPT = Self(4)
    """As `ORDER`, and workers that begin later are to do it, too."""
    comptime WITHDRAWN = Self(5)
    """What was kept by this id is kept no more; nothing is said."""

    def is_order(self) -> Bool:
        """Tells whether something is to be carried out."""
        return self == Self.ORDER or self == Self.KEPT


struct OrderMessage(Copyable, Movable):

    var kind: OrderKind
    var id: UInt64
    """The order that it is, or answers."""
    var process: Int
    var topic: String
    """Who carries the order out; empty of an answer."""
    var text: String
    """What is to be done, or what it came to."""

    def __init__(
        out self,
        kind: OrderKind,
        id: UInt64,
        process: Int,
        topic: StringSpan,
        text: StringSpan,
    ):
        self.kind = kind
        self.id = id
        self.process = process
        self.topic = String(topic)
        self.text = String(text)

    def write_to(self, mut out: Buffer):
        append_word(
            out,
            UInt64(self.kind.value)
            | (UInt64(self.topic.byte_length()) << UInt64(16)),
        )
        append_word(out, self.id)
        append_word(out, UInt64(self.process))
        out.append(self.topic.as_bytes())
        out.append(self.text.as_bytes())


def parse_order(octets: Span[UInt8, _]) -> Optional[OrderMessage]:
    """Reads a message; None if it is none. What comes out of shared memory may
    be anything."""
    if len(octets) < ORDER_HEAD_LEN:
        return None
    var first = load_word(octets, 0)
    var kind = OrderKind(UInt8(first & 0xFF))
    var topic_len = first >> UInt64(16)
    var process = load_word(octets, 16)
    if (
        (first & 0xFF00) != 0
        or kind.value < OrderKind.ORDER.value
        or kind.value > OrderKind.WITHDRAWN.value
        or topic_len > UInt64(len(octets) - ORDER_HEAD_LEN)
        or process >> UInt64(62) != 0
    ):
        return None
    var text_start = ORDER_HEAD_LEN + Int(topic_len)
    var topic = octets.between(ORDER_HEAD_LEN, text_start)
    var text = octets.after(text_start)
    if not is_valid_utf8(topic) or not is_valid_utf8(text):
        return None
    return OrderMessage(
        kind,
        load_word(octets, 8),
        Int(process),
        StringSpan(unsafe_from_utf8=topic),
        StringSpan(unsafe_from_utf8=text),
    )
