"""The ways in which a call goes over HTTP, for tables of calls: how each writes
requests and how its responses read, by hand, so that rows may break every rule."""

import base64
import http.client
import json
import struct
import urllib.parse
from dataclasses import dataclass, field

from grpc_support import frame, varint
from h2_client import Closed, H2Client

WAIT_S = 10
UNARY, SERVER, CLIENT, BOTH = KINDS = range(4)
GUIDE = "/routeguide.RouteGuide/"
METHODS = ["GetFeature", "ListFeatures", "RecordRoute", "RouteChat"]
# statuscodes.md of gRPC, in the order of their numbers.
CODES = (
    "OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS"
    " PERMISSION_DENIED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE"
    " UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED"
).split()

Fields = list[tuple[str, str]]


def held(number: int, octets: bytes) -> bytes:
    """A field of Protocol Buffers with a length (encoding document)."""
    return bytes([number << 3 | 2]) + varint(len(octets)) + octets


def split_frames(content: bytes) -> list[tuple[int, bytes]]:
    found, at = [], 0
    while at < len(content):
        flag, length = struct.unpack_from(">BI", content, at)
        assert len(content) >= at + 5 + length, "a frame is cut"
        found.append((flag, content[at + 5 : at + 5 + length]))
        at += 5 + length
    return found


@dataclass
class Outcome:
    """What came of a call."""

    http: int
    code: str = ""
    text: str = ""
    messages: list[bytes] = field(default_factory=list)
    # Lists, since a name may be there twice.
    headers: Fields = field(default_factory=list)
    trailers: Fields = field(default_factory=list)
    content: bytes = b""

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.headers + self.trailers if key == name]


@dataclass(frozen=True)
class Way:
    """A protocol with a codec, over a version of HTTP."""

    family: str
    codec: str
    version: str

    def __str__(self) -> str:
        return f"{self.family} {self.codec} {self.version}"

    @property
    def is_connect(self) -> bool:
        return self.family == "connect"

    def is_plain(self, kind: int) -> bool:
        """Whether the content is the message alone."""
        return self.is_connect and kind == UNARY

    def type(self, kind: int) -> str:
        if self.is_plain(kind):
            return f"application/{self.codec}"
        return f"application/{self.family}+{self.codec}"

    @property
    def timeout_field(self) -> str:
        return "connect-timeout-ms" if self.is_connect else "grpc-timeout"

    def coding_field(self, kind: int) -> str:
        if not self.is_connect:
            return "grpc-encoding"
        return "content-encoding" if kind == UNARY else "connect-content-encoding"

    def accept_field(self, kind: int) -> str:
        if not self.is_connect:
            return "grpc-accept-encoding"
        return "accept-encoding" if kind == UNARY else "connect-accept-encoding"

    def write(self, name: str, value) -> bytes:
        """Writes a message of the guide."""
        if self.codec == "json":
            if name == "rectangle":
                value = {"lo": {"latitude": value}}
            elif name == "point":
                value = {"latitude": value}
            else:
                value = {"message": value}
            return json.dumps(value).encode()
        if name == "note":
            return held(2, value.encode())
        point = b"\x08" + varint(value) if value else b""
        return held(1, point) if name == "rectangle" else point

    def request(self, kind: int, wish: int = 2) -> bytes:
        """A request of a method that succeeds, and has `replies_to` it."""
        if kind == BOTH:
            return self.write("note", "n" * wish)
        return self.write("rectangle" if kind == SERVER else "point", wish)

    def frame(self, kind: int, octets: bytes, flag: int = 0, length: int | None = None) -> bytes:
        return octets if self.is_plain(kind) else frame(octets, flag, length)

    def content(self, octets: bytes) -> bytes:
        """What goes over the wire of some frames."""
        return base64.b64encode(octets) if self.family == "grpc-web-text" else octets

    def fields(self, kind: int) -> Fields:
        fields = [("content-type", self.type(kind))]
        if self.family == "grpc":
            fields.append(("te", "trailers"))
        return fields

    def outcome(
        self, kind: int, status: int, headers: Fields, content: bytes, trailers: Fields | None
    ) -> Outcome:
        """Reads a response, and holds it to what every one of the protocol has."""
        found = Outcome(status, headers=headers, content=content)
        type = found.all("content-type")
        if self.is_plain(kind) or (self.is_connect and status != 200):
            assert not trailers, "Connect has no trailers of HTTP"
            return self._plain(found, type)
        said = [value for name, value in headers if name == "grpc-status"]
        if status != 200 and not said:
            found.code = f"HTTP {status}"
            return found
        if self.family == "grpc-web-text":
            content = b"".join(
                base64.b64decode(content[at : at + 4]) for at in range(0, len(content), 4)
            )
        assert type == [self.type(kind)], type
        if said:
            # Trailers-Only (PROTOCOL-HTTP2.md).
            assert not content and trailers is None
            found.headers = []
            return self._ended(found, headers, [])
        frames = split_frames(content)
        if self.family == "grpc":
            assert trailers, "no trailers"
            return self._ended(found, trailers, frames)
        assert not trailers and frames, "no frame that ends it"
        *frames, (flag, last) = frames
        assert flag == (2 if self.is_connect else 0x80), flag
        if not self.is_connect:
            lines = last.decode().removesuffix("\r\n").split("\r\n")
            pairs = [tuple(line.split(": ", 1)) for line in lines]
            assert all(name == name.lower() for name, _ in pairs), "PROTOCOL-WEB.md"
            return self._ended(found, pairs, frames)
        end = json.loads(last)
        assert set(end) <= {"error", "metadata"}, end
        found.messages = [octets for _, octets in frames]
        for name, values in end.get("metadata", {}).items():
            found.trailers += [(name, value) for value in values]
        self._note_error(found, end.get("error"))
        return found

    @staticmethod
    def _note_error(found: Outcome, error: dict | None) -> None:
        if error is None:
            found.code = "OK"
            return
        found.code = error["code"].upper().replace("CANCELED", "CANCELLED")
        assert found.code in CODES[1:], found.code
        found.text = error.get("message", "")

    def _plain(self, found: Outcome, type: list[str]) -> Outcome:
        for name, value in found.headers:
            if name.startswith("trailer-"):
                found.trailers.append((name.removeprefix("trailer-"), value))
        if found.http == 200:
            assert type == [self.type(UNARY)], type
            found.messages, found.code = [found.content], "OK"
        elif type == ["application/json"] and found.content:
            self._note_error(found, json.loads(found.content))
        else:
            found.code = f"HTTP {found.http}"
        return found

    @staticmethod
    def _ended(found: Outcome, fields: Fields, frames: list[tuple[int, bytes]]) -> Outcome:
        found.messages = [octets for _, octets in frames]
        found.trailers = fields
        values = dict(fields)
        found.code = CODES[int(values["grpc-status"])]
        text = values.get("grpc-message", "")
        found.text = urllib.parse.unquote(text)
        return found


