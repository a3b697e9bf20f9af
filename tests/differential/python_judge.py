"""Answers generated inputs as packages of Python read them.

`python_judge.py SUBJECT` reads cases on standard input, each behind its length
(four octets, big-endian), and prints a line for each.
"""

import math
import re
import struct
import sys
from collections.abc import Callable, Iterator

WORDS = [
    chr(c) if 32 < c < 127 and c not in b"%|" else f"%{c:02X}" for c in range(256)
]
LEFT_OUT = {
    b"host",
    b"content-length",
    b"transfer-encoding",
    b"connection",
    b"trailer",
}


def quoted(octets: bytes) -> str:
    """Writes octets as one word; `quoted.mojo` says how."""
    if octets == b"-":
        return "%2D"
    return "".join(map(WORDS.__getitem__, octets)) or "-"


def quoted_fields(fields: list[tuple[bytes, bytes]]) -> str:
    lines = [
        (quoted(name.lower()), quoted(value))
        for name, value in fields
        if name.lower() not in LEFT_OUT
    ]
    lines.sort(key=lambda line: line[0])
    return "|".join(f"{name}:{value}" for name, value in lines) or "-"


def because(error: Exception) -> str:
    """Makes a reason one word."""
    return quoted(str(error).encode(errors="replace")[:100]).replace("%20", "_")


class Http1:
    """h11, in either role; one message a connection, the rest to the next."""

    def __init__(self) -> None:
        import h11

        self.h11 = h11

    def events(self, connection, octets: bytes) -> Iterator:
        """Gives the events of one message, and None where octets are missing."""
        h11 = self.h11
        connection.receive_data(octets)
        is_closed = False
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA and not is_closed:
                is_closed = True
                connection.receive_data(b"")
                continue
            if event in (h11.NEED_DATA, h11.PAUSED):
                yield None
                return
            if type(event) is h11.ConnectionClosed:
                yield None
                return
            yield event
            if type(event) is h11.EndOfMessage:
                return

    def ending(self, error: Exception) -> str:
        text = str(error)
        # What h11 says where the connection ends within a message.
        if "peer unexpectedly closed" in text or "without sending complete" in text:
            return "E partial"
        if "peer closed connection without" in text:
            return "E partial"
        return f"E refuse:{because(error)}"

    def requests(self, octets: bytes) -> str:
        h11 = self.h11
        answer = []
        while octets:
            connection = h11.Connection(h11.SERVER)
            content, head, end = [], None, None
            try:
                for event in self.events(connection, octets):
                    if event is None:
                        is_blank = head is None and not octets.strip(b"\r\n")
                        return " ".join([*answer, "E end" if is_blank else "E partial"])
                    if type(event) is h11.Request:
                        head = event
                    elif type(event) is h11.Data:
                        content.append(bytes(event.data))
                    elif type(event) is h11.EndOfMessage:
                        end = event
            except h11.RemoteProtocolError as error:
                return " ".join([*answer, self.ending(error)])
            keeps = connection.their_state is not h11.MUST_CLOSE
            answer.append(
                f"M {quoted(head.method)} {quoted(head.target)}"
                f" {head.http_version.decode()} {'keep' if keeps else 'close'}"
                f" {quoted_fields(head.headers.raw_items())}"
                f" {quoted(b''.join(content))} {quoted_fields(end.headers.raw_items())}"
            )
            if not keeps:
                break
            octets = connection.trailing_data[0]
        return " ".join([*answer, "E end"])

    def response(self, octets: bytes) -> str:
        h11 = self.h11
        if len(octets) < 2:
            return "E end"
        method = {71: b"GET", 72: b"HEAD", 67: b"CONNECT"}.get(octets[0], b"GET")
        connection = h11.Connection(h11.CLIENT)
        connection.send(
            h11.Request(method=method, target=b"h:1", headers=[(b"host", b"h")])
        )
        connection.send(h11.EndOfMessage())
        content, head, answer = [], None, []
        trailers = []
        is_switched = False
        try:
            for event in self.events(connection, octets[1:]):
                if event is None:
                    is_switched = (
                        connection.their_state is h11.SWITCHED_PROTOCOL
                    )
                    if head is None or not is_switched:
                        return " ".join([*answer, "E partial"])
                    break
                if type(event) is h11.InformationalResponse:
                    answer.append(f"I {event.status_code}")
                elif type(event) is h11.Response:
                    head = event
                elif type(event) is h11.Data:
                    content.append(bytes(event.data))
                elif type(event) is h11.EndOfMessage:
                    trailers = event.headers.raw_items()
        except h11.RemoteProtocolError as error:
            return " ".join([*answer, self.ending(error)])
        names = {name for name, _ in head.headers}
        keeps = "keep" if connection.their_state is h11.DONE else "close"
        if not names & {b"content-length", b"transfer-encoding"}:
            # h11 has its user see that the content ended with the connection.
            keeps = "~"
        return " ".join(
            [
                *answer,
                f"M {head.status_code} {head.http_version.decode()}"
                f" {keeps} {quoted_fields(head.headers.raw_items())}"
                f" {quoted(b''.join(content))} {quoted_fields(trailers)} E end",
            ]
        )


