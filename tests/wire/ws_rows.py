"""What a client of a WebSocket may send, and what the rules say comes of it: the
rows of `test_ws_table`. The server echoes."""

import os
import struct
from dataclasses import dataclass, field

from raw_ws import frame
from test_ws_hostile import COMPRESSED, ROWS, closing, deflated

TEXT, BINARY, FIN, RSV1 = 1, 2, 0x80, 0x40
CLOSE, PING, PONG = 0x88, 0x89, 0x8A
DEFLATE = [("Sec-WebSocket-Extensions", "permessage-deflate")]
BYE = closing(1000)
OCTETS = os.urandom(70_000)
# Characters of one to four octets.
LETTERS = "aä€\U0001f4a9z".encode()


@dataclass
class Row:
    """What is sent, and what comes back up to the end."""

    rule: str
    sends: bytes
    # The server's frames before its close frame.
    frames: list[tuple[int, bytes]] = field(default_factory=list)
    # The close frame's payload; None for no such frame, a number for its code alone.
    close: bytes | int | None = b"\x03\xe8"
    # What the handler is told at the end (section 7.1.5).
    heard: int = 1000
    fields: list = field(default_factory=list)
    query: str = ""
    # What follows what is sent: nothing, the end of the direction, or a reset.
    then: str = ""
    # Whether the ends are those of one connection: an upstream of HTTP/1.1 that is
    # told of the end is not heard any more (RFC 9110 section 9.3.6).
    is_one_way: bool = False


def echoed(name: str, first: int, payload: bytes) -> Row:
    return Row(name, frame(first, payload) + BYE, [(first, payload)])


def cut(payload: bytes, size: int, kind: int = TEXT, between: bytes = b"") -> bytes:
    """A message in fragments, with other frames between them."""
    pieces = [payload[at : at + size] for at in range(0, len(payload), size)] or [b""]
    octets = frame(kind, pieces[0])
    for piece in pieces[1:]:
        octets += between + frame(0, piece)
    return octets + between + frame(FIN, b"")


SIZES = [0, 1, 2, 124, 125, 126, 127, 128, 65_534, 65_535, 65_536, 65_537]
MESSAGES = [
    *[echoed(f"5.2 binary of {size}", FIN | BINARY, OCTETS[:size]) for size in SIZES],
    *[echoed(f"5.2 text of {size}", FIN | TEXT, b"t" * size) for size in SIZES],
    *[
        Row(f"5.4 text in pieces of {size}", cut(LETTERS, size) + BYE, [(FIN | TEXT, LETTERS)])
        for size in range(1, len(LETTERS) + 1)
    ],
    Row(
        "5.4 binary in pieces of 7",
        cut(OCTETS[:1_000], 7, BINARY) + BYE,
        [(FIN | BINARY, OCTETS[:1_000])],
    ),
    Row("5.4 nothing in pieces", cut(b"", 1) + BYE, [(FIN | TEXT, b"")]),
    Row(
        "5.4 empty pieces among others",
        frame(TEXT, b"") + frame(0, b"a") + frame(0, b"") + frame(0, b"b") + frame(FIN, b"") + BYE,
        [(FIN | TEXT, b"ab")],
    ),
    Row(
        "5.5 pings between fragments",
        cut(LETTERS, 3, between=frame(PING, b"?")) + BYE,
        [(PONG, b"?")] * 4 + [(FIN | TEXT, LETTERS)],
    ),
    Row(
        "5.5.3 a pong that nobody asked for, between fragments",
        cut(LETTERS, 3, between=frame(PONG, b"!")) + BYE,
        [(FIN | TEXT, LETTERS)],
    ),
    Row("5.5.2 a ping of 125", frame(PING, b"p" * 125) + BYE, [(PONG, b"p" * 125)]),
    Row("5.5.2 an empty ping", frame(PING, b"") + BYE, [(PONG, b"")]),
    Row(
        "5.5.2 a ping and the close at once",
        frame(PING, b"p") + frame(FIN | TEXT, b"x") + BYE,
        [(PONG, b"p"), (FIN | TEXT, b"x")],
    ),
    Row(
        "5.1 many short ones at once",
        b"".join(frame(FIN | TEXT, b"%d" % n) for n in range(300)) + BYE,
        [(FIN | TEXT, b"%d" % n) for n in range(300)],
    ),
    Row(
        "5.3 each frame has its own key",
        frame(TEXT, b"ab", b"\0\0\0\0") + frame(FIN, b"cd", b"\xff\x01\x02\x03") + BYE,
        [(FIN | TEXT, b"abcd")],
    ),
]

