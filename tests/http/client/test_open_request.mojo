"""Requests whose caller writes their content: when their process is forked, and on
their way through redirections."""

from flare.http.client.client import HttpClient
from flare.http.client.message.config import ClientConfig
from flare.http.client.message.request import ClientRequest
from flare.http.client.shared_client import SharedClient
from flare.net.socket_addr import SocketAddr
from flare.sys.process import end_process, fork_process, reap
from flare.sys.signal import SignalPause
from flare.sys.thread import Task, Thread
from flare.tcp.stream import TcpListener
from flare.http.client.open_request import PieceReader
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.loopback import PATIENCE_MS

comptime _FRAME_HEAD_LEN = 9
comptime _PREFACE_LEN = 24
comptime _RST_STREAM = 3


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
        call.close()
        end_process(5)
    pause^.end()
    _wait_for(child)
    # The parent resets it, too, and closes the connection.
    call.close()
    client.close()
    var seen = List[UInt8]()
    var room = List[UInt8](length=1_024, fill=0)
    while True:
        var count = served.read(room)
        if count == 0:
            break
        seen.extend(Span(room)[0:count])
    var reset_count = 0
    for kind in _kinds(seen):
        reset_count += Int(kind == _RST_STREAM)
    assert_equal(reset_count, 1)


def test_content_for_the_parent_is_not_read_by_a_child() raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var client = SharedClient(String("http://", listener.local_addr()))
    var call = Optional(client.open_request(ClientRequest("POST", "/")))
    assert_true(call.value().write("one".as_bytes(), ends=True))
    var served = listener.accept(PATIENCE_MS)
    served.write_all("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n".as_bytes())
    call.value().wait_for_head()
    served.write_all("hello".as_bytes())
    var pause = SignalPause()
    var child = fork_process()
    if child == 0:
        call = None
        end_process(5)
    pause^.end()
    _wait_for(child)
    var room = List[UInt8](length=16, fill=0)
    assert_equal(call.value().read(room), 5)


@fieldwise_init
struct _Moved(Task):
    """Leads from one path to another, on a connection for each."""

    var listener: TcpListener

    def run(mut self) raises:
        self._answer(
            "PUT /old ",
            "HTTP/1.1 307 There\r\nLocation: /new\r\nConnection: close\r\n"
            "Content-Length: 0\r\n\r\n",
        )
        self._answer(
            "PUT /new ",
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\ndone",
        )

    def _answer(mut self, asked: StaticString, answer: StaticString) raises:
        var stream = self.listener.accept(PATIENCE_MS)
        stream.set_read_timeout(PATIENCE_MS)
        var text = String()
        var room = List[UInt8](length=1_024, fill=0)
        while not text.endswith("\r\n0\r\n\r\n"):
            var count = stream.read(Span(room))
            if count == 0:
                return
            text += String(from_utf8_lossy=Span(room)[:count])
        if text.startswith(asked):
            stream.write_all(answer.as_bytes())


def test_an_end_goes_where_a_redirection_leads() raises:
    """RFC 9110 section 15.4.8: so does content of which there was nothing but the
    end, for it is there again."""
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var url = String("http://", listener.local_addr())
    var thread = Thread(_Moved(listener^))
    var client = HttpClient(url)
    var call = client.open_request(ClientRequest("PUT", "/old"))
    call.finish()
    var room = List[UInt8](length=16, fill=0)
    var count = call.read(Span(room))
    assert_equal(call.status.code, 200)
    assert_equal(String(from_utf8_lossy=Span(room)[:count]), "done")
    thread^.join()


def _piece(text: StringSpan) -> List[UInt8]:
    return List[UInt8](text.as_bytes())


def _read(
    mut reader: PieceReader, mut piece: List[UInt8], room_len: Int
) raises -> String:
    """Reads once, what is ahead before what is in the piece."""
    var room = List[UInt8](length=room_len, fill=0)
    var count = reader.read_ahead(Span(room))
    if count == 0:
        count = reader.read(piece, Span(room))
    return String(from_utf8=Span(room)[:count])


def test_portions_of_any_length_are_the_content() raises:
    for room_len in range(1, 9):
        var reader = PieceReader()
        var read = String()
        for text in ["ab", "c", "defgh"]:
            var piece = _piece(text)
            while reader.has_more_of(piece):
                read += _read(reader, piece, room_len)
            # Whoever has lent it may fill it again.
            assert_equal(len(piece), 0)
        assert_equal(read, "abcdefgh", String("portions of ", room_len))


def test_what_was_taken_out_comes_first() raises:
    var reader = PieceReader()
    var piece = _piece("abcd")
    assert_equal(_read(reader, piece, 1), "a")
    reader.take_ahead(piece)
    assert_equal(len(piece), 0)
    assert_false(reader.has_more_of(piece))
    piece = _piece("ef")
    assert_true(reader.has_more_of(piece))
    # Never octets of both at once: the piece is asked for when the rest is read.
    assert_equal(_read(reader, piece, 8), "bcd")
    assert_equal(_read(reader, piece, 8), "ef")
    assert_equal(len(piece), 0)


def test_no_room_reads_nothing() raises:
    var reader = PieceReader()
    var piece = _piece("ab")
    assert_equal(_read(reader, piece, 0), "")
    assert_true(reader.has_more_of(piece))
    reader.take_ahead(piece)
    assert_equal(_read(reader, piece, 0), "")
    assert_equal(len(reader.ahead), 2)


def test_all_that_is_left_of_a_piece() raises:
    var reader = PieceReader()
    var piece = _piece("abc")
    assert_equal(_read(reader, piece, 2), "ab")
    var octets = _piece("ab")
    reader.move_all(piece, octets)
    assert_equal(String(from_utf8=octets), "abc")
    assert_equal(len(piece), 0)
    piece = _piece("d")
    assert_true(reader.has_more_of(piece), "from its first octet")