def quoted_pairs(fields: list[tuple[bytes, bytes]]) -> str:
    """Writes fields as they come."""
    return "|".join(f"{quoted(name)}:{quoted(value)}" for name, value in fields) or "-"


def blocks(octets: bytes) -> str:
    """Field blocks by hpack."""
    import hpack

    decoder = hpack.Decoder()
    answer, start = [], 0
    while start + 2 <= len(octets):
        (length,) = struct.unpack_from(">H", octets, start)
        block = octets[start + 2 : start + 2 + length]
        start += 2 + length
        try:
            fields = decoder.decode(block, raw=True)
        except hpack.HPACKError as error:
            return " ".join([*answer, f"E refuse:{because(error)}"])
        size = decoder.header_table._current_size
        answer.append(f"M {quoted_pairs(fields)} {size}")
    return " ".join([*answer, "E end"])


PSEUDO = [b":authority", b":method", b":path", b":scheme", b":status", b":protocol"]


def http2_fields(fields: list[tuple[bytes, bytes]]) -> str:
    numbered = [
        (f":{1 + PSEUDO.index(name)}", quoted(value))
        for name, value in fields
        if name in PSEUDO
    ]
    words = [f"{name}:{value}" for name, value in sorted(numbered)]
    others = quoted_fields([field for field in fields if field[0][:1] != b":"])
    return "|".join(words + [others] * (others != "-")) or "-"


