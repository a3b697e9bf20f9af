"""One event of a text/event-stream (HTML Standard, section 9.2)."""

from flare.bytes.buffer import Buffer

comptime TEXT_EVENT_STREAM = StaticString("text/event-stream")
"""Media type of an event stream; it is always UTF-8."""

comptime HEARTBEAT = StaticString(":\n\n")
"""A comment, which clients ignore: shows both sides that the other is there."""

comptime _CR = UInt8(0x0D)
comptime _LF = UInt8(0x0A)


struct ServerSentEvent(Copyable, Movable):
    """What a client gets in one piece."""

    var data: String
    """The text; its line ends arrive as LF."""
    var name: String
    """What listeners wait for; empty for `message`."""
    var id: String
    """What a client that comes back names as `Last-Event-ID`; may be empty."""
    var retry_ms: Int
    """How long clients wait before they come back; 0 says nothing."""

    def __init__(
        out self,
        var data: String,
        *,
        var name: String = String(),
        var id: String = String(),
        retry_ms: Int = 0,
    ) raises:
        """Makes an event.

        Args:
            data: The text, of any number of lines.
            name: What kind of event it is; one line.
            id: Its id; one line without NUL.
            retry_ms: How long clients are to wait before they come back; 0
                says nothing.

        Raises:
            Error: If name or id have more than one line, or the id has a NUL.
        """
        _check("name", name)
        _check("id", id)
        if "\0" in id:
            raise Error("the id of an event has a NUL; remove it")
        if retry_ms < 0:
            raise Error("retry_ms is ", retry_ms, "; it must not be negative")
        self.data = data^
        self.name = name^
        self.id = id^
        self.retry_ms = retry_ms

    def append_to(self, mut out: Buffer):
        """Appends the event as a client reads it.

        Args:
            out: Where to.
        """
        if self.id.byte_length() > 0:
            _append_field(out, "id: ", self.id.as_bytes())
        if self.name.byte_length() > 0:
            _append_field(out, "event: ", self.name.as_bytes())
        if self.retry_ms > 0:
            out.append_literal["retry: "]()
            out.append_decimal(self.retry_ms)
            out.append_literal["\n"]()
        var octets = self.data.as_bytes()
        var start = 0
        while True:
            var end = start
            while (
                end < len(octets) and octets[end] != _LF and octets[end] != _CR
            ):
                end += 1
            _append_field(out, "data: ", octets[start:end])
            if end == len(octets):
                break
            var is_pair = (
                octets[end] == _CR
                and end + 1 < len(octets)
                and octets[end + 1] == _LF
            )
            start = end + (2 if is_pair else 1)
        out.append_literal["\n"]()


def _check(what: StaticString, text: String) raises:
    if "\n" in text or "\r" in text:
        raise Error(
            "the ", what, " of an event has a line end; it must be one line"
        )


def _append_field(mut out: Buffer, name: StaticString, value: Span[UInt8, _]):
    out.append(name.as_bytes())
    out.append(value)
    out.append_literal["\n"]()
