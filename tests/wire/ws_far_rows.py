"""What a WebSocket server may send, and what our client makes of it by the rules: the
rows of `test_ws_table` whose server is `ws_far`."""

from test_ws_client import HOSTILE
from ws_far import BINARY, CLOSE, FIN, PING, PONG, RSV1, TEXT, FarRow, closing, unmasked
from ws_rows import LETTERS, SIZES, deflated

BYE = closing(1000)
# Which one depends on what carries it, and who tells of it.
GONE = ("WsClosed|ConnectionReset|StreamReset|TlsFailed", None, "")


def cut(payload: bytes, size: int, between: bytes = b"") -> bytes:
    pieces = [payload[at : at + size] for at in range(0, len(payload), size)]
    octets = unmasked(TEXT, pieces[0])
    for piece in pieces[1:]:
        octets += between + unmasked(0, piece)
    return octets + between + unmasked(FIN, b"")


def agreed(parameters: str, *hellos: bytes, **more) -> FarRow:
    """A server that agrees, says Hello, and gets two messages."""
    return FarRow(
        f"7692-7.1 {parameters}",
        b"".join(unmasked(FIN | RSV1 | TEXT, hello) for hello in hellos) + BYE,
        ["Hello"] * len(hellos),
        fields=f"Sec-WebSocket-Extensions: permessage-deflate{parameters}\r\n",
        says=["hello " * 50, "hello " * 50],
        **more,
    )


