"""How the benchmark takes answers apart, and compares them with the workload file."""

import socket
from dataclasses import replace

import pytest
from small_server import GOOD, Peer
from suite.gate import wrong_answer
from suite.metadata import Row
from suite.response import Answer, difference, parse_answer
from suite.workload import Workload, of_row

PLAIN = Workload("w", "/", "plain.lua", b"Hello", {"Content-Type": "a/b", "Content-Length": "5"})


def test_reads_an_answer_and_what_is_behind_it():
    answer, rest = parse_answer(GOOD + b"HTTP")
    assert answer.status_line == "HTTP/1.1 200 OK" and answer.status == 200
    assert ("content-type", "a/b") in answer.fields
    assert (answer.body, rest) == (b"Hello", b"HTTP")


def test_an_answer_to_head_has_no_body():
    head = GOOD.removesuffix(b"Hello")
    answer, rest = parse_answer(head + b"HTTP", has_body=False)
    assert (answer.body, rest) == (b"", b"HTTP")


def test_wants_more_at_every_cut():
    assert [cut for cut in range(len(GOOD)) if parse_answer(GOOD[:cut])] == []


@pytest.mark.parametrize(
    ("octets", "message"),
    [
        (b"SSH-2.0\r\n\r\n", "the answer starts with 'SSH"),
        (b"HTTP/1.1 200 OK\r\nDate\r\n\r\n", "'Date' has no colon"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "Content-Length is '-1'"),
    ],
)
def test_refuses_what_is_no_answer(octets, message):
    with pytest.raises(ValueError, match=message):
        parse_answer(octets)


@pytest.mark.parametrize("line", ["HTTP/1.1", "HTTP/1.1 OK"])
def test_a_line_without_a_status_has_none(line):
    assert Answer(line, [], b"").status == 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"Date: x", b"Server: y\r\nConnection: keep-alive\r\nKeep-Alive: 1", None),
        (b"content-type", b"CONTENT-TYPE", None),
        (b"200 OK", b"200 Fine", "its status line is 'HTTP/1.1 200 Fine'"),
        (b"200 OK", b"200 Ok", None),
        (b"HTTP/1.1", b"HTTP/1.0", "its status line"),
        (b"a/b", b"a/c", "its field content-type: a/c is not in"),
        (b"Date: x", b"ETag: x", "its field etag: x is not in"),
        (b"content-type: a/b\r\n", b"", "it has no field content-type: a/b"),
        (b"Date: x", b"content-type: a/b", "one of its fields is repeated"),
        (b"Hello", b"Jello", "its body of 5 octets"),
    ],
)
def test_difference(old, new, message):
    found = difference(PLAIN, parse_answer(GOOD.replace(old, new))[0])
    assert found is None if message is None else found.startswith(message)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda octets: (GOOD.replace(b"Hello", b"Jello"), b""), "its body of 5 octets"),
        (lambda octets: (GOOD + b"!", b""), "1 octets come behind its body"),
        (lambda octets: (b"what?\r\n\r\n", b""), "the answer starts with 'what"),
    ],
)
def test_a_wrong_answer_keeps_a_server_out(answer, message):
    with Peer(answer) as peer:
        assert message in wrong_answer(peer.place, PLAIN)


def test_a_server_that_closes_is_asked_once_a_connection():
    said = GOOD.replace(b"Date: x", b"Connection: close")
    closing = Workload("w", "/", "close.lua", b"Hello", PLAIN.fields, closes=True)
    with Peer(lambda octets: (said, None)) as peer:
        assert wrong_answer(peer.place, closing) is None
    with Peer(lambda octets: (GOOD, b"")) as peer:
        assert wrong_answer(peer.place, closing).endswith("does not say that it will")


def test_tls_has_rows_of_its_own():
    secure = Workload("s", "/", "plain.lua", b"", tls=True)
    for tls, own in [(True, [secure]), (False, [PLAIN])]:
        assert of_row([PLAIN, secure], Row(None, "r", 1, [], tls=tls)) == own


def test_who_does_not_speak_tls_gets_no_row():
    secure = Workload("s", "/", "plain.lua", b"Hello", PLAIN.fields, tls=True)
    with Peer(lambda octets: (b"what?", b"")) as peer:
        assert wrong_answer(peer.place, secure) is not None


def test_a_port_where_nobody_listens_keeps_a_server_out():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        place = listener.getsockname()
    assert "refused" in wrong_answer(place, PLAIN)


def test_gateways_have_rows_of_their_own():
    through = replace(PLAIN, gateway=True)
    for gateway, own in [(False, [PLAIN]), (True, [through])]:
        row = Row(None, "r", 1, [], gateway=gateway)
        assert of_row([PLAIN, through], row) == own
