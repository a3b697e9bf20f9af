"""Records that hold nothing, come without end, or stand where they must not,
against the client and the server: each ends by its deadline or by an alert."""

import ssl
import threading
import time
from pathlib import Path

import pytest
from conftest import wait_until
from https_client import TIMEOUT_S, HttpsClient, Sealer, trusting
from processes import descriptor_count, memory_len
from raw_server import Connection, Fetcher, RawServer, answering
from raw_ws import frame
from tls_records import (
    ALERT,
    CHANGE_CIPHER_SPEC,
    CLOSE_NOTIFY,
    HANDSHAKE,
    INTERNAL_ERROR,
    KEY_UPDATE,
    KEY_UPDATE_WANTED,
    USER_CANCELED,
    OldRecordSealer,
    RecordSealer,
    plain_record,
    ticket,
)
from websockets.utils import accept_key
from wire_programs import built

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
HEAD = b"HTTP/1.1 200 OK\r\n\r\n"
SIZED = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"
TICKETS = ticket() * 600
# When a server that has said all ends the connection, and what is long before that.
LATE_S = 12
SOON_S = 8
ENDLESS_S = 30
# A client that does not end a flood does not return: any bound shows that, and a
# busy machine needs a long one.


@pytest.fixture
def tls_peer(certs, tmp_path):
    """Starts servers that shake hands, read a request, and then send records
    of their own: tls_peer(lambda connection, sealer: ...)."""
    running = []

    def start(treat) -> RawServer:
        key_log = tmp_path / f"keys{len(running)}"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certs / "good_chain.pem", certs / "good.key")
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.num_tickets = 0
        context.keylog_filename = str(key_log)

        def handle(connection: Connection) -> None:
            connection.raw = connection.sock.dup()
            connection.raw.settimeout(20)
            stream = context.wrap_socket(connection.sock, server_side=True)
            connection.sock = stream
            connection.asked = connection.head()
            label = "SERVER_TRAFFIC_SECRET_0"
            sealer = RecordSealer.of(stream, key_log, label)
            treat(connection, sealer)

        running.append(RawServer(handle))
        running[-1].url = f"https://localhost:{running[-1].port}"
        return running[-1]

    yield start
    for server in running:
        server.close()


def endless(content: bytes, content_type: int, start: bytes = b""):
    """Sends the same content until nobody takes it."""

    def treat(connection: Connection, sealer: RecordSealer) -> None:
        if start:
            connection.raw.sendall(sealer.seal(start))
        while True:
            records = b""
            for _ in range(64):
                records += sealer.seal(content, content_type)
                if content in (KEY_UPDATE, KEY_UPDATE_WANTED):
                    sealer.update()
            connection.raw.sendall(records)

    return treat


def answered_soon(fetcher, certs, server) -> dict:
    """What the client says of a request to it, at once."""
    fetcher.client(ca_file=str(certs / "root.pem"))
    began = time.monotonic()
    answer = fetcher.get(server.url)
    assert time.monotonic() - began < SOON_S
    return answer


SWITCHING = (
    b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
    b"Upgrade: websocket\r\nSec-WebSocket-Accept: %s\r\n\r\n"
)
LATE = ("total", "Timeout")
REFUSED = ("read head", "TlsFailed")


@pytest.mark.unsanitized
@pytest.mark.parametrize(
    ("content", "content_type", "start", "outcomes"),
    [
        # OpenSSL ends some of them by itself: 32 empty records, 5 warnings.
        (b"", 23, b"", [REFUSED]),
        (b"", 23, HEAD, [("read body", "TlsFailed")]),
        (USER_CANCELED, ALERT, b"", [REFUSED]),
        (b"", HANDSHAKE, b"", [REFUSED]),
        (b"\1", CHANGE_CIPHER_SPEC, b"", [REFUSED]),
        (b"", 0, b"", [REFUSED]),
        # These may come at any time.
        (TICKETS, HANDSHAKE, b"", [LATE]),
        (TICKETS, HANDSHAKE, HEAD, [LATE]),
        (KEY_UPDATE, HANDSHAKE, b"", [LATE]),
        # Nobody reads the answers: they are bounded, too.
        (KEY_UPDATE_WANTED, HANDSHAKE, b"", [LATE, REFUSED]),
    ],
)
def test_the_client_ends_a_flood(
    fetcher_of_module, certs, tls_peer, content, content_type, start, outcomes
):
    server = tls_peer(endless(content, content_type, start))
    # Whose outcome is another has time for it, however slow the machine is.
    total_timeout_ms = 400 if LATE in outcomes else 15_000
    fetcher_of_module.client(
        ca_file=str(certs / "root.pem"), total_timeout_ms=total_timeout_ms
    )
    began = time.monotonic()
    answer = fetcher_of_module.get(server.url)
    assert (answer.get("phase"), answer.get("kind")) in outcomes, answer
    assert time.monotonic() - began < ENDLESS_S
    assert fetcher_of_module.memory_kib() < 120_000


