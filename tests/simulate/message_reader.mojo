"""Reads messages of HTTP/1.1 as RFC 9112 has them, apart from the library's own
readers: who judges shares no code with who is judged."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *


struct ReadMessage(Defaultable, Movable):
    """A message that is complete."""

    var start: String
    """Its start line."""
    var content: List[UInt8]
    var closes: Bool
    """True if the connection ends with it."""
    var has_validator: Bool
    """True if a request is to be answered 304 where nothing is new."""
    var websocket: String
    """The key of an opening handshake of WebSocket, or what accepts it; empty if
    it is none (RFC 6455 section 4)."""

    def status(self) -> Int:
        """Gives the status of a response."""
        return _decimal(self.start.as_bytes()[9:12])


struct MessageReader(Movable):
    """Takes octets, gives messages of one direction."""

    var inbox: Buffer
    var problem: String
    """What is wrong with what has come; empty if nothing is."""
    var _reads_requests: Bool

    def __init__(out self, reads_requests: Bool):
        self.inbox = Buffer(0)
        self.problem = String()
        self._reads_requests = reads_requests

    def start_line(self) -> String:
        """Gives the start line of the message that is first, once its head is
        complete."""
        var octets = self.inbox.span()
        if _find(octets, "\r\n\r\n", 0) < 0:
            return String()
        return String(from_utf8_lossy=octets[: _find(octets, "\r\n", 0)])

    def waits_to_be_asked(self) -> Bool:
        """Tells whether the message that is first has no content yet, which
        waits for 100 (Continue)."""
        var octets = self.inbox.span()
        var end = _find(octets, "\r\n\r\n", 0)
        return (
            end >= 0
            and len(octets) == end + 4
            and _find(octets, "100-continue", 0) >= 0
        )

    def next(mut self, has_ended: Bool = False) -> Optional[ReadMessage]:
        """Takes the next message that is complete, or interim; content without a
        length is, if the connection `has_ended`. Nothing if there is none, or
        there is a `problem`."""
        var octets = self.inbox.span()
        var head_end = _find(octets, "\r\n\r\n", 0)
        if head_end < 0:
            return None
        var message = ReadMessage()
        message.start = self.start_line()
        var length = 0 if self._reads_requests else -1
        var is_chunked = False
        var start = message.start.byte_length() + 2
        while start < head_end:
            var end = _find(octets, "\r\n", start)
            var written = String(from_utf8_lossy=octets[start:end])
            var line = written.lower()
            start = end + 2
            if line.startswith("content-length: "):
                length = _decimal(line.as_bytes()[16:])
            elif line == "transfer-encoding: chunked":
                is_chunked = True
            elif line == "connection: close":
                message.closes = True
            elif line.startswith("if-none-match: "):
                message.has_validator = True
            elif line.startswith("sec-websocket-key: ") or line.startswith(
                "sec-websocket-accept: "
            ):
                message.websocket = String(written.split(": ")[1])
        var position = head_end + 4
        if not self._reads_requests:
            if (
                not message.start.startswith("HTTP/1.1 ")
                or message.start.byte_length() < 12
            ):
                self.problem = "no status line: " + message.start
                return None
            if message.status() < 200 or message.status() == 204:
                self.inbox.consume(position)
                return message^
        if is_chunked:
            if length > 0:
                self.problem = "both a length and chunks"
                return None
            position = self._read_chunks(message, position)
            if position < 0:
                return None
        elif length < 0:
            if not has_ended:
                return None
            message.content.extend(octets[position:])
            position = len(octets)
        else:
            if len(octets) - position < length:
                return None
            message.content.extend(octets[position : position + length])
            position += length
        self.inbox.consume(position)
        return message^

    def _read_chunks(mut self, mut message: ReadMessage, start: Int) -> Int:
        """Reads chunks up to their end, and tells where that is; -1 if it has
        not come."""
        var octets = self.inbox.span()
        var position = start
        while True:
            var end = _find(octets, "\r\n", position)
            if end < 0:
                return -1
            var length = _hexadecimal(octets[position:end])
            if length < 0:
                self.problem = "no length of a chunk"
                return -1
            position = end + 2
            if len(octets) < position + length + 2:
                return -1
            message.content.extend(octets[position : position + length])
            position += length
            if octets[position] != 13 or octets[position + 1] != 10:
                self.problem = "a chunk that does not end"
                return -1
            position += 2
            if length == 0:
                return position


def _find(octets: Span[UInt8, _], what: StaticString, start: Int) -> Int:
    var wanted = what.as_bytes()
    for index in range(start, len(octets) - len(wanted) + 1):
        var is_same = True
        for place in range(len(wanted)):
            if octets[index + place] != wanted[place]:
                is_same = False
                break
        if is_same:
            return index
    return -1


def _decimal(octets: Span[UInt8, _]) -> Int:
    var value = 0
    for octet in octets:
        if octet < 48 or octet > 57:
            return -1
        value = value * 10 + Int(octet) - 48
    return value


def _hexadecimal(octets: Span[UInt8, _]) -> Int:
    if len(octets) == 0:
        return -1
    var value = 0
    for octet in octets:
        var digit = Int(octet)
        if digit >= 48 and digit <= 57:
            digit -= 48
        elif digit >= 97 and digit <= 102:
            digit -= 87
        else:
            return -1
        value = value * 16 + digit
    return value
