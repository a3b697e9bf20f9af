"""WebSocket clients of the tests that say what a test wants, octet for octet."""

import struct

from conftest import Client

UPGRADE = (
    b"GET %s HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n%s\r\n"
)


def raw(server, query: bytes = b"", fields: bytes = b"") -> Client:
    client = Client(server)
    client.send(UPGRADE % (b"/ws?" + query, fields))
    response = client.response()
    assert response.status == 101, response.status
    return client


def frame(first: int, payload: bytes, key: bytes | None = b"mask") -> bytes:
    length, flag = len(payload), 0 if key is None else 0x80
    if length < 126:
        head = bytes([first, flag | length])
    elif length < 65536:
        head = bytes([first, flag | 126]) + struct.pack("!H", length)
    else:
        head = bytes([first, flag | 127]) + struct.pack("!Q", length)
    if key is None:
        return head + payload
    return head + key + bytes(octet ^ key[index % 4] for index, octet in enumerate(payload))
