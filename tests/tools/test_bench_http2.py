"""Which servers of HTTP/2 the gate lets in, and how h2load is called and read."""

import pytest
from small_server import Peer, answering
from suite.http2 import (
    ACK,
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    PING,
    PREFACE,
    SETTINGS,
    frame,
    h2load_command,
    lenient_http2,
    parse_h2load,
    upload_file,
    write_uploads,
    wrong_http2_protocol,
)
from suite.load import Load
from suite.metadata import Row
from suite.workload import Workload, of_row, upload_of

PLAIN = Workload("plain", "/", "", b"Hello", streams=1)
UPLOAD = Workload("up", "/upload", "", b"OK", data=b"u" * 9, connections=4, streams=16)
LOAD = Load(threads=1, connections=64, seconds=2, cpus=[])
SUMMARY = """
finished in 1.50s, 200.00 req/s, 1.00MB/s
requests: 304 total, 304 started, 303 done, 300 succeeded, 3 failed, 1 errored, 2 timeout
status codes: 300 2xx, 0 3xx, 1 4xx, 0 5xx
traffic: 1.43MB (1500000) total, 10B (10) headers (space savings 0.00%), 5B (5) data
"""


def speaking(fault: str = ""):
    """Makes a server of HTTP/2 that answers everything with one octet of content,
    or two with the fault of that name."""

    def answer(octets: bytes) -> tuple[bytes, bytes | None]:
        said = b""
        if octets.startswith(PREFACE):
            octets = octets[len(PREFACE) :]
            said = frame(SETTINGS, ACK if fault == "settings" else 0, 0)
        if PREFACE.startswith(octets):
            return said, octets
        while len(octets) >= 9 + int.from_bytes(octets[:3], "big"):
            length, kind = int.from_bytes(octets[:3], "big"), octets[3]
            payload = octets[9 : 9 + length]
            stream = int.from_bytes(octets[5:9], "big")
            said += one(kind, stream, payload)
            octets = octets[9 + length :]
        return said, octets

    def one(kind: int, stream: int, payload: bytes) -> bytes:
        if kind == SETTINGS:
            return frame(SETTINGS, ACK, 0)
        if kind == PING:
            return frame(PING, ACK, 0, payload[::-1] if fault == "ping" else payload)
        is_broken = kind != HEADERS or (fault != "lenient" and b"X-" in payload)
        if is_broken or (fault != "lenient" and b"connection" in payload):
            return b"" if fault == "lax" else frame(GOAWAY, 0, 0, bytes(8))
        head = frame(HEADERS, END_HEADERS, stream, b"\x88")
        if fault == "window":
            return head + frame(DATA, END_STREAM, stream, b"ab")
        return head + frame(DATA, 0, stream, b"a") + frame(DATA, END_STREAM, stream)

    return answer


def test_who_keeps_to_the_protocol_gets_in():
    with Peer(speaking()) as peer:
        assert wrong_http2_protocol(peer.place, False) is None
        assert lenient_http2(peer.place, False) == []


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("settings", "SETTINGS first"),
        ("ping", "PING is answered"),
        ("window", "no more content than the window"),
        ("lax", "it accepts DATA on stream 0"),
    ],
)
def test_who_breaks_a_rule_is_refused(fault, message):
    with Peer(speaking(fault)) as peer:
        assert wrong_http2_protocol(peer.place, False).startswith(message)


def test_what_a_server_lets_pass_is_told():
    with Peer(speaking("lenient")) as peer:
        assert len(lenient_http2(peer.place, False)) == 2


def test_who_does_not_speak_it_is_refused():
    with Peer(answering()) as peer:
        assert wrong_http2_protocol(peer.place, False).startswith("SETTINGS first")


def test_http2_has_rows_of_its_own():
    other = Workload("h1", "/", "plain.lua", b"", data=b"x")
    everything = [other, PLAIN, UPLOAD]
    for http2, own in [(True, [PLAIN, UPLOAD]), (False, [other])]:
        row = Row(None, "r", 1, [], http2=http2)
        assert of_row(everything, row) == own
        assert upload_of(everything, row) == own[-1]


def test_h2load_is_called_with_connections_and_streams():
    words = h2load_command(("h", 8), PLAIN, LOAD)
    assert words == ["h2load", "-D", "2", "-c", "64", "-m", "1", "-t", "1", "http://h:8/"]
    words = h2load_command(("h", 8), UPLOAD, LOAD)
    assert words[3:7] == ["-c", "4", "-m", "16"] and words[words.index("-d") + 1] == str(
        upload_file(UPLOAD)
    )
    write_uploads([PLAIN, UPLOAD])
    assert upload_file(UPLOAD).read_bytes() == b"u" * 9


def test_h2load_is_read():
    assert parse_h2load(SUMMARY) == {
        "requests": 300, "rps": 200.0, "bytes_per_s": 1e6,
        "errors": {"status": 1, "failed": 3, "timeout": 2},
    }
    with pytest.raises(ValueError, match="printed no summary: 'no'"):
        parse_h2load("no")
