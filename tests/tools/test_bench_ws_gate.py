"""Which WebSocket echoes the gate lets in."""

import base64
import hashlib
import re

import pytest
from small_server import Peer, answering
from suite.workload import Workload
from suite.ws_gate import NAME, frame_head, wrong_reply

HEAD = b"HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: %s\r\n\r\n"
WORKLOADS = [Workload("ws", "/ws", "", b"", message_len=length) for length in (64, 1024, 65536)]


def echoing(fault: str = ""):
    """Makes a server that answers handshakes and sends frames back unmasked."""

    def answer(octets: bytes) -> tuple[bytes, bytes | None]:
        if octets.startswith(b"GET "):
            key = re.search(rb"Sec-WebSocket-Key: (\S+)", octets)[1]
            if fault == "key":
                key = b"another"
            accept = base64.b64encode(hashlib.sha1(key + NAME.encode()).digest())
            return HEAD % accept, b""
        code = octets[1] & 127 if len(octets) > 1 else 0
        count = {126: 4, 127: 10}.get(code, 2)
        length = int.from_bytes(octets[2:count], "big") if count > 2 else code
        if len(octets) < count + 4 + length:
            return b"", octets
        key, payload = octets[count : count + 4], octets[count + 4 :]
        plain = bytes(octet ^ key[at & 3] for at, octet in enumerate(payload))
        if fault == "payload":
            plain = plain[:-1] + bytes([plain[-1] ^ 1])
        return frame_head(length, 0) + plain, b""

    return answer


@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_right_echo_gets_in(workload):
    with Peer(echoing()) as peer:
        assert wrong_reply(peer.place, workload) is None


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("key", "its Sec-WebSocket-Accept is wrong"),
        ("payload", "its echo of 64 octets is not the message"),
    ],
)
def test_a_wrong_echo_is_refused(fault, message):
    with Peer(echoing(fault)) as peer:
        assert wrong_reply(peer.place, WORKLOADS[0]) == message


def test_who_does_not_speak_it_is_refused():
    with Peer(answering()) as peer:
        assert "answered with 404, not 101" in wrong_reply(peer.place, WORKLOADS[0])


def test_other_workloads_are_judged_by_their_answer():
    with Peer(answering()) as peer:
        plain = Workload("w", "/", "plain.lua", b"Hello", {"Content-Type": "a/b", "Content-Length": "5"})
        assert wrong_reply(peer.place, plain) is None