def test_a_flood_keeps_no_other_request_waiting(fetcher, certs, tls_peer):
    def treat(connection, sealer):
        # Made before it is sent: the other server runs in this process, too.
        connection.raw.sendall(b"".join(sealer.seal(TICKETS, 22) for _ in range(500)))

    flood = tls_peer(treat)
    good = RawServer(answering(SIZED + b"0123456789"))
    fetcher.client(ca_file=str(certs / "root.pem"), total_timeout_ms=6_000)
    requests = [f'{{"url":"{flood.url}"}}'] + [f'{{"url":"{good.url}"}}'] * 3
    began = time.monotonic()
    answer = fetcher.ask(do="all", requests=requests, parallel=4)
    good.close()
    late, *others = answer["results"]
    assert (late["phase"], late["kind"]) == LATE, late
    assert [other.get("body") for other in others] == ["0123456789"] * 3, answer
    assert time.monotonic() - began < ENDLESS_S


def test_the_end_is_the_notice_not_that_of_the_connection(
    fetcher, certs, tls_peer
):
    """RFC 9112 section 9.8: close_notify ends a message without a length."""

    def treat(connection, sealer):
        records = sealer.seal(HEAD + b"all") + sealer.seal(CLOSE_NOTIFY, ALERT)
        # What stands behind it is not read.
        connection.raw.sendall(records + sealer.seal(b"more"))
        connection.raw.recv(1)
        time.sleep(LATE_S)

    answer = answered_soon(fetcher, certs, tls_peer(treat))
    assert answer.get("body") == "all" and answer["idle"] == 0, answer


def test_an_idle_connection_that_has_ended_is_not_used(
    fetcher, certs, tls_peer
):
    """Not even for POST, and though its socket is open (RFC 9110 section
    9.2.2: it is repeated by nobody)."""
    is_said = threading.Semaphore(0)

    def treat(connection, sealer):
        # Late tickets do it no harm; a notice does.
        records = sealer.seal(SIZED + b"0123456789")
        records += sealer.seal(ticket(), HANDSHAKE)
        connection.raw.sendall(records)
        is_said.release()
        if connection.head():
            connection.raw.sendall(sealer.seal(SIZED + b"and again!"))
            connection.raw.sendall(sealer.seal(CLOSE_NOTIFY, ALERT))
            is_said.release()
            connection.sock.recv(1)

    server = tls_peer(treat)
    fetcher.client(ca_file=str(certs / "root.pem"))
    bodies = []
    for _ in range(3):
        bodies.append(fetcher.get(server.url, method="POST").get("body"))
        assert is_said.acquire(timeout=10)
    assert bodies == ["0123456789", "and again!", "0123456789"]
    assert server.connection_count == 2


def test_a_post_is_sent_once(fetcher, certs, tls_peer):
    """GET is repeated when a used connection breaks; POST may have run."""

    def treat(connection, sealer):
        connection.raw.sendall(sealer.seal(SIZED + b"0123456789"))
        connection.head()
        # A reset, since what it sent was not all read.
        connection.raw.close()

    server = tls_peer(treat)
    fetcher.client(ca_file=str(certs / "root.pem"))
    assert fetcher.get(server.url)["body"] == "0123456789"
    assert fetcher.get(server.url)["body"] == "0123456789"
    assert server.connection_count == 2
    answer = fetcher.get(server.url, method="POST", octets="x" * 300_000)
    assert "phase" in answer and server.connection_count == 2, answer


