"""14. Frames where they must not be: pushed, on stream 0, on idle and closed streams,
behind the end; padding longer than the frame; a stream that depends on itself."""

from attack import Case, Ends, Resets
from h2_client import (
    CONTINUATION, DATA, END_HEADERS, END_STREAM, HAS_PRIORITY, HEADERS, PADDED, PING,
    PRIORITY, PROTOCOL_ERROR, PUSH_PROMISE, RST_STREAM, SETTINGS, STREAM_CLOSED,
    H2Client, frame, window_update,
)  # fmt: skip
from h2_hpack import encode

REQUEST = encode([(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "t")])
WHOLE = END_HEADERS | END_STREAM


def sent(*octets: bytes, code: int = PROTOCOL_ERROR, opens: int = 0):
    def act(client: H2Client) -> None:
        for _ in range(opens):
            client.request("/silence")
        client.send(b"".join(octets))
        client.next_id = 7

    return Case(act, Ends(code))


def behind_the_end(octets: bytes):
    """On a stream that is answered, and closed."""

    def act(client: H2Client) -> None:
        assert client.get("/").status == 200
        client.send(octets)

    return Case(act, Ends(STREAM_CLOSED))


def trailers_that_end_nothing(client: H2Client) -> int:
    stream = client.request("/", "POST", ends=False)
    client.headers(encode([("x", "y")]), False, stream)
    return stream


def itself(client: H2Client) -> int:
    stream, client.next_id = client.next_id, client.next_id + 2
    payload = stream.to_bytes(4) + b"\x10" + REQUEST
    client.send(frame(HEADERS, WHOLE | HAS_PRIORITY, stream, payload))
    return stream


def behind_its_end(kind: int, payload: bytes):
    def act(client: H2Client) -> int:
        stream = client.request("/silence")
        client.send(frame(kind, WHOLE, stream, payload))
        return stream

    return Case(act, Resets(STREAM_CLOSED))


CASES = {
    "PUSH_PROMISE": sent(frame(PUSH_PROMISE, END_HEADERS, 1, bytes(4) + REQUEST), opens=1),
    "DATA on stream 0": sent(frame(DATA, 0, 0, b"x")),
    "HEADERS on stream 0": sent(frame(HEADERS, WHOLE, 0, REQUEST)),
    "RST_STREAM on stream 0": sent(frame(RST_STREAM, 0, 0, bytes(4))),
    "SETTINGS on a stream": sent(frame(SETTINGS, 0, 1), opens=1),
    "PING on a stream": sent(frame(PING, 0, 1, bytes(8)), opens=1),
    "DATA on an idle stream": sent(frame(DATA, 0, 1, b"x")),
    "RST_STREAM on an idle stream": sent(frame(RST_STREAM, 0, 1, bytes(4))),
    "WINDOW_UPDATE on an idle stream": sent(window_update(1, 1)),
    "HEADERS on an even stream": sent(frame(HEADERS, WHOLE, 2, REQUEST)),
    "HEADERS on a smaller stream": sent(frame(HEADERS, WHOLE, 5, REQUEST), frame(HEADERS, WHOLE, 3, REQUEST)),
    "CONTINUATION of nothing": sent(frame(CONTINUATION, END_HEADERS, 1, b""), opens=1),
    "another frame within a block": sent(frame(HEADERS, END_STREAM, 1, REQUEST), frame(PING, 0, 0, bytes(8))),
    "padding longer than DATA": sent(frame(DATA, PADDED, 1, b"\x08abc"), opens=1),
    "padding longer than HEADERS": sent(frame(HEADERS, WHOLE | PADDED, 1, b"\xff" + REQUEST[:20])),
    "DATA behind the end, answered": behind_the_end(frame(DATA, END_STREAM, 1, b"x")),
    "HEADERS behind the end, answered": behind_the_end(frame(HEADERS, WHOLE, 1, REQUEST)),
    "DATA behind the end": behind_its_end(DATA, b"12345"),
    "HEADERS behind the end": behind_its_end(HEADERS, encode([("x", "y")])),
    "trailers that end nothing": Case(trailers_that_end_nothing, Resets(PROTOCOL_ERROR)),
    "a stream that depends on itself": Case(itself, Resets(PROTOCOL_ERROR)),
    "PRIORITY on itself": Case(lambda c: (s := c.request("/silence"), c.send(frame(PRIORITY, 0, s, s.to_bytes(4) + b"\0")))[0], Resets(PROTOCOL_ERROR)),
}