WAYS = [
    Way("grpc", "proto", "2"), Way("grpc", "json", "2"),
    Way("grpc-web", "proto", "1.1"), Way("grpc-web", "proto", "2"), Way("grpc-web", "json", "1.1"),
    Way("grpc-web-text", "proto", "1.1"), Way("grpc-web-text", "proto", "2"),
    Way("connect", "proto", "1.1"), Way("connect", "proto", "2"),
    Way("connect", "json", "1.1"), Way("connect", "json", "2"),
]  # fmt: skip


class RawCaller:
    """Asks a server by either version, one request after the other."""

    def __init__(self, server) -> None:
        self.server = server
        self.one: http.client.HTTPConnection | None = None
        self.two: H2Client | None = None

    def close(self) -> None:
        if self.one:
            self.one.close()
        if self.two:
            self.two.sock.close()
        self.one = self.two = None

    def ask(
        self, way: Way, kind: int, path: str, pieces: list[bytes], fields: Fields,
        method: str = "POST",
    ) -> Outcome:  # fmt: skip
        """Sends content in frames, or chunks, of its own for each piece."""
        try:
            call = self._ask_two if way.version == "2" else self._ask_one
            return call(way, kind, path, pieces, fields, method)
        except (Closed, OSError, http.client.HTTPException):
            self.close()
            raise

    def _ask_two(self, way, kind, path, pieces, fields, method) -> Outcome:
        if not self.two:
            self.two = H2Client(self.server, timeout=WAIT_S)
        client = self.two
        stream = client.request(path, method, fields, ends=not pieces)
        for index, piece in enumerate(pieces):
            client.data(stream, piece, ends=index == len(pieces) - 1)
        got = client.answer(stream)
        if not got.ended:
            return Outcome(0, code=f"RESET {got.reset}")
        return way.outcome(kind, got.status, got.lines, got.body, got.trailers)

    def _ask_one(self, way, kind, path, pieces, fields, method) -> Outcome:
        if not self.one:
            self.one = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=WAIT_S)
        one = self.one
        one.putrequest(method, path, skip_accept_encoding=True)
        for name, value in fields:
            one.putheader(name, value)
        if len(pieces) > 1:
            one.putheader("transfer-encoding", "chunked")
            chunks = [b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces if piece]
            one.endheaders(b"".join(chunks) + b"0\r\n\r\n")
        else:
            content = b"".join(pieces)
            one.putheader("content-length", str(len(content)))
            one.endheaders(content)
        response = one.getresponse()
        lines = [(name.lower(), value) for name, value in response.getheaders()]
        return way.outcome(kind, response.status, lines, response.read(), None)
