"""Which servers the gate lets in, and why it keeps the others out."""

import pytest
from small_server import GOOD, Peer, answering
from suite import conformance
from suite.conformance import leniencies, smuggling, swallows, wrong_protocol
from suite.workload import Workload

FIELDS = {"Content-Type": "a/b"}
PLAIN = Workload("w", "/", "plain.lua", b"Hello", {**FIELDS, "Content-Length": "5"})
UPLOAD = Workload(
    "u", "/upload", "upload.lua", b"OK", {**FIELDS, "Content-Length": "2"}, data=b"data"
)


@pytest.fixture(autouse=True)
def quickly(monkeypatch):
    """Silence is no refusal, and need not be waited for here."""
    monkeypatch.setattr(conformance, "REFUSAL_S", 0.3)


def test_a_strict_server_gets_in():
    with Peer(answering()) as peer:
        assert wrong_protocol(peer.place, PLAIN, UPLOAD) is None
        assert leniencies(peer.place) == []


def test_a_lenient_server_gets_in_and_is_told_of():
    with Peer(answering("lenient")) as peer:
        assert wrong_protocol(peer.place, PLAIN, UPLOAD) is None
        assert leniencies(peer.place) == list(conformance.LENIENT)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("reversed", "pipelined requests (section 9.3.2)"),
        ("split", "a request in three segments"),
        ("HEAD", "HEAD (RFC 9110 section 9.3.2)"),
        ("chunks", "chunked content (section 7.1)"),
    ],
)
def test_a_wrong_server_is_refused(fault, message):
    with Peer(answering(fault)) as peer:
        assert message in wrong_protocol(peer.place, PLAIN, UPLOAD)


@pytest.mark.parametrize(
    ("fault", "way"),
    [
        ("length wins", "a length beside a coding counts (section 6.3)"),
        ("lengths", "two lengths (section 6.3)"),
        ("sizes", "a chunk size that is no number (section 7.1)"),
        ("ends", "a chunk longer than its size (section 7.1)"),
    ],
)
def test_a_server_open_to_smuggling_is_refused(fault, way):
    with Peer(answering(fault)) as peer:
        assert smuggling(peer.place).endswith(way)
        assert wrong_protocol(peer.place, PLAIN, UPLOAD).startswith("requests can be smuggled")


def test_a_server_that_obeys_the_coding_alone_hides_nothing():
    with Peer(answering("coding wins")) as peer:
        assert not swallows(peer.place)


def test_a_server_that_parses_nothing_does_not_pass_for_one_that_does():
    with Peer(lambda octets: (GOOD * octets.count(b"\r\n\r\n"), b"")) as peer:
        assert wrong_protocol(peer.place, PLAIN, UPLOAD) is not None
