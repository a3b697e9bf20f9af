"""Decides whether a server's WebSocket echo is right."""

import base64
import hashlib
import os

from suite.gate import Client, Place, wrong_answer
from suite.workload import Workload

NAME = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455 section 1.3
BINARY = 0x82  # a whole message of octets


def wrong_reply(place: Place, workload: Workload) -> str | None:
    """Says what is wrong with a server's answer or echo, or gives None."""
    if not workload.message_len:
        return wrong_answer(place, workload)
    try:
        with Client(place, workload.tls) as client:
            return wrong_handshake(client, workload) or wrong_echo(client, workload.message_len)
    except (OSError, ValueError) as error:
        return str(error) or type(error).__name__


def wrong_handshake(client: Client, workload: Workload) -> str | None:
    """Makes the opening handshake (RFC 6455 section 4)."""
    key = base64.b64encode(os.urandom(16)).decode()
    client.send(
        (
            f"GET {workload.target} HTTP/1.1\r\nHost: bench\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n"
        ).encode()
    )
    answer = client.answer(has_body=False)
    wanted = base64.b64encode(hashlib.sha1((key + NAME).encode()).digest()).decode()
    if answer.status != 101:
        return f"its handshake is answered with {answer.status}, not 101"
    accepted = dict(answer.fields).get("sec-websocket-accept")
    return None if accepted == wanted else "its Sec-WebSocket-Accept is wrong"


def frame_head(length: int, mask_bit: int) -> bytes:
    """Writes the head of a frame up to its key (RFC 6455 section 5.2)."""
    if length < 126:
        return bytes([BINARY, length | mask_bit])
    size, code = (2, 126) if length < 65536 else (8, 127)
    return bytes([BINARY, code | mask_bit]) + length.to_bytes(size, "big")


def wrong_echo(client: Client, length: int) -> str | None:
    """Sends two messages of random octets, the first in two segments."""
    for is_cut in (True, False):
        payload, key = os.urandom(length), os.urandom(4)
        wide = int.from_bytes((key * (length // 4 + 1))[:length], "big")
        masked = (int.from_bytes(payload, "big") ^ wide).to_bytes(length, "big")
        frame = frame_head(length, 0x80) + key + masked
        cut = len(frame) // 2 if is_cut else 0
        client.send(*([frame[:cut], frame[cut:]] if is_cut else [frame]))
        wanted = frame_head(length, 0) + payload
        if client.octets_of(len(wanted)) != wanted:
            return f"its echo of {length} octets is not the message"
    return None
