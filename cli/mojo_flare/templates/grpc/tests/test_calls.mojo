"""The service as its callers see it, over a socket."""

from app.messages.greeter_client import GreeterClient
from app.messages.greeter_pb import HelloAgainRequest, HelloRequest
from app.service import service
from flare.grpc.client import GrpcChannel
from flare.http import HttpServer
from flare.net import SocketAddr
from flare.runtime import Task, Thread
from std.testing import assert_equal


@fieldwise_init
struct Serving(Task):
    var server: HttpServer

    def run(mut self) raises:
        self.server.serve(service())


def call(url: String) raises:
    var greeter = GreeterClient(GrpcChannel(url))
    var reply = greeter.hello(HelloRequest(name="ann"))
    assert_equal(reply.message.message, "hello, ann")
    var stream = greeter.hello_again(HelloAgainRequest(name="ann", count=3))
    var count = 0
    while stream.next():
        count += 1
    assert_equal(count, 3)


def test_calls_are_answered() raises:
    var server = HttpServer.bind(SocketAddr.localhost(0))
    var stopper = server.shutdown_handle()
    var url = String("http://", server.local_addr())
    var thread = Thread(Serving(server^))
    try:
        call(url)
    finally:
        stopper.shutdown()
        thread^.join()
