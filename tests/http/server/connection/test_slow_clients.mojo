"""How long a client that is slow has for each part of what it sends and takes
(RFC 9110 section 15.5.9: the time that a server was prepared to wait)."""

from flare.http.handler.handler import FnHandler
from flare.http.server.config import ServerConfig
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.served_connection import Ends, ServedConnection, answer

comptime _HEAD_MS = 1_000
comptime _BODY_MS = 3_000
comptime _WRITE_MS = 2_000
comptime _LATE = StaticString("HTTP/1.1 408")


def _served(
    *, min_body_rate: Int = 0, min_send_rate: Int = 0
) raises -> ServedConnection:
    var config = ServerConfig(
        handler_threads=0,
        header_timeout_ms=_HEAD_MS,
        body_timeout_ms=_BODY_MS,
        write_timeout_ms=_WRITE_MS,
        min_body_rate=min_body_rate,
        min_send_rate=min_send_rate,
    )
    config.logs_errors = False
    return ServedConnection(Ends(0), FnHandler(answer), None, config^)


def _say(mut served: ServedConnection, octets: StringSpan) raises:
    assert_equal(served.client.send(octets.as_bytes()), octets.byte_length())
    served.step()


def _heard(mut served: ServedConnection) raises -> String:
    """What the server has said, up to its status."""
    var room = List[UInt8](length=12, fill=0)
    var count = served.client.receive(Span(room))
    return String(from_utf8_lossy=Span(room)[: max(count, 0)])


def test_octets_do_not_put_off_the_end_of_a_heads_time() raises:
    """A client that says one octet at a time (slow loris) has no more time than
    any other."""
    comptime HEAD = StaticString("GET /1 HTTP/1.1\r\nHost: h\r\n")
    for pause_ms in [1, 50, 250, 999]:
        var served = _served()
        var elapsed_ms = 0
        for index in range(HEAD.byte_length()):
            _say(served, HEAD[byte = index : index + 1])
            if elapsed_ms + pause_ms >= _HEAD_MS:
                break
            served.pass_time(pause_ms)
            elapsed_ms += pause_ms
            assert_equal(_heard(served), "", String(elapsed_ms))
        served.pass_time(_HEAD_MS - elapsed_ms - 1)
        assert_equal(_heard(served), "", String(pause_ms))
        _say(served, "X")
        served.pass_time(1)
        assert_equal(_heard(served), _LATE, String(pause_ms))


def test_a_head_in_time_is_answered() raises:
    var served = _served()
    _say(served, "GET /1 HTTP/1.1\r\nHo")
    served.pass_time(_HEAD_MS - 1)
    _say(served, "st: h\r\n\r\n")
    assert_equal(_heard(served), "HTTP/1.1 200")


def test_each_head_has_a_time_of_its_own() raises:
    """The second one's begins with its first octet."""
    var served = _served()
    _say(served, "GET /0 HTTP/1.1\r\nHost: h\r\n\r\n")
    var room = List[UInt8](length=4_096, fill=0)
    assert_true(served.client.receive(Span(room)) > 12)
    served.pass_time(_HEAD_MS - 1)
    _say(served, "G")
    served.pass_time(_HEAD_MS - 1)
    assert_equal(_heard(served), "")
    _say(served, "E")
    served.pass_time(1)
    assert_equal(_heard(served), _LATE)


def test_content_has_its_time_behind_that_of_the_head() raises:
    """It begins when the head is complete."""
    for head_ms in [0, _HEAD_MS - 1]:
        for is_chunked in [False, True]:
            var framing = "Transfer-Encoding: chunked" if is_chunked else (
                "Content-Length: 5"
            )
            for is_late in [False, True]:
                var served = _served()
                _say(served, "POST / HTTP/1.1\r\n")
                served.pass_time(head_ms)
                _say(served, String("Host: h\r\n", framing, "\r\n\r\n"))
                served.pass_time(_BODY_MS - 1)
                assert_equal(_heard(served), "", framing)
                if is_late:
                    _say(served, "5\r\nhell" if is_chunked else "hell")
                    served.pass_time(1)
                    assert_equal(_heard(served), _LATE, framing)
                else:
                    _say(
                        served,
                        "5\r\nhello\r\n0\r\n\r\n" if is_chunked else "hello",
                    )
                    assert_equal(_heard(served), "HTTP/1.1 200", framing)


def test_octets_of_content_earn_time_by_the_rate_alone() raises:
    """`min_body_rate`: 1,000 a second, so each octet is a millisecond."""
    var served = _served(min_body_rate=1_000)
    _say(served, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99\r\n\r\n")
    for _ in range(10):
        served.pass_time(_BODY_MS // 10)
        if not served.is_open:
            break
        _say(served, "x")
    # The last one came when the time without it was over.
    served.pass_time(8)
    assert_equal(_heard(served), "")
    served.pass_time(2)
    assert_equal(_heard(served), _LATE)


def test_a_client_saves_up_no_time_to_take_a_response() raises:
    """What it takes puts the end off by what that earns, and by no more than
    `write_timeout_ms` from then on: who takes much at once, and then nothing, is
    not waited for longer than anybody else."""
    var served = _served(min_send_rate=100)
    _say(served, "GET /4000000 HTTP/1.1\r\nHost: h\r\n\r\n")
    var room = List[UInt8](length=100_000, fill=0)
    # That would be worth some hours.
    for _ in range(20):
        assert_true(served.client.receive(Span(room)) > 0)
        served.step()
    served.pass_time(_WRITE_MS)
    assert_true(served.is_open, "it has taken much")
    served.pass_time(_WRITE_MS - 1)
    assert_true(served.is_open, "it has the time of anybody")
    served.pass_time(1)
    assert_false(served.is_open, "it has taken nothing since")


def test_who_takes_nothing_of_a_response_is_cut_off() raises:
    for rate in [0, 100]:
        var served = _served(min_send_rate=rate)
        _say(served, "GET /4000000 HTTP/1.1\r\nHost: h\r\n\r\n")
        served.pass_time(_WRITE_MS - 1)
        assert_true(served.is_open)
        served.pass_time(1)
        assert_false(served.is_open)
