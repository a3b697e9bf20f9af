"""Requests that are open when their process is forked."""

from flare.http.client.config import ClientConfig
from flare.http.client.request import ClientRequest
from flare.http.client.shared_client import SharedClient
from flare.net.socket_addr import SocketAddr
from flare.sys.process import end_process, fork_process, reap
from flare.sys.signal import SignalPause
from flare.tcp.stream import TcpListener
from tests.support.assertions import assert_equal, assert_true
from tests.support.loopback import PATIENCE_MS

comptime _FRAME_HEAD_LEN = 9
comptime _PREFACE_LEN = 24


def _kinds(octets: Span[UInt8, _]) -> List[Int]:
    """The types of the frames behind a preface (RFC 9113 section 4.1)."""
    var kinds = List[Int]()
    var start = _PREFACE_LEN
    while start + _FRAME_HEAD_LEN <= len(octets):
        kinds.append(Int(octets[start + 3]))
        var length = Int(octets[start]) << 16 | Int(octets[start + 1]) << 8
        start += _FRAME_HEAD_LEN + length + Int(octets[start + 2])
    return kinds^


def _wait_for(child: Int) raises:
    while True:
        var status = reap(child)
        if status:
            assert_equal(status.value().code, 5)
            return


def test_a_stream_of_the_parent_is_not_reset_by_a_child() raises:
    """RFC 9113 section 5.4.2: RST_STREAM ends the stream, with which the other
    process goes on."""
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var config = ClientConfig()
    config.http2 = True
    config.http2_prior_knowledge = True
    var client = SharedClient(
        String("http://", listener.local_addr()), config=config^
    )
    var call = client.open_request(ClientRequest("POST", "/"))
    assert_true(call.write("one".as_bytes()))
    var served = listener.accept(PATIENCE_MS)
    served.set_read_timeout(PATIENCE_MS)
    var pause = SignalPause()
    var child = fork_process()
    if child == 0:
        client.take_back(call^)
        end_process(5)
    pause^.end()
    _wait_for(child)
    var seen = List[UInt8]()
    var room = List[UInt8](length=1_024, fill=0)
    # Behind its first octets the parent, too, resets the stream.
    call.close()
    while len(seen) < _PREFACE_LEN or 3 not in _kinds(seen):
        var count = served.read(room)
        assert_true(count > 0, "the connection is closed")
        seen.extend(Span(room)[0:count])
    # SETTINGS, HEADERS, DATA, and one RST_STREAM.
    var resets = 0
    var kinds = _kinds(seen)
    for kind in kinds:
        resets += Int(kind == 3)
    assert_equal(resets, 1)
    # What the child has sent would stand before what the parent has written.
    assert_true(0 in kinds and kinds[len(kinds) - 1] == 3, "no DATA before")


def test_content_for_the_parent_is_not_read_by_a_child() raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var client = SharedClient(String("http://", listener.local_addr()))
    var call = client.open_request(ClientRequest("POST", "/"))
    assert_true(call.write("one".as_bytes(), ends=True))
    var served = listener.accept(PATIENCE_MS)
    served.write_all("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n".as_bytes())
    call.wait_for_head()
    served.write_all("hello".as_bytes())
    var pause = SignalPause()
    var child = fork_process()
    if child == 0:
        client.take_back(call^)
        end_process(5)
    pause^.end()
    _wait_for(child)
    var room = List[UInt8](length=16, fill=0)
    assert_equal(call.read(room), 5)
