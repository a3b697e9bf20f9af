"""The events of a stream: the pure core of who reads them.

    var parser = EventParser()
    # 1. put octets into input
    # 2. while advance(input): take_event(), go to 2
    # 3. go to 1; what is left at the end of the stream is no event

Source: WHATWG HTML section 9.2.5 (the grammar) and 9.2.6 (what a line means).
"""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.sse.event_hub import ServerSentEvent

comptime EVENT_LEN_MAX = 1 << 20
"""Longest event that is read unless another limit is given, in bytes."""

comptime RETRY_DIGITS_MAX = 9
"""Most digits of a time to wait in milliseconds: 11 days. What has more is taken
for as long."""

comptime _LF = UInt8(0x0A)
comptime _CR = UInt8(0x0D)
comptime _COLON = UInt8(0x3A)
comptime _SPACE = UInt8(0x20)


@fieldwise_init
struct EventTooLong(Copyable, Movable, Writable):
    """A stream has an event, or a line, that goes over the limit."""

    var limit: Int
    """The limit in bytes."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes the limit."""
        writer.write("an event is longer than ", self.limit)
        writer.write(" bytes; allow more to read it")


struct EventParser(Movable):
    """Reads the events of one stream, however it is cut."""

    var last_id: String
    """The id that the stream has named last, for `Last-Event-ID`."""
    var retry_ms: Int
    """How long to wait before coming back, as the stream has said last; -1 if
    it has not."""
    var _len_max: Int
    var _event: ServerSentEvent
    var _data: List[UInt8]
    var _name: String
    var _id: String
    # What the event at hand has said of the time to wait.
    var _retry_ms: Int
    # How much of the line at hand was looked at, in bytes.
    var _looked_at: Int
    var _has_begun: Bool
    # A line feed after a carriage return belongs to the same line end.
    var _follows_cr: Bool

    def __init__(
        out self,
        event_len_max: Int = EVENT_LEN_MAX,
        var last_id: String = String(),
    ):
        """Gets ready for a stream.

        Args:
            event_len_max: Longest event, and longest line, in bytes.
            last_id: The last id of the stream before it, if it goes on.
        """
        self._len_max = event_len_max
        self._id = last_id.copy()
        self.last_id = last_id^
        self.retry_ms = -1
        self._event = ServerSentEvent.nothing()
        self._data = []
        self._name = String()
        self._retry_ms = 0
        self._looked_at = 0
        self._has_begun = False
        self._follows_cr = False

    def advance(mut self, mut input: Buffer) raises EventTooLong -> Bool:
        """Takes lines until an event is complete, and gives False if more has
        to arrive.

        Args:
            input: What has arrived; what was read is dropped from it.

        Raises:
            EventTooLong: If the event or its line goes over the limit; the
                stream cannot be read any further.
        """
        if not self._has_begun and not self._skip_mark(input):
            return False
        while True:
            if self._follows_cr and len(input) > 0:
                self._follows_cr = False
                if input.span().at(0) == _LF:
                    input.consume(1)
            var end = self._find_end(input.span())
            if len(self._data) + end > self._len_max:
                raise EventTooLong(self._len_max)
            self._looked_at = end
            if end == len(input):
                return False
            self._looked_at = 0
            self._follows_cr = input.span().at(end) == _CR
            var is_event = self._take_line(input.span().before(end))
            input.consume(end + 1)
            if is_event:
                return True

    def take_event(mut self) -> ServerSentEvent:
        """Gives the event that `advance` told of; its id is the last one that
        the stream has named, with it or before."""
        var event = ServerSentEvent.nothing()
        swap(event, self._event)
        return event^

    def _skip_mark(mut self, mut input: Buffer) -> Bool:
        """Drops a byte order mark; False if it is not known yet whether there
        is one."""
        comptime mark = StaticString("\ufeff")
        var here = input.span()
        for index in range(min(len(here), mark.byte_length())):
            if here.at(index) != mark.as_bytes().at(index):
                self._has_begun = True
                return True
        if len(here) < mark.byte_length():
            return False
        input.consume(mark.byte_length())
        self._has_begun = True
        return True

    def _find_end(self, here: Span[UInt8, _]) -> Int:
        var end = self._looked_at
        while end < len(here):
            var octet = here.at(end)
            if octet == _LF or octet == _CR:
                break
            end += 1
        return end

    def _take_line(mut self, line: ImmSpan[UInt8, _]) -> Bool:
        """Takes a line; True if it has completed an event."""
        if len(line) == 0:
            return self._dispatch()
        var colon = 0
        while colon < len(line) and line.at(colon) != _COLON:
            colon += 1
        var start = min(colon + 1, len(line))
        if start < len(line) and line.at(start) == _SPACE:
            start += 1
        # A comment has no name.
        self._take_field(line.before(colon), line.after(start))
        return False

    def _take_field(
        mut self, name: ImmSpan[UInt8, _], value: ImmSpan[UInt8, _]
    ):
        if _is(name, "data"):
            self._data.extend(value)
            self._data.append(_LF)
        elif _is(name, "event"):
            self._name = String(from_utf8_lossy=value)
        elif _is(name, "id"):
            for octet in value:
                if octet == 0:
                    return
            self._id = String(from_utf8_lossy=value)
        elif _is(name, "retry"):
            self._take_retry(value)

    def _take_retry(mut self, value: Span[UInt8, _]):
        var number = 0
        for index in range(len(value)):
            var digit = Int(value.at(index)) - 48
            if digit < 0 or digit > 9:
                return
            if index < RETRY_DIGITS_MAX:
                number = number * 10 + digit
        if len(value) == 0:
            return
        if len(value) > RETRY_DIGITS_MAX:
            number = 10**RETRY_DIGITS_MAX
        self.retry_ms = number
        self._retry_ms = number

    def _dispatch(mut self) -> Bool:
        """Ends an event; False if it has no data, and so is none."""
        self.last_id = self._id
        var is_event = len(self._data) > 0
        if is_event:
            self._event.data = String(
                from_utf8_lossy=Span(self._data).before(len(self._data) - 1)
            )
            self._event.name = self._name
            self._event.id = self._id
            self._event.retry_ms = self._retry_ms
        self._data.clear()
        self._name = String()
        self._retry_ms = 0
        return is_event


def _is(name: Span[UInt8, _], wanted: StaticString) -> Bool:
    if len(name) != wanted.byte_length():
        return False
    for index in range(len(name)):
        if name.at(index) != wanted.as_bytes().at(index):
            return False
    return True
