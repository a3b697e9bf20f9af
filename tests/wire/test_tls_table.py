"""What a server of TLS may be and do, met by each kind of client: a row has one
outcome, which its rule gives.

Of a certificate that is refused the server learns nothing behind the handshake (RFC
9110 section 4.3.4), and the error says what was found and what to do.
"""

import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from tls_peers import (
    HTTP_WAYS, OK, WAYS, TlsPeer, dripping, saying, serving, showing, silent, way,
)  # fmt: skip

HOST = "localhost"


@dataclass
class Row:
    rule: str
    # The certificate, or what is done to a connection.
    peer: str | Callable
    # What the error says; empty where all is well.
    said: str = ""
    host: str = HOST
    # The name that the server is asked for; "" for what nobody looks at.
    name: str | None = ""
    ways: tuple = tuple(WAYS)
    # What a response has where the client reads one.
    body: str = "ok"


def alert(description: int) -> Callable:
    """Answers the first flight with a fatal alert (RFC 8446 section 6)."""
    return saying(bytes([21, 3, 3, 0, 2, 2, description]))


CERTIFICATES = {
    "a chain": Row("5280-6.1", "good_chain", name="localhost"),
    "an RSA key": Row("8446-9.1", "rsa"),
    "an address": Row("9525-6.5, 6066-3", "good_chain", host="127.0.0.1", name=None),
    "an address of IPv6": Row("9525-6.5, 6066-3", "good_chain", host="[::1]", name=None),
    "a name in capitals": Row("9525-6.3", "good_chain", host="LOCALHOST"),
    "expired": Row("5280-4.1.2.5", "expired", " expired at 2020-02-01"),
    "not yet valid": Row("5280-4.1.2.5", "early", " is not valid before 2040-01-01"),
    "for other names": Row("9110-4.3.4", "other", "the certificate is for other.test, 192.0.2.7"),
    "for another address": Row("9525-6.5", "other", "the certificate is for ", host="127.0.0.1"),
    "an address as a name": Row(
        # An IP address is looked for among addresses alone.
        "9525-6.5", "tricky", "the certificate is for ", host="127.0.0.1",
    ),
    "a common name alone": Row("9525-2", "nameless", "no host at all (it has no subjectAltName)"),
    "signed by itself": Row("5280-6.1", "self_signed", "is signed by itself"),
    "of a stranger": Row("5280-6.1", "strange_chain", "which is not trusted here"),
    "of a stranger who is not shown": Row("5280-6.1", "strange", "which is not trusted here"),
    "without its issuer": Row("8446-4.4.2", "good", "no certificate was sent of the issuer"),
    "for clients": Row("5280-4.2.1.12", "wrong_use", "does not verify: "),
    "too short a key": Row("spec 4, tls", "weak", "does not verify: "),
}  # fmt: skip

PEERS = {
    "plain HTTP": Row(
        "8446-5.1", saying(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"),
        "does it speak TLS from the start?",
    ),
    "a greeting": Row(
        "8446-5.1", saying(b"220 mail.test ESMTP\r\n", first=True),
        "does it speak TLS from the start?",
    ),
    "nothing, and the end": Row("8446-6.1", saying(b""), "the connection ended during the handshake"),
    "a part of a record": Row(
        "8446-6.1", saying(b"\x16\x03\x03\x00"), "the connection ended during the handshake",
    ),
    "another version": Row("8446-6.2 (70)", alert(70), "both sides must speak TLS 1.2 or 1.3"),
    "no suite": Row("8446-6.2 (40)", alert(40), "the peer must offer a suite"),
    "no protocol": Row("7301-3.2 (120)", alert(120), "offer a protocol that the peer speaks"),
    # RFC 8446 section 4.4.2.4 and what follows: this client has shown none.
    "an alert for certificates": Row("8446-6.2 (116)", alert(116), "the client must be given a certificate"),
    "silence": Row("spec 2, 3: finite deadlines", silent, " "),
    "a record that never ends": Row("spec 3: deadlines are totals", dripping, " "),
}  # fmt: skip

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"
UNTIL_CLOSE = b"HTTP/1.1 200 OK\r\n\r\nok"
CUT = " "
# RFC 9112 section 9.8.
ENDS = {
    f"{name}, {'a goodbye' if goodbye else 'no goodbye'}": Row(
        "9112-9.8", (octets, goodbye), "" if is_whole else CUT, ways=tuple(HTTP_WAYS),
    )
    for name, octets, whole in [
        ("a length", OK, (True, True)),
        ("less than the length", OK[:-1], (False, False)),
        ("chunks", CHUNKED + b"0\r\n\r\n", (True, True)),
        ("chunks without the last", CHUNKED, (False, False)),
        ("a trailer section that is cut", CHUNKED + b"0\r\nA: b\r\n", (False, False)),
        ("until close", UNTIL_CLOSE, (True, False)),
        ("until close, HTTP/1.0", UNTIL_CLOSE.replace(b"1.1", b"1.0"), (True, False)),
        ("a head that is cut", OK[:30], (False, False)),
        ("nothing", b"", (False, False)),
    ]
    for goodbye, is_whole in zip((True, False), whole)
}  # fmt: skip

ROWS = {
    f"{group}: {name}": row
    for group, rows in {
        "certificate": CERTIFICATES, "peer": PEERS, "end": ENDS,
    }.items()
    for name, row in rows.items()
}  # fmt: skip


@pytest.fixture(scope="module")
def table(certs):
    ways = {name: way(name, certs / "root.pem") for name in WAYS}
    with ThreadPoolExecutor(len(ways)) as pool:
        yield ways, pool
    for one in ways.values():
        one.close()


def run(certs, row: Row, name: str, one) -> str:
    """Has one client meet the row's server; says what is wrong, if anything is."""
    is_cut = isinstance(row.peer, tuple)
    treat = row.peer
    if isinstance(treat, str):
        treat = serving(showing(certs, treat))
    elif is_cut:
        treat = serving(showing(certs), *treat)
    peer = TlsPeer(treat)
    try:
        outcome = one.meet(row.host, peer.port)
    finally:
        peer.close()
    seen = peer.seen
    if row.said:
        if row.said not in outcome.text:
            return f"{outcome.text!r} has no {row.said!r}; read {outcome.body!r}"
        if seen.octets and not is_cut:
            return f"the server got {seen.octets!r}"
        return ""
    if not seen.octets:
        return f"the server got nothing: {outcome.text!r}"
    if name in HTTP_WAYS and (outcome.text or outcome.body != row.body):
        return f"{outcome}"
    if row.name != "" and set(seen.names) != {row.name}:
        return f"the server was asked for {seen.names}"
    return ""


@pytest.mark.parametrize("name", ROWS)
def test_all_kinds_of_client(table, certs, name):
    ways, pool = table
    row = ROWS[name]
    wanted = [one for one in WAYS if one in row.ways]
    found = pool.map(lambda one: run(certs, row, one, ways[one]), wanted)
    wrong = [f"{one}: {text}" for one, text in zip(wanted, found) if text]
    assert not wrong, f"RFC or rule {row.rule}:\n" + "\n".join(wrong)