class Http2:
    """A server's connection of h2."""

    def __init__(self) -> None:
        import h2.config
        import h2.connection
        import h2.events
        import h2.exceptions

        self.h2 = h2
        self.config = h2.config.H2Configuration(
            client_side=False, header_encoding=None
        )

    def frames(self, octets: bytes) -> str:
        h2 = self.h2
        connection = h2.connection.H2Connection(self.config)
        connection.initiate_connection()
        connection.receive_data(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        steps: list[list[str]] = []
        self.has_data = ""
        end = "E end"
        try:
            # Frame by frame: what comes before an error is told of.
            while octets:
                length = 9 + int.from_bytes(octets[:3], "big")
                for event in connection.receive_data(octets[:length]):
                    self.note(event, steps)
                octets = octets[length:]
        except h2.exceptions.ProtocolError as error:
            code = getattr(error, "error_code", None)
            name = getattr(code, "name", "PROTOCOL_ERROR")
            # Names and numbers would make a class of each input.
            text = re.split(r":? \{?b['\"]|(?<= )\d|\d", str(error))[0]
            reason = because(Exception(text.removeprefix(f"{type(error).__name__}:")))
            end = f"E refuse:{name}:{type(error).__name__}:{reason.strip('_:')}"
        words = [" ".join(["M", step[0] + step[1], *step[2:]]) for step in steps]
        return " ".join([*words, end])

    def note(self, event, steps: list[list[str]]) -> None:
        events = self.h2.events
        kind = type(event)
        stream = str(getattr(event, "stream_id", 0))
        if kind is events.RequestReceived:
            steps.append(["headers", "", stream, http2_fields(event.headers)])
        elif kind is events.TrailersReceived:
            steps.append(["trailers", "", stream, http2_fields(event.headers)])
        elif kind is events.DataReceived:
            self.has_data = stream
            if event.data:
                steps.append(["data", "", stream, quoted(event.data)])
        elif kind is events.StreamEnded:
            step = steps[-1]
            if step[2] != stream or step[0] == "headers" and self.has_data == stream:
                steps.append(["data", ".", stream, "-"])
            else:
                step[1] = "."
        elif kind is events.StreamReset:
            # h2 tells of a reset of its own by the same event.
            name = "reset" if event.remote_reset else "reset-it"
            steps.append([name, "", stream, str(int(event.error_code))])
        elif kind is events.ConnectionTerminated:
            steps.append(["goaway", "", "0", str(int(event.error_code))])


class Json:
    """json, without what it takes beyond RFC 8259."""

    def text(self, octets: bytes) -> str:
        import json

        def refuse(text: str):
            raise ValueError(f"{text} is no JSON")

        try:
            value = json.loads(
                octets.decode("utf-8"), object_pairs_hook=Members, parse_constant=refuse
            )
            return f"M {self.written(value)} E end"
        except RecursionError:
            return "E refuse:recursion"
        except ValueError as error:
            return f"E refuse:{because(error)}"

    def written(self, value) -> str:
        if value is None:
            return "n"
        if isinstance(value, bool):
            return "t" if value else "f"
        if isinstance(value, str):
            return f'"{quoted(value.encode("utf-8", "surrogatepass"))}"'
        if isinstance(value, int) and -(2**63) <= value < 2**63:
            return f"i{value}"
        if isinstance(value, (int, float)):
            try:
                number = float(value)
            except OverflowError:
                number = math.inf if value > 0 else -math.inf
            (bits,) = struct.unpack(">Q", struct.pack(">d", number))
            return f"d{bits}"
        if isinstance(value, Members):
            pairs = (f"{self.written(name)}:{self.written(one)}," for name, one in value)
            return "{" + "".join(pairs) + "}"
        return "[" + "".join(f"{self.written(one)}," for one in value) + "]"


class Members(tuple):
    """The members of an object, in their order."""


class Protobuf:
    """protobuf, with what it keeps among the fields that are not known."""

    def __init__(self) -> None:
        from google.protobuf import json_format, message, unknown_fields

        import protobuf_kinds
        import protobuf_words

        self.json_format = json_format
        self.decode_error = message.DecodeError
        self.unknown_fields = unknown_fields
        self.kinds = protobuf_kinds
        self.words = protobuf_words

    def octets(self, case: bytes) -> str:
        try:
            message = self.kinds.kind(chr(case[0])).FromString(case[1:])
        except (self.decode_error, IndexError) as error:
            return f"E refuse:{because(error)}"
        if not message.IsInitialized():
            return "E refuse:uninitialized"
        return self.answer(message)

    def text(self, case: bytes) -> str:
        try:
            message = self.kinds.kind(chr(case[0]))()
            self.json_format.Parse(
                case[1:],
                message,
                ignore_unknown_fields=chr(case[0]).islower(),
                descriptor_pool=self.kinds.pool(),
            )
        except (self.json_format.ParseError, UnicodeDecodeError, IndexError) as error:
            # Where it is would make a class of each place.
            text = re.sub(r"Failed to (parse|load) \w+( field)?: ?", "", str(error))
            return f"E refuse:{because(Exception(re.split(' at |[.:]', text)[0]))}"
        if not message.IsInitialized():
            return "E refuse:uninitialized"
        return self.answer(message)

    def answer(self, message) -> str:
        octets = message.SerializeToString(deterministic=True)
        described = message.DESCRIPTOR
        kept = set()
        try:
            self.note_kept(message, kept)
        except UnicodeDecodeError:
            # Keys of maps of proto2 may be any octets, until somebody looks.
            kept.clear()
        return (
            f"M x{self.words.ordered(octets, described).hex()} ~"
            f" {'entry' if 'entry' in kept else '-'}"
            f" {'number' if 'number' in kept else '-'} {self.document(message)}"
        )

    def document(self, message) -> str:
        try:
            document = self.json_format.MessageToDict(
                message, descriptor_pool=self.kinds.pool()
            )
        except self.kinds.NO_JSON as error:
            return f"E refuse:json:{because(error)}"
        return f"M ~ {self.words.written(document, message.DESCRIPTOR)} ~ ~ E end"

    def note_kept(self, message, kept: set[str]) -> None:
        """Notes what is among the fields that are not known, though they are: entries
        of a map with a third field, and numbers that an enumeration of proto2 has
        not."""
        fields = message.DESCRIPTOR.fields_by_number
        for one in self.unknown_fields.UnknownFieldSet(message):
            field = fields.get(one.field_number)
            if field is None:
                continue
            if self.kinds.is_map(field) and one.wire_type == self.kinds.LENGTH:
                kept.add("entry")
            elif field.enum_type is not None and one.wire_type == self.kinds.VARINT:
                kept.add("number")
        if message.DESCRIPTOR.full_name == "google.protobuf.Any":
            if (held := self.kinds.held(message)) is not None:
                self.note_kept(held, kept)
            return
        for field, value in message.ListFields():
            if field.message_type is None:
                continue
            if self.kinds.is_map(field):
                if field.message_type.fields_by_name["value"].message_type is None:
                    continue
                value = value.values()
            elif not field.is_repeated:
                value = [value]
            for inner in value:
                self.note_kept(inner, kept)


SUBJECTS: dict[str, Callable[[], Callable[[bytes], str]]] = {
    "request": lambda: Http1().requests,
    "response": lambda: Http1().response,
    "response-strict": lambda: Http1().response,
    "hpack": lambda: blocks,
    "http2": lambda: Http2().frames,
    "json": lambda: Json().text,
    "protobuf": lambda: Protobuf().octets,
    "protobuf-json": lambda: Protobuf().text,
}


def main() -> None:
    answer = SUBJECTS[sys.argv[1]]()
    cases = sys.stdin.buffer.read()
    start, lines = 0, []
    while start + 4 <= len(cases):
        (length,) = struct.unpack_from(">I", cases, start)
        lines.append(answer(cases[start + 4 : start + 4 + length]))
        start += 4 + length
    sys.stdout.write("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    main()