@pytest.mark.parametrize(
    ("records", "phase", "kind"),
    [
        ([(SIZED + b"half", 23), (CLOSE_NOTIFY, ALERT)], "read body",
         "TruncatedResponse"),
        ([(CLOSE_NOTIFY, ALERT)], "read head", "NoResponse"),
        # A message of a handshake must not be cut by other records.
        ([(ticket()[:5], HANDSHAKE), (HEAD, 23)], "read head", "TlsFailed"),
        ([(KEY_UPDATE * 2, HANDSHAKE)], "read head", "TlsFailed"),
        ([(b"\x01\x00\x00\x00", HANDSHAKE)], "read head", "TlsFailed"),
        ([(b"x" * 16_385, 23)], "read head", "TlsFailed"),
        ([(b"\x02\x50", ALERT)], "read head", "TlsFailed"),
    ],
)
def test_bad_records(fetcher, certs, tls_peer, records, phase, kind):
    def treat(connection, sealer):
        for content, content_type in records:
            connection.raw.sendall(sealer.seal(content, content_type))
        connection.raw.recv(1)
        time.sleep(LATE_S)

    answer = answered_soon(fetcher, certs, tls_peer(treat))
    assert (answer.get("phase"), answer.get("kind")) == (phase, kind), answer


@pytest.mark.parametrize(
    ("start", "phase"), [(SIZED[:20], "read head"), (SIZED + b"half", "read body")]
)
def test_a_fatal_alert_in_the_same_read(
    fetcher, certs, tls_peer, start, phase
):
    """Nothing of the socket announces the alert a second time."""

    def treat(connection, sealer):
        records = sealer.seal(start) + sealer.seal(INTERNAL_ERROR, ALERT)
        connection.raw.sendall(records)
        connection.raw.recv(1)
        time.sleep(LATE_S)

    answer = answered_soon(fetcher, certs, tls_peer(treat))
    assert (answer.get("phase"), answer.get("kind")) == (phase, "TlsFailed")


def test_a_response_before_a_fatal_alert_is_good_and_the_last(
    fetcher, certs, tls_peer
):
    def treat(connection, sealer):
        records = sealer.seal(SIZED + b"0123456789")
        connection.raw.sendall(records + sealer.seal(INTERNAL_ERROR, ALERT))
        connection.raw.recv(1)

    answer = answered_soon(fetcher, certs, tls_peer(treat))
    assert answer.get("body") == "0123456789" and answer["idle"] == 0, answer


@pytest.mark.parametrize("part", [frame(0x81, b"hello", None), b"\x81\x05he"])
def test_a_fatal_alert_behind_a_frame_for_a_client(certs, tls_peer, part):
    """A message that came whole is given out, and then the failure; neither
    is waited for."""
    talker = Fetcher(built("talker", "clients"))

    def treat(connection, sealer):
        key = connection.asked.split("Sec-WebSocket-Key: ")[1].split("\r\n")[0]
        answer = SWITCHING % accept_key(key).encode()
        connection.raw.sendall(sealer.seal(answer))
        records = sealer.seal(part) + sealer.seal(INTERNAL_ERROR, ALERT)
        connection.raw.sendall(records)
        connection.raw.recv(1)
        time.sleep(LATE_S)

    url = tls_peer(treat).url.replace("https", "wss")
    talker.ask(do="connect", url=url, ca_file=str(certs / "root.pem"))
    began = time.monotonic()
    answers = [talker.ask(do="recv"), talker.ask(do="recv")]
    assert time.monotonic() - began < SOON_S
    kinds = [answer.get("kind") for answer in answers]
    assert answers[0].get("text") == "hello" or kinds[0] == "TlsFailed", answers
    assert "TlsFailed" in kinds, answers
    assert talker.close() == 0


def hello_requests(connection: Connection) -> None:
    """Asks for a handshake within the handshake, which a client is to pass
    over (RFC 5246 section 7.4.1.1), without end."""
    flood = plain_record(HANDSHAKE, bytes(16_384)) * 64
    while True:
        connection.send(flood)


def test_a_flood_within_the_handshake(fetcher, certs):
    server = RawServer(hello_requests)
    fetcher.client(ca_file=str(certs / "root.pem"), connect_timeout_ms=300)
    url = f"https://localhost:{server.port}"
    began = time.monotonic()
    answer = fetcher.get(url)
    assert (answer["phase"], answer["kind"]) == ("tls", "Timeout"), answer
    assert time.monotonic() - began < ENDLESS_S
    server.close()


