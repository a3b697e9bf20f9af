"""HTTP/2 as curl speaks it: by ALPN, with prior knowledge, and not if the server
is not to (RFC 9113 section 3)."""

import socket
import ssl
import subprocess

import pytest

CURL = ["curl", "-s", "--max-time", "10"]
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
EMPTY_SETTINGS = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
SETTINGS, GOAWAY = 4, 7


def curl(*arguments: str, stdin: bytes = b"") -> bytes:
    """What curl prints."""
    return subprocess.run(
        [*CURL, *arguments], input=stdin, capture_output=True, check=True
    ).stdout


def frames(octets: bytes) -> list[tuple[int, int, bytes]]:
    """Type, stream and payload of each whole frame."""
    found = []
    while len(octets) >= 9:
        length = int.from_bytes(octets[:3])
        stream = int.from_bytes(octets[5:9]) & 0x7FFFFFFF
        found.append((octets[3], stream, octets[9 : 9 + length]))
        octets = octets[9 + length :]
    return found


def read_to_end(sock: socket.socket) -> bytes:
    octets = b""
    while more := sock.recv(65536):
        octets += more
    return octets


def test_prior_knowledge_in_clear_text(probe):
    got = curl("--http2-prior-knowledge", "-w", "%{http_version}", probe.url)
    assert got.endswith(b"2")


def test_the_order_of_the_server_decides(probe_tls):
    # RFC 7301 section 3.2.
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["http/1.1", "h2"])
    with context.wrap_socket(probe_tls.connect()) as sock:
        assert sock.selected_alpn_protocol() == "h2"


@pytest.mark.parametrize("option, version", [("--http2", b"2"), ("--http1.1", b"1.1")])
def test_alpn(probe_tls, option, version):
    url = f"https://127.0.0.1:{probe_tls.port}/"
    got = curl("-k", option, "-o", "/dev/null", "-w", "%{http_version}", url)
    assert got == version


def test_one_connection_carries_many_requests(probe_tls):
    sizes = (0, 1, 1000, 100_000, 7)
    transfers = []
    for size in sizes:
        url = f"https://127.0.0.1:{probe_tls.port}/size/{size}"
        transfers += [url, "-o", "/dev/null"]
    got = curl("-k", "-Z", "-w", "%{size_download} %{num_connects}\n", *transfers)
    rows = [tuple(map(int, line.split())) for line in got.splitlines()]
    assert sorted(size for size, _ in rows) == sorted(sizes)
    assert sum(connects for _, connects in rows) == 1


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 1_000_000])
def test_content_goes_both_ways(probe, size):
    content = b"x" * size
    got = curl(
        "--http2-prior-knowledge", "--data-binary", "@-", probe.url,
        stdin=content,
    )
    assert got == content


def test_head_has_the_length_and_no_content(probe):
    got = curl("--http2-prior-knowledge", "-I", f"{probe.url}/size/1000")
    assert b"content-length: 1000\r\n" in got.lower()
    assert got.startswith(b"HTTP/2 200")


def test_the_preface_may_come_in_pieces(probe):
    """RFC 9113 section 3.4: wherever TCP cuts it."""
    for cut in range(1, len(PREFACE)):
        with probe.connect() as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.sendall(PREFACE[:cut])
            # What one worker answers here, it has read there.
            assert curl(probe.url + "/")
            sock.sendall(PREFACE[cut:] + EMPTY_SETTINGS)
            head = sock.recv(9)
            assert head[3:] == bytes([SETTINGS, 0, 0, 0, 0, 0]), (cut, head)


def test_switched_off_it_is_not_spoken(start, start_tls):
    plain = start(http2=0)
    with plain.connect() as sock:
        sock.sendall(PREFACE + EMPTY_SETTINGS)
        assert read_to_end(sock).startswith(b"HTTP/1.1 505 ")
    sealed = start_tls(http2=0)
    url = f"https://127.0.0.1:{sealed.port}/"
    got = curl("-k", "--http2", "-o", "/dev/null", "-w", "%{http_version}", url)
    assert got == b"1.1"


def test_what_agreed_on_http2_must_speak_it(probe_tls):
    # RFC 9113 section 3.4: an invalid preface is a connection error.
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    with context.wrap_socket(probe_tls.connect()) as sock:
        assert sock.selected_alpn_protocol() == "h2"
        sock.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        last = frames(read_to_end(sock))[-1]
    assert last[0] == GOAWAY
    assert int.from_bytes(last[2][4:8]) == 1  # PROTOCOL_ERROR
