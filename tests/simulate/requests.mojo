"""What simulated clients ask for, and what they have to be answered."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from tests.simulate.dice import Dice
from tests.simulate.kernel import LENGTH_MAX


@fieldwise_init
struct AskedKind(Equatable, TrivialRegisterPassable):
    var _number: UInt8

    comptime CONTENT = AskedKind(0)
    """Content that the server has in memory."""
    comptime STREAM = AskedKind(1)
    """Content that a source makes in pieces."""
    comptime UPLOAD = AskedKind(2)
    """A sum of content that the client sends."""
    comptime TALK = AskedKind(3)
    """A conversation of WebSocket."""


@fieldwise_init
struct Way(Equatable, TrivialRegisterPassable):
    """Who answers a request."""

    var number: UInt8

    comptime SERVER = Way(0)
    """The server itself."""
    comptime PROXIED = Way(1)
    """An upstream of HTTP/1.1."""
    comptime OVER_HTTP2 = Way(2)
    """An upstream of HTTP/2."""
    comptime CACHED = Way(3)
    """The cache, or an upstream of HTTP/1.1."""

    comptime FETCHED = Way(4)
    """A handler that asks an upstream of HTTP/1.1, and answers when it has all."""
    comptime FETCHED_OVER_HTTP2 = Way(5)
    """The same of an upstream of HTTP/2."""

    comptime COUNT = 6

    def prefix(self) -> StaticString:
        """Gives what paths begin with that are answered so."""
        comptime PREFIXES: List[StaticString] = [
            "",
            "/proxied",
            "/over2",
            "/cached",
            "/fetched",
            "/fetched2",
        ]
        return materialize[PREFIXES]()[Int(self.number)]


@fieldwise_init
struct Asked(Copyable):
    """A request; what is cached may be asked for more than once."""

    var id: Int
    var kind: AskedKind
    var length: Int
    """How much content is asked for, or sent, in bytes."""
    var is_chunked: Bool
    var expects_continue: Bool
    var way: Way

    def is_proxied(self) -> Bool:
        """Tells whether the server may ask an upstream."""
        return self.way != Way.SERVER

    def may_break_off(self) -> Bool:
        """Tells whether the answer may end within its content: what the server
        passes on as it comes may, and nothing else."""
        return (
            self.way == Way.PROXIED
            or self.way == Way.OVER_HTTP2
            or self.way == Way.CACHED
        )

    def path(self) -> String:
        var start = self.way.prefix()
        if self.kind == AskedKind.CONTENT:
            return String(start, "/content/", self.id, "/", self.length)
        if self.kind == AskedKind.STREAM:
            return String(start, "/stream/", self.id, "/", self.length)
        if self.kind == AskedKind.TALK:
            return String(start, "/ws/", self.id)
        return String(start, "/upload/", self.id)

    def answer(self) -> List[UInt8]:
        """Gives the content of the right response."""
        if self.kind != AskedKind.UPLOAD:
            return content_of(self.id, self.length)
        var text = upload_answer(self.id, content_of(self.id, self.length))
        return List(text.as_bytes())


def may_fail(status: Int) -> Bool:
    """Tells whether a gateway may say so of its upstream."""
    return status >= 502 and status <= 504


def content_of(id: Int, length: Int) -> List[UInt8]:
    """Makes content that tells whose it is, wherever one looks."""
    var octets = List[UInt8](capacity=length)
    var value = UInt32(id) * 2_654_435_761 + 12_345
    for _ in range(length):
        value = value * 1_664_525 + 1_013_904_223
        octets.append(UInt8(97 + Int(value >> 24) % 26))
    return octets^


def upload_answer(id: Int, content: Span[UInt8, _]) -> String:
    """Tells what has come of an upload."""
    var sum = UInt64(0xCBF29CE484222325)
    for octet in content:
        sum = (sum ^ UInt64(octet)) * 0x100000001B3
    return String(id, ":", len(content), ":", sum)


comptime _SHARED_COUNT = 4
# How many things there are that are cached.


def choose_asked(mut dice: Dice, id: Int, length_max: Int) -> Asked:
    """Makes a request by chance, with at most so much content."""
    var kind = AskedKind.CONTENT
    if dice.one_in(3):
        kind = AskedKind.STREAM
    elif dice.one_in(3):
        kind = AskedKind.UPLOAD
    var way = Way.SERVER
    if dice.one_in(2):
        way = Way(UInt8(dice.between(1, Int(Way.COUNT) - 1)))
    if way == Way.CACHED and kind != AskedKind.UPLOAD:
        # The same for all who ask.
        var shared_id = 1 + dice.below(_SHARED_COUNT)
        var length = shared_id * 7_919 % (length_max + 1)
        return Asked(shared_id, kind, length, False, False, way)
    return Asked(
        id,
        kind,
        dice.length(length_max),
        is_chunked=dice.one_in(2),
        expects_continue=dice.one_in(4),
        way=way,
    )


def id_of(line: String) -> Int:
    """Reads the id in a request line for an upstream; -1 if there is none."""
    var parts = line.split("/")
    if len(parts) < 4:
        return -1
    var is_known = False
    for number in range(1, Int(Way.COUNT)):
        is_known |= Way(UInt8(number)).prefix() == String("/", parts[1])
    if not is_known:
        return -1
    try:
        return Int(String(parts[3]).split(" ")[0])
    except error:
        return -1


def answer_of(line: String, content: Span[UInt8, _]) -> List[UInt8]:
    """Makes the content of the right response to what an upstream is asked."""
    var id = id_of(line)
    if line.startswith("POST"):
        return List(upload_answer(id, content).as_bytes())
    var parts = line.split("/")
    if len(parts) < 5:
        return []
    try:
        var length = Int(String(parts[4]).split(" ")[0])
        return content_of(id, min(max(length, 0), LENGTH_MAX))
    except error:
        return []


def write_http1(mut out: Buffer, asked: Asked, mut dice: Dice, is_last: Bool):
    """Writes a request for HTTP/1.1, with its content behind it."""
    var head = String("GET " if asked.kind != AskedKind.UPLOAD else "POST ")
    head += asked.path() + " HTTP/1.1\r\nHost: simulated\r\n"
    if is_last:
        head += "Connection: close\r\n"
    if asked.kind != AskedKind.UPLOAD:
        out.write_string(head + "\r\n")
        return
    if asked.expects_continue:
        head += "Expect: 100-continue\r\n"
    var content = content_of(asked.id, asked.length)
    if not asked.is_chunked:
        head += String("Content-Length: ", asked.length, "\r\n\r\n")
        out.write_string(head)
        out.append(Span(content))
        return
    out.write_string(head + "Transfer-Encoding: chunked\r\n\r\n")
    write_chunks(out, content, dice)


def write_chunks(mut out: Buffer, content: Span[UInt8, _], mut dice: Dice):
    """Writes content in chunks of any lengths, with the last one behind them."""
    var start = 0
    while start < len(content):
        var length = dice.between(1, len(content) - start)
        out.write_string(hex(length)[byte=2:] + String("\r\n"))
        out.append(content[start : start + length])
        out.write_string("\r\n")
        start += length
    out.write_string("0\r\n\r\n")
