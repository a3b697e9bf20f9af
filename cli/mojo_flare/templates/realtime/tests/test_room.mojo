"""The room with real visitors, on a server of its own."""

from app.room import Room
from app.service import service
from flare.http import HttpServer, ShutdownHandle
from flare.json import parse
from flare.net import SocketAddr
from flare.runtime import Task, Thread
from flare.ws import WsClient
from std.testing import assert_equal


@fieldwise_init
struct Serving(Task):
    var server: HttpServer

    def run(mut self) raises:
        self.server.serve(service("site", Room()))


struct TestServer(Movable):
    """A server that stops when the test is over."""

    var url: String
    var _stop: ShutdownHandle
    var _thread: Thread

    def __init__(out self) raises:
        var server = HttpServer.bind(SocketAddr.localhost(0))
        self.url = String("ws://", server.local_addr(), "/room?name=")
        self._stop = server.shutdown_handle()
        self._thread = Thread(Serving(server^))

    def stop(deinit self) raises:
        self._stop.shutdown()
        self._thread^.join()


def heard(mut visitor: WsClient) raises -> String:
    """Receives a notice, and writes it in a line."""
    var notice = parse(visitor.recv_message().as_text())
    return String(
        notice["kind"].string_value(),
        " ",
        notice["name"].string_value(),
        " ",
        notice["text"].string_value(),
        " ",
        notice["present"].int_value(),
    )


def test_all_hear_what_one_says() raises:
    var server = TestServer()
    var ann = WsClient.connect(server.url + "ann")
    assert_equal(heard(ann), "join ann  1")
    var bob = WsClient.connect(server.url + "bob")
    assert_equal(heard(ann), "join bob  2")
    assert_equal(heard(bob), "join bob  2")
    bob.send_text("good morning")
    assert_equal(heard(ann), "say bob good morning 2")
    assert_equal(heard(bob), "say bob good morning 2")
    bob.close()
    assert_equal(heard(ann), "leave bob  1")
    ann.close()
    server^.stop()


def test_who_has_no_name_is_a_guest() raises:
    var server = TestServer()
    var visitor = WsClient.connect(server.url)
    var notice = heard(visitor)
    assert_equal(String(notice[byte=0:11]), "join guest ")
    visitor.close()
    server^.stop()