CLOSES = [
    Row("5.5.1 a close within fragments", frame(TEXT, b"x") + BYE),
    Row("5.5.1 a reason of 123", closing(3000, b"r" * 123), close=b"\x0b\xb8", heard=3000),
    Row("5.5.1 without a code", frame(CLOSE, b""), close=b"", heard=1005),
    Row(
        "7.1.2 both close: the server has the last word of its own",
        frame(FIN | TEXT, b"close") + closing(3001),
        close=struct.pack("!H", 4001) + b"as you say",
        heard=3001,
    ),
    Row(
        "1.4 what follows the server's close frame is not answered",
        frame(FIN | TEXT, b"close") + frame(FIN | TEXT, b"x") + frame(PING, b"p") + closing(4001),
        close=struct.pack("!H", 4001) + b"as you say",
        heard=4001,
    ),
    Row(
        "7.4.1 a handler that fails",
        frame(FIN | TEXT, b"fail") + frame(FIN | TEXT, b"x") + closing(1000),
        close=struct.pack("!H", 1011),
        heard=1000,
    ),
]

ENDS = [
    Row("7.1.5 the end", frame(FIN | TEXT, b"x"), [(FIN | TEXT, b"x")], None, 1006, then="end",
        is_one_way=True),
    Row("7.1.5 the end within a header", b"\x81", [], None, 1006, then="end"),
    Row("7.1.5 the end within a key", b"\x81\x85ab", [], None, 1006, then="end"),
    Row("7.1.5 the end within a payload", frame(FIN | TEXT, b"hello")[:-1], [], None, 1006, then="end"),
    Row("7.1.5 the end between fragments", frame(TEXT, b"hello"), [], None, 1006, then="end"),
    Row("7.1.5 a reset", frame(FIN | TEXT, b"close"), [], None, 1006, then="reset"),
    Row(
        "7.1.1 the end right behind the goodbye",
        frame(FIN | TEXT, b"x") + closing(3002),
        [(FIN | TEXT, b"x")],
        struct.pack("!H", 3002),
        3002,
        then="end",
        is_one_way=True,
    ),
]  # fmt: skip

# What is a message before it is said what is wrong.
WHOLE_BEFORE = {"5.4 continues what is complete": [(FIN | TEXT, b"x")]}
BROKEN = [
    Row(rule, octets, WHOLE_BEFORE.get(rule, []), close=code, heard=1006)
    for rule, octets, code in ROWS
    # The same are above, whole.
    if code not in (None, 1000, 1001, 1003, 1011, 3000, 4999)
] + [
    Row(rule, octets, close=code, heard=1006, fields=DEFLATE)
    for rule, octets, code in COMPRESSED
    if "bomb" not in rule
]

