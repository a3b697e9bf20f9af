"""The greeter without a socket: its methods are called as the server calls them."""

from app.greeter import Greetings
from app.messages.greeter_pb import (
    HelloAgainRequest,
    HelloReply,
    HelloRequest,
)
from flare.grpc import GrpcCall, GrpcCode, Replies
from flare.net import SocketAddr
from std.testing import assert_equal, assert_true


def new_call() -> GrpcCall:
    return GrpcCall("/greeter.Greeter/Hello", SocketAddr.localhost(1))


def code_of(request: HelloAgainRequest) -> String:
    """Begins a call, and tells by which code that was refused."""
    var call = new_call()
    var replies = Replies[HelloReply](call)
    try:
        var stream = Greetings().hello_again(call)
        stream.on_message(request.copy(), replies)
    except status:
        return status.code.name()
    return "OK"


def test_it_greets_by_name() raises:
    var call = new_call()
    var reply = Greetings().hello(HelloRequest(name="ann"), call)
    assert_equal(reply.message, "hello, ann")


def test_it_wants_a_name() raises:
    var call = new_call()
    try:
        _ = Greetings().hello(HelloRequest(), call)
    except status:
        assert_true(status.code == GrpcCode.INVALID_ARGUMENT)
        return
    raise Error("nobody was greeted")


def test_it_greets_again_and_again() raises:
    var call = new_call()
    var replies = Replies[HelloReply](call)
    var stream = Greetings().hello_again(call)
    stream.on_message(HelloAgainRequest(name="ann", count=2), replies)
    stream.on_end(replies)
    while not call.status:
        stream.on_room(replies)
    assert_equal(call.reply_count, 2)


def test_it_counts_within_bounds() raises:
    assert_equal(code_of(HelloAgainRequest(name="ann", count=1000)), "OK")
    for count in [0, -1, 1001]:
        var request = HelloAgainRequest(name="ann", count=Int32(count))
        assert_equal(code_of(request), "INVALID_ARGUMENT")