HELLO = b"\xf2\x48\xcd\xc9\xc9\x07\x00"
AGAIN = b"\xf2\x00\x11\x00\x00"
MESSAGES = [
    *[
        FarRow(f"5.2 binary of {size}", unmasked(FIN | BINARY, b"\xfe" * size) + BYE, [size])
        for size in SIZES
    ],
    *[
        FarRow(f"5.2 text of {size}", unmasked(FIN | TEXT, b"t" * size) + BYE, ["t" * size])
        for size in SIZES
    ],
    *[
        FarRow(f"5.4 text in pieces of {size}", cut(LETTERS, size) + BYE, [LETTERS.decode()])
        for size in range(1, len(LETTERS) + 1)
    ],
    FarRow(
        "5.5 pings between fragments",
        cut(LETTERS, 3, unmasked(PING, b"?")) + BYE,
        [LETTERS.decode()],
        got=[(PONG, b"?")] * 4,
    ),
    FarRow(
        "5.5.3 pongs that nobody asked for",
        unmasked(PONG, b"x") + cut(LETTERS, 3, unmasked(PONG, b"!")) + BYE,
        [LETTERS.decode()],
    ),
    FarRow(
        "5.4 empty fragments",
        unmasked(TEXT, b"") + unmasked(0, b"a") + unmasked(0, b"") + unmasked(FIN, b"b") + BYE,
        ["ab"],
    ),
    FarRow(
        "5.1 many at once",
        b"".join(unmasked(FIN | TEXT, b"%d" % n) for n in range(40)) + BYE,
        [str(n) for n in range(40)],
    ),
]
CODES = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999]
CLOSES = [
    *[
        FarRow(f"7.4.1 code {code}", closing(code, b"bye"), end=("WsClosed", code, "bye"), reply=code)
        for code in CODES
    ],
    FarRow("7.1.5 no code", unmasked(CLOSE, b""), end=("WsClosed", 1005, ""), reply=0),
    FarRow(
        "5.5.1 a reason of 123",
        closing(4000, b"r" * 123),
        end=("WsClosed", 4000, "r" * 123),
        reply=4000,
    ),
    FarRow(
        "5.4 a close within fragments",
        unmasked(TEXT, b"x") + closing(4000),
        end=("WsClosed", 4000, ""),
        reply=4000,
    ),
    FarRow(
        "5.5.1 nothing counts behind a close",
        closing(4000) + unmasked(0x83, b"") * 3,
        end=("WsClosed", 4000, ""),
        reply=4000,
    ),
    FarRow("7.1.2 the client closes", closes=(4001, "enough"), end=("", 4001, ""), reply=4001),
    FarRow(
        "7.1.2 the client closes while messages come",
        unmasked(FIN | TEXT, b"x") * 5,
        closes=(4001, "enough"),
        end=("", 4001, ""),
        reply=4001,
    ),
    FarRow(
        "7.1.2 both close at once",
        closing(4002, b"mine"),
        closes=(4001, "enough"),
        end=("", 4002, ""),
        reply=4001,
    ),
    FarRow(
        "7.1.5 the close frame and the end at once",
        closing(4002, b"mine"),
        end=("WsClosed", 4002, "mine"),
        reply=None,
        then="end",
    ),
]
ENDS = [
    FarRow("7.1.5 the end", then="end", end=("WsClosed", 1006, ""), reply=None),
    FarRow("7.1.5 the end behind a message", unmasked(FIN | TEXT, b"x"), ["x"],
           then="end", end=("WsClosed", 1006, ""), reply=None),
    FarRow("7.1.5 the end within a header", b"\x81", then="end", end=("WsClosed", 1006, ""), reply=None),
    FarRow("7.1.5 the end within a payload", b"\x81\x05hel", then="end",
           end=("WsClosed", 1006, ""), reply=None),
    FarRow("7.1.5 the end between fragments", b"\x01\x01a", then="end",
           end=("WsClosed", 1006, ""), reply=None),
    FarRow("7.1.7 a reset", then="reset", end=GONE, reply=None),
    FarRow("7.1.7 a reset within a payload", b"\x81\x05hel", then="reset", end=GONE, reply=None),
]  # fmt: skip
BROKEN = [
    FarRow(
        rule, octets, end=("WsProtocolBroken", code, None), reply=code,
        config={"max_frame_size": 1 << 20},
    )
    for rule, octets, code in HOSTILE
]  # fmt: skip
SQUEEZED = [
    agreed("", HELLO, AGAIN, HELLO),
    agreed("; server_no_context_takeover", HELLO, HELLO),
    agreed("; client_no_context_takeover", HELLO, AGAIN),
    agreed("; server_max_window_bits=10", HELLO, AGAIN),
    agreed("; server_max_window_bits=8", HELLO, AGAIN),
    agreed("; client_max_window_bits=9", HELLO, AGAIN),
    agreed("; client_max_window_bits=8", HELLO, AGAIN),
    agreed('; client_max_window_bits="12"; server_no_context_takeover', HELLO, HELLO),
    FarRow(
        "7692-7.2.3.6 an empty message, and a fragment of nothing",
        unmasked(FIN | RSV1 | TEXT, b"\0") + unmasked(RSV1 | TEXT, deflated(b"Hello"))
        + unmasked(FIN, b"") + BYE,
        ["", "Hello"],
        fields="Sec-WebSocket-Extensions: permessage-deflate\r\n",
    ),
    FarRow(
        "7692-6.1 RSV1 on a later fragment",
        unmasked(RSV1 | TEXT, HELLO[:3]) + unmasked(FIN | RSV1, HELLO[3:]),
        end=("WsProtocolBroken", 1002, None),
        reply=1002,
        fields="Sec-WebSocket-Extensions: permessage-deflate\r\n",
    ),
    FarRow(
        "7692-7.2.2 no deflate stream",
        unmasked(FIN | RSV1 | TEXT, b"\xff" * 50),
        end=("WsProtocolBroken", 1007, None),
        reply=1007,
        fields="Sec-WebSocket-Extensions: permessage-deflate\r\n",
    ),
]  # fmt: skip
# What a server must not agree to: RFC 7692 section 7.1, RFC 6455 section 4.1.
REFUSED = [
    f"Sec-WebSocket-Extensions: {value}\r\n"
    for value in (
        "permessage-deflate; nobody_knows",
        "permessage-deflate; client_max_window_bits",
        "permessage-deflate; client_max_window_bits=16",
        "permessage-deflate; server_max_window_bits=7",
        "permessage-deflate; server_max_window_bits=010",
        "permessage-deflate; server_no_context_takeover=1",
        "permessage-deflate; server_no_context_takeover; server_no_context_takeover",
        "permessage-snappy",
        "permessage-deflate, permessage-deflate",
        "permessage-deflate; =1",
    )
] + ["Sec-WebSocket-Protocol: nobody.asked\r\n"]
FAR_ROWS = MESSAGES + CLOSES + ENDS + BROKEN + SQUEEZED