def test_floods_end_the_reads_of_a_stream(tls_client, certs, tls_peer):
    """`TlsStream` looks at the clock though octets come all the time."""
    began = time.monotonic()
    port = RawServer(hello_requests).port
    lines = tls_client("127.0.0.1", port, timeout_ms=300, ca=certs / "root.pem")
    assert lines[0].startswith("HandshakeTimeout: "), lines
    port = tls_peer(endless(TICKETS, HANDSHAKE)).port
    options = {"ca": certs / "root.pem", "read_timeout_ms": 300}
    lines = tls_client("localhost", port, at="127.0.0.1", **options)
    assert lines[0].startswith("ConnectionFailed: "), lines
    assert "nothing of use within 300 ms" in lines[0], lines
    assert time.monotonic() - began < ENDLESS_S


@pytest.fixture
def sealing(certs, tmp_path):
    """Opens connections to a server, whose records the test seals itself."""
    opened = []

    def connect(server, version: str = "TLSv1_3"):
        context = trusting(
            certs, minimum_version=version, maximum_version=version
        )
        context.set_ciphers(OldRecordSealer.SUITE)
        context.keylog_filename = str(tmp_path / f"keys{len(opened)}")
        client = Sealer(server.connect(TIMEOUT_S), context)
        opened.append(client.sock)
        client.shake()
        log = Path(context.keylog_filename)
        if version == "TLSv1_2":
            return client, OldRecordSealer(log, client.heard)
        label = "CLIENT_TRAFFIC_SECRET_0"
        return client, RecordSealer.of(client.tls, log, label)

    yield connect
    for sock in opened:
        sock.close()


def serves(server, certs) -> bool:
    with HttpsClient(server, trusting(certs)) as client:
        return client.get("/").status == 200


def alert_of(client: Sealer) -> str:
    """Reads to the end; names the alert that came, or the notice."""
    try:
        _, is_announced = client.read_all()
        return "close_notify" if is_announced else "nothing"
    except ConnectionResetError:
        return "reset"
    except ssl.SSLError as error:
        return error.reason or str(error)


@pytest.mark.parametrize(
    ("records", "outcome"),
    [
        ([(b"", 23)] * 40, "UNEXPECTED_MESSAGE"),
        ([(USER_CANCELED, ALERT)] * 40, "UNEXPECTED_MESSAGE"),
        ([(b"", HANDSHAKE)], "UNEXPECTED_MESSAGE"),
        ([(b"\1", CHANGE_CIPHER_SPEC)], "UNEXPECTED_MESSAGE"),
        ([(b"", 0)], "UNEXPECTED_MESSAGE"),
        ([(b"x", 99)], "UNEXPECTED_MESSAGE"),
        ([(ticket(), HANDSHAKE)], "UNEXPECTED_MESSAGE"),
        ([(b"\x01\0\0\0", HANDSHAKE)], "UNEXPECTED_MESSAGE"),
        ([(KEY_UPDATE * 2, HANDSHAKE)], "UNEXPECTED_MESSAGE"),
        ([(b"\x18\0\0\x01\x02", HANDSHAKE)], "ILLEGAL_PARAMETER"),
        ([(KEY_UPDATE[:3], HANDSHAKE), (REQUEST, 23)], "UNEXPECTED_MESSAGE"),
        ([(b"x" * 16_385, 23)], "RECORD_OVERFLOW"),
        # A fatal alert of the client is not answered.
        ([(b"\x02\x50", ALERT)], "nothing"),
    ],
)
def test_the_server_answers_bad_records_with_an_alert(
    probe_tls, certs, sealing, records, outcome
):
    client, sealer = sealing(probe_tls)
    data = b"".join(sealer.seal(content, kind) for content, kind in records)
    client.sock.sendall(data)
    assert outcome in alert_of(client)
    assert serves(probe_tls, certs)


UPGRADE = (
    b"GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n"
    b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)
POST = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n"
VERSIONS = ["TLSv1_2", "TLSv1_3"]


def held_sockets(server, certs) -> int:
    """Counts the descriptors of a server that has served, and rests."""
    assert serves(server, certs)
    counts = [0, 1]
    assert wait_until(
        lambda: counts.append(descriptor_count(server.process.pid))
        or len(set(counts[-20:])) == 1
    )
    return counts[-1]