SQUEEZED = [
    Row(
        "7692-7.2.3.6 an empty message",
        frame(FIN | RSV1 | TEXT, b"\0") + BYE,
        [(FIN | TEXT, b"")],
        fields=DEFLATE,
    ),
    Row(
        "7692-7.2.3.1 a message from the RFC",
        frame(FIN | RSV1 | TEXT, b"\xf2\x48\xcd\xc9\xc9\x07\x00") + BYE,
        [(FIN | TEXT, b"Hello")],
        fields=DEFLATE,
    ),
    Row(
        "7692-7.2.3.1 the same in two fragments",
        frame(RSV1 | TEXT, b"\xf2\x48\xcd") + frame(FIN, b"\xc9\xc9\x07\x00") + BYE,
        [(FIN | TEXT, b"Hello")],
        fields=DEFLATE,
    ),
    Row(
        "7692-7.2.3.2 with what came before",
        frame(FIN | RSV1 | TEXT, b"\xf2\x48\xcd\xc9\xc9\x07\x00")
        + frame(FIN | RSV1 | TEXT, b"\xf2\x00\x11\x00\x00") + BYE,
        [(FIN | TEXT, b"Hello")] * 2,
        fields=DEFLATE,
    ),
    Row(
        "7692-7.2.3.3 a block without compression",
        frame(FIN | RSV1 | TEXT, b"\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00") + BYE,
        [(FIN | TEXT, b"Hello")],
        fields=DEFLATE,
    ),
    Row(
        "7692-7.2.3.4 a block that says it is the last",
        frame(FIN | RSV1 | TEXT, b"\xf3\x48\xcd\xc9\xc9\x07\x00\x00") + BYE,
        [(FIN | TEXT, b"Hello")],
        fields=DEFLATE,
    ),
    Row(
        "7692-7.2.3.5 two blocks in one message",
        frame(FIN | RSV1 | TEXT, b"\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00") + BYE,
        [(FIN | TEXT, b"Hello")],
        fields=DEFLATE,
    ),
    Row(
        "7692-6 plain among compressed ones, with pings between fragments",
        frame(RSV1 | TEXT, b"\xf2\x48\xcd") + frame(PING, b"p") + frame(FIN, b"\xc9\xc9\x07\x00")
        + frame(FIN | TEXT, b"plain") + BYE,
        [(PONG, b"p"), (FIN | TEXT, b"Hello"), (FIN | TEXT, b"plain")],
        fields=DEFLATE,
    ),
    Row(
        "7692-6.2 the end of a compressed message is a fragment of nothing",
        frame(RSV1 | TEXT, deflated(b"Hello")) + frame(0, b"") + frame(FIN, b"") + BYE,
        [(FIN | TEXT, b"Hello")],
        fields=DEFLATE,
    ),
]

SERVER_ROWS = MESSAGES + CLOSES + ENDS + BROKEN + SQUEEZED

# RFC 7692 section 7.1: what a client offers, and what may be answered: each
# parameter by its name, with the greatest value; None for no agreement.
ANY = {"client_no_context_takeover", "server_no_context_takeover"}
OFFERS = [
    ("permessage-deflate", {}),
    ("permessage-deflate; server_no_context_takeover", {"server_no_context_takeover": ""}),
    ("permessage-deflate; client_no_context_takeover", {}),
    ("permessage-deflate; server_max_window_bits=10", {"server_max_window_bits": 10}),
    ("permessage-deflate; server_max_window_bits=15", {"server_max_window_bits": 15}),
    ("permessage-deflate; server_max_window_bits=8", {"server_max_window_bits": 8}),
    ('permessage-deflate; server_max_window_bits="9"', {"server_max_window_bits": 9}),
    ("permessage-deflate; client_max_window_bits", {}),
    ("permessage-deflate; client_max_window_bits=9", {}),
    ("permessage-deflate; client_max_window_bits=15", {}),
    (
        "permessage-deflate; server_no_context_takeover; client_no_context_takeover; "
        "server_max_window_bits=12; client_max_window_bits=12",
        {"server_no_context_takeover": "", "server_max_window_bits": 12},
    ),
    ("permessage-deflate; server_max_window_bits", None),
    ("permessage-deflate; server_max_window_bits=7", None),
    ("permessage-deflate; server_max_window_bits=16", None),
    ("permessage-deflate; server_max_window_bits=010", None),
    ("permessage-deflate; client_max_window_bits=16", None),
    ("permessage-deflate; client_max_window_bits=", "bad"),
    ("permessage-deflate; client_no_context_takeover=1", None),
    ("permessage-deflate; server_no_context_takeover; server_no_context_takeover", None),
    ("permessage-deflate; nobody_knows", None),
    ("permessage-snappy", None),
    ("permessage-deflate; nobody_knows, permessage-deflate", {}),
    ("x-other, permessage-deflate; server_max_window_bits=11", {"server_max_window_bits": 11}),
    ("permessage-deflate;", "bad"),
    ("permessage-deflate; =1", "bad"),
]
