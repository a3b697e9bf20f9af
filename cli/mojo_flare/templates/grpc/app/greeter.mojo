"""The greeter: a method with one reply, and one with a stream of them."""

from app.messages.greeter_grpc import Greeter
from app.messages.greeter_pb import (
    HelloAgainRequest,
    HelloReply,
    HelloRequest,
)
from flare.grpc import GrpcCall, GrpcCode, GrpcStatus, GrpcStream, Replies

comptime COUNT_MAX = 1000


struct Greetings(Greeter):
    """The service; one value answers the calls of all threads."""

    comptime HelloAgain = Repeating

    def __init__(out self):
        pass

    def hello(
        self, request: HelloRequest, mut call: GrpcCall
    ) raises GrpcStatus -> HelloReply:
        return greeting(request.name)

    def hello_again(self, mut call: GrpcCall) raises GrpcStatus -> Repeating:
        return Repeating()


struct Repeating(GrpcStream):
    """One call of `HelloAgain`. It lives on the server's loop, so it must not
    wait."""

    comptime Request = HelloAgainRequest
    comptime Reply = HelloReply
    var reply: HelloReply
    var left: Int

    def __init__(out self):
        self.reply = HelloReply()
        self.left = 0

    def on_message(
        mut self,
        var request: HelloAgainRequest,
        mut replies: Replies[HelloReply],
    ) raises GrpcStatus:
        if request.count < 1 or request.count > COUNT_MAX:
            raise GrpcStatus(GrpcCode.INVALID_ARGUMENT, "count is 1 to 1000")
        self.reply = greeting(request.name)
        self.left = Int(request.count)

    def on_end(mut self, mut replies: Replies[HelloReply]) raises GrpcStatus:
        # There are no more requests. Replies go in `on_room`.
        return

    def on_room(mut self, mut replies: Replies[HelloReply]) raises GrpcStatus:
        """Sends one reply; it is asked again while the caller takes them."""
        if self.left == 0:
            replies.end()
            return
        self.left -= 1
        replies.send(self.reply)


def greeting(name: String) raises GrpcStatus -> HelloReply:
    if name == "":
        raise GrpcStatus(GrpcCode.INVALID_ARGUMENT, "a name, please")
    return HelloReply(message=String("hello, ", name))