def ends_at_once(server, client: Sealer, before: int) -> bool:
    """Waits, far less than any phase lasts, until the server has closed: to
    end its own direction is not enough."""
    client.sock.settimeout(SOON_S)
    try:
        while client.sock.recv(65536):
            pass
    except ConnectionResetError:
        pass
    closed = wait_until(
        lambda: descriptor_count(server.process.pid) <= before, SOON_S
    )
    return closed and server.is_alive()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "good",
    [REQUEST[:20], REQUEST + REQUEST[:20], POST + b"abc", REQUEST, b"\r\n"],
)
def test_a_fatal_alert_behind_good_octets(
    start_tls, certs, sealing, version, good
):
    """8446-6.2, 5246-7.2.2: the connection is closed at once, also if all
    comes in one read and the rest of a request could be waited for."""
    server = start_tls(
        header_timeout_ms=60_000,
        body_timeout_ms=60_000,
        idle_timeout_ms=60_000,
        linger_timeout_ms=60_000,
    )
    before = held_sockets(server, certs)
    client, sealer = sealing(server, version)
    client.sock.sendall(sealer.seal(good) + sealer.seal(INTERNAL_ERROR, ALERT))
    assert ends_at_once(server, client, before)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_fatal_alert_behind_a_frame(start_tls, certs, sealing, version):
    server = start_tls(server="ws_server")
    before = held_sockets(server, certs)
    client, sealer = sealing(server, version)
    client.sock.sendall(sealer.seal(UPGRADE))
    assert b" 101 " in client.read(20)
    # A part of a message.
    records = sealer.seal(frame(0x01, b"x" * 40)[:30])
    client.sock.sendall(records + sealer.seal(INTERNAL_ERROR, ALERT))
    assert ends_at_once(server, client, before)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_broken_record_behind_good_octets(probe_tls, sealing, version):
    """What the server finds out itself it tells, and then closes."""
    client, sealer = sealing(probe_tls, version)
    good = sealer.seal(REQUEST[:20])
    broken = bytearray(sealer.seal(REQUEST[20:]))
    broken[-1] ^= 1
    client.sock.sendall(good + bytes(broken))
    assert "BAD_RECORD_MAC" in alert_of(client)


@pytest.mark.parametrize(
    "octets",
    [
        plain_record(23, REQUEST),
        plain_record(ALERT, CLOSE_NOTIFY),
        plain_record(HANDSHAKE, KEY_UPDATE),
        REQUEST,
    ],
)
def test_plain_octets_behind_the_handshake(probe_tls, sealing, octets):
    client, _ = sealing(probe_tls)
    client.sock.sendall(octets)
    assert alert_of(client) not in ("close_notify", "nothing")


def test_key_updates_between_requests(probe_tls, sealing):
    """Both kinds are taken, also within a request, and with padding."""
    client, sealer = sealing(probe_tls)
    data = sealer.seal(REQUEST[:20], padding=1_000)
    for update in (KEY_UPDATE, KEY_UPDATE_WANTED):
        data += sealer.seal(update, HANDSHAKE)
        sealer.update()
    data += sealer.seal(REQUEST[20:], padding=16_000)
    data += sealer.seal(REQUEST) + sealer.seal(CLOSE_NOTIFY, ALERT)
    # Behind the notice nothing counts.
    client.sock.sendall(data + sealer.seal(REQUEST))
    content, is_announced = client.read_all()
    assert content.count(b"HTTP/1.1 200 OK") == 2 and is_announced


@pytest.mark.parametrize("update", [KEY_UPDATE, KEY_UPDATE_WANTED])
def test_key_updates_without_end(start_tls, certs, sealing, update):
    """They do not prolong a deadline, keep others waiting, or grow."""
    server = start_tls(header_timeout_ms=400, write_timeout_ms=400)
    before = memory_len(server.process.pid, "VmRSS")
    client, sealer = sealing(server)
    client.sock.settimeout(1)
    began = time.monotonic()
    slowest = 0.0
    try:
        while time.monotonic() - began < ENDLESS_S:
            data = b""
            for _ in range(200):
                data += sealer.seal(update, HANDSHAKE)
                sealer.update()
            client.sock.sendall(data)
            asked = time.monotonic()
            assert serves(server, certs)
            slowest = max(slowest, time.monotonic() - asked)
    except (ConnectionError, TimeoutError):
        pass
    assert time.monotonic() - began < ENDLESS_S
    assert slowest < 10
    resident = memory_len(server.process.pid, "VmRSS")
    assert resident - before < 8_000_000
