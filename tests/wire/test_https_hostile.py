"""The HTTPS server against clients that mean no good."""

import random
import socket
import ssl
import struct
import time

import pytest
from conftest import read_all, wait_until
from https_client import TIMEOUT_S, HttpsClient, Sealer, trusting
from tls_records import ALERT, CHANGE_CIPHER_SPEC, HANDSHAKE, plain_record

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


def serves(server, certs) -> bool:
    with HttpsClient(server, trusting(certs)) as client:
        return client.get("/").body == b"OK"


@pytest.mark.parametrize(
    "octets",
    [
        REQUEST,
        b"GET / HTTP/1.0\r\n\r\n",
        b"POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n123",
        REQUEST * 1000,
        b"DELETE",
        b"G",
    ],
)
def test_plain_http_is_told(probe_tls, octets):
    with probe_tls.connect(TIMEOUT_S) as client:
        client.sendall(octets)
        client.shutdown(socket.SHUT_WR)
        answer = read_all(client)
    assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert b"\r\nConnection: close\r\n" in answer
    assert answer.endswith(b"use https://\n")


def test_plain_head_is_told_without_content(probe_tls):
    with probe_tls.connect(TIMEOUT_S) as client:
        client.sendall(b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
        client.shutdown(socket.SHUT_WR)
        answer = read_all(client)
    assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert answer.endswith(b"\r\n\r\n")


def test_garbage(probe_tls, certs):
    """Random octets, alone and behind the head of a record."""
    source = random.Random(1)
    for number in range(300):
        octets = source.randbytes(source.randrange(1, 600))
        if number % 3 == 1:
            octets = b"\x16\x03\x01" + struct.pack(">H", len(octets)) + octets
        elif number % 3 == 2:
            octets = bytes([source.randrange(20, 24), 3, 3]) + octets
        with probe_tls.connect(TIMEOUT_S) as client:
            client.sendall(octets)
            client.shutdown(socket.SHUT_WR)
            read_all(client)  # there is an end
    assert serves(probe_tls, certs)


UNEXPECTED, OVERSIZED = 10, 47


@pytest.mark.parametrize(
    ("octets", "alert"),
    [
        # A hello of 16 MiB is announced, and one that is sent and too long.
        (plain_record(HANDSHAKE, b"\1\xff\xff\xff\3\3" + bytes(1000)), OVERSIZED),
        (plain_record(HANDSHAKE, b"\1\2\2\0\3\3" + bytes(16_378)) * 9, OVERSIZED),
        (plain_record(HANDSHAKE, b"") * 40, UNEXPECTED),
        (plain_record(HANDSHAKE, bytes(16_384)) * 500, UNEXPECTED),
        (plain_record(CHANGE_CIPHER_SPEC, b"\1") * 10_000, UNEXPECTED),
        (plain_record(ALERT, b"\1\x5a") * 1_000, UNEXPECTED),
        (plain_record(ALERT, b"\1\0"), UNEXPECTED),
        (plain_record(23, b"x" * 100), UNEXPECTED),
        # A heartbeat that claims more than it has (CVE-2014-0160).
        (b"\x18\3\2\0\3\1\x40\0", UNEXPECTED),
        # A hello of SSL 2.
        (b"\x80\x2e\1\0\2\0\x15\0\0\0\x10" + bytes(60), 70),
    ],
)
def test_first_flights_that_are_none(probe_tls, certs, octets, alert):
    with probe_tls.connect() as sock:
        try:
            sock.sendall(octets)
        except ConnectionError:
            pass  # it has seen enough
        answer = read_all(sock)
    assert answer[:1] == b"\x15" and answer[-1] == alert, answer
    assert serves(probe_tls, certs)


def test_names_and_protocols_that_are_none(start_tls, certs):
    """A client may name anything: it gets an alert or the first certificate."""
    server = start_tls("good_chain", "wild", handshake_timeout_ms=200)
    context = trusting(certs)
    context.set_alpn_protocols(["http/1.1"])
    with server.connect() as sock:
        hello = Sealer(sock, context).hello()
    for name in [
        b"local\0ost", b"LOCALHOST", b"127.0.0.1", b"\xff" * 9, b"*.wild.te",
        b"." * 9, b"a b\r\nc:de", b"[::1]%\0\0\0",
    ]:
        with server.connect() as sock:
            assert len(name) == len("localhost")
            sock.sendall(hello.replace(b"localhost", name))
            assert read_all(sock)[:1] in (b"\x15", b"\x16"), name
    for protocols, alert in [
        (b"\x08http/1.0", 120),  # no_application_protocol (RFC 7301)
        (b"\x08" + bytes(8), 120),
        (b"\xffhttp/1.1", 50),
        (b"\x00http/1.1", 50),
        (b"\x07http/1.1", 50),
    ]:
        with server.connect() as sock:
            sock.sendall(hello.replace(b"\x08http/1.1", protocols))
            answer = read_all(sock)
        assert answer[:1] == b"\x15" and answer[-1] == alert, (protocols, answer)
    assert serves(server, certs)


def test_a_hello_in_records_of_one_octet(probe_tls, certs):
    with probe_tls.connect(TIMEOUT_S) as sock:
        sealer = Sealer(sock, trusting(certs))
        pieces = sealer.hello()[5:]
        sock.sendall(
            b"".join(plain_record(HANDSHAKE, bytes([x])) for x in pieces)
        )
        while not sealer.is_established:
            sock.sendall(sealer.answer())
        sock.sendall(sealer.seal(REQUEST))
        assert sealer.read(15) == b"HTTP/1.1 200 OK"


def test_clients_that_leave_within_the_handshake(start_tls, certs):
    """At any octet, by an end or a reset: nothing of them stays."""
    server = start_tls()
    with server.connect() as sock:
        hello = Sealer(sock, trusting(certs)).hello()
    for number in range(300):
        with server.connect() as sock:
            sock.sendall(hello[: len(hello) * number // 250])
            if number % 2:
                reset = struct.pack("ii", 1, 0)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
    assert wait_until(lambda: connection_count(server) == 0)
    assert serves(server, certs)


def test_spoilt_handshakes(probe_tls, certs):
    """One octet of a client's flights is changed."""
    source = random.Random(2)
    for number in range(200):
        with probe_tls.connect(TIMEOUT_S) as sock:
            sealer = Sealer(sock, trusting(certs))
            flight = bytearray(sealer.hello())
            if number % 2:
                sock.sendall(flight)
                flight = bytearray(sealer.answer())
            flight[source.randrange(len(flight))] ^= 1 << source.randrange(8)
            sock.sendall(flight)
            sock.shutdown(socket.SHUT_WR)
            read_all(sock)
    assert serves(probe_tls, certs)


def test_spoilt_record(probe_tls, certs):
    with probe_tls.connect(TIMEOUT_S) as sock:
        sealer = Sealer(sock, trusting(certs))
        sealer.shake()
        record = bytearray(sealer.seal(REQUEST))
        record[-1] ^= 1
        sock.sendall(record)
        with pytest.raises(ssl.SSLError, match="alert"):
            sealer.read_all()


def test_spoilt_record_behind_a_request(probe_tls, certs):
    with probe_tls.connect(TIMEOUT_S) as sock:
        sealer = Sealer(sock, trusting(certs))
        sealer.shake()
        good, bad = sealer.seal(REQUEST), bytearray(sealer.seal(REQUEST))
        bad[7] ^= 1
        sock.sendall(good + bytes(bad))
        with pytest.raises(ssl.SSLError, match="alert"):
            sealer.read_all()
    assert serves(probe_tls, certs)


def is_ended_within(sock, octets: bytes) -> bool:
    """Sends octet by octet; tells whether the server ends it before all is sent."""
    sock.settimeout(0.03)
    for octet in octets:
        try:
            sock.sendall(bytes([octet]))
            if not sock.recv(1000):
                return True
        except TimeoutError:
            pass
        except ConnectionError:
            return True
    return False


def test_handshake_deadline_is_a_total(start_tls, certs):
    server = start_tls(handshake_timeout_ms=300)
    began = time.monotonic()
    with server.connect() as silent, server.connect() as dripping:
        sealer = Sealer(dripping, trusting(certs))
        # Less than the time that a handshake has of itself.
        assert is_ended_within(dripping, sealer.hello()[:200])
        assert time.monotonic() - began > 0.25
        assert silent.recv(1) == b""


def test_head_deadline_begins_with_the_handshakes_end(start_tls, certs):
    server = start_tls(header_timeout_ms=300)
    with HttpsClient(server, trusting(certs)) as client:
        assert client.sock.recv(100) == b""
    with HttpsClient(server, trusting(certs)) as client:
        client.send(b"GET / HT")
        assert client.response().status == 408
        assert client.sock.recv(100) == b""


def test_idle_deadline_is_a_total(start_tls, certs):
    """Parts of a record do not prolong it."""
    server = start_tls(idle_timeout_ms=300)
    with server.connect() as sock:
        sealer = Sealer(sock, trusting(certs))
        sealer.shake()
        began = time.monotonic()
        sock.sendall(sealer.seal(REQUEST))
        sock.recv(1000)
        assert is_ended_within(sock, sealer.seal(b"x" * 16_000)[:1_000])
        assert time.monotonic() - began > 0.25


def test_body_deadline(start_tls, certs):
    server = start_tls(body_timeout_ms=300, min_body_rate=0)
    with HttpsClient(server, trusting(certs)) as client:
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n1")
        assert client.response().status == 408


def test_write_deadline(start_tls, certs):
    """A client that does not read is given up, without a false notice."""
    server = start_tls(write_timeout_ms=300)
    with server.connect() as sock:
        sealer = Sealer(sock, trusting(certs))
        sealer.shake()
        request = b"GET /size/30000000 HTTP/1.1\r\nHost: a\r\n\r\n"
        sock.sendall(sealer.seal(request))
        # It has ended when it does not let others wait for the worker's end.
        assert wait_until(lambda: connection_count(server) == 0)
        data, is_announced = b"", True
        try:
            data, is_announced = sealer.read_all()
        except ConnectionResetError:
            is_announced = False
        assert len(data) < 30_000_000 and not is_announced


def connection_count(server) -> int:
    """Counts the open connections of a process."""
    from pathlib import Path

    count = 0
    for link in Path(f"/proc/{server.process.pid}/fd").iterdir():
        try:
            count += str(link.readlink()).startswith("socket:")
        except OSError:
            pass
    return count - 1  # the listener


def test_vanishing_clients(probe_tls, certs):
    """Writing to a client that is gone ends no process (SIGPIPE)."""
    for number in range(20):
        with HttpsClient(probe_tls, trusting(certs)) as client:
            client.send(b"GET /size/3000000 HTTP/1.1\r\nHost: a\r\n\r\n" * 3)
            if number % 2:
                client.sock.recv(1000)
            reset = struct.pack("ii", 1, 0)
            client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
    assert probe_tls.is_alive() and serves(probe_tls, certs)


def test_too_many_connections(start_tls, certs):
    """Beyond the bound no handshake is paid for."""
    server = start_tls(max_connections=2)
    context = trusting(certs)
    with HttpsClient(server, context), HttpsClient(server, context):
        with server.connect() as third:
            assert third.recv(1) == b""
    assert wait_until(lambda: connection_count(server) == 0)
    assert serves(server, certs)


def test_key_updates_and_empty_records(probe_tls, certs):
    """A client that makes the server work for nothing is cut off."""
    with probe_tls.connect(TIMEOUT_S) as sock:
        sealer = Sealer(sock, trusting(certs, minimum_version="TLSv1_3"))
        sealer.shake()
        # Empty records cannot be made with this library; tiny ones can.
        sock.sendall(b"".join(sealer.seal(b"\r\n") for _ in range(20_000)))
        data, _ = sealer.read_all()
        assert b" 400 " in data.split(b"\r\n")[0]
    assert serves(probe_tls, certs)
