"""Calls with messages of Protocol Buffers: a thin shell of `ChannelCall`."""

from flare.bytes.buffer import Buffer
from flare.grpc.client.call import ChannelCall
from flare.grpc.core.codec import decode_as, encode_as
from flare.grpc.core.metadata import Metadata
from flare.grpc.core.status import GrpcCode, GrpcStatus
from flare.protobuf.error import ProtobufError
from flare.protobuf.message import Message


@fieldwise_init
struct GrpcReply[M: Message](Movable):
    """What a call with one answer has brought.

    Parameters:
        M: The answer's type.
    """

    var message: Self.M
    """The answer."""
    var headers: Metadata
    """The metadata before it."""
    var trailers: Metadata
    """The metadata after it."""


struct ChannelStream[Req: Message, Resp: Message](Movable):
    """A call that streams messages, one way or both.

        var talk = channel.stream[StringValue, StringValue]("/demo.Chat/Talk")
        _ = talk.send(StringValue())
        while True:
            var answer = talk.next()
            if not answer:
                break
            print(answer.value().value)

    It belongs to one thread, and ends when it is dropped: a server that has not
    ended the call is told. Neither side waits for the other one by itself; but
    a server that takes no more messages before its own are read has to be read
    between two of them.

    Parameters:
        Req: What is sent.
        Resp: What comes.
    """

    var call: ChannelCall
    """The call, in octets."""

    def __init__(out self, var call: ChannelCall):
        """Takes a call.

        Args:
            call: One whose messages are of these types.
        """
        self.call = call^

    def send(mut self, message: Self.Req) -> Bool:
        """Sends a message, and waits until the connection has taken it; the
        rest is as for `ChannelCall.send`."""
        return send_message(self.call, message)

    def finish_sending(mut self):
        """Says that no more messages come; those of the server go on."""
        self.call.finish_sending()

    def next(mut self) raises GrpcStatus -> Optional[Self.Resp]:
        """Waits for the next message.

        Returns:
            The message; nothing if the call has ended with OK.

        Raises:
            GrpcStatus: How the call has ended, if not so. The same again if it
                is asked once more.
        """
        if not self.call.next():
            return None
        return decode_reply[Self.Resp](self.call)

    def reply(mut self) raises GrpcStatus -> GrpcReply[Self.Resp]:
        """Ends what is sent, and waits for the one answer of a call that streams
        to the server alone.

        Returns:
            The answer.

        Raises:
            GrpcStatus: How the call has ended, if without success.
        """
        self.finish_sending()
        return take_reply[Self.Resp](self.call)

    def headers(mut self) -> Metadata:
        """Waits for the metadata before the messages.

        Returns:
            The metadata; empty, too, if the call is over before it came.
        """
        self.call.wait_for_headers()
        return self.call.response.headers.copy()

    def trailers(self) -> Metadata:
        """Gives the metadata after the messages; empty before the call is over."""
        return self.call.response.trailers.copy()

    def status(mut self) -> GrpcStatus:
        """Waits until the call is over; messages that still come are dropped.
        The rest is as for `ChannelCall.status`."""
        return self.call.status()

    def cancel(mut self):
        """Ends the call with CANCELLED, if it has not ended."""
        self.call.cancel()


def send_message[M: Message](mut call: ChannelCall, message: M) -> Bool:
    """Sends a message of a call; False if the call is over, as it is if the
    message cannot be written."""
    var octets = Buffer(256)
    try:
        encode_as(message, call.protocol().codec(), call.json(), octets)
    except error:
        call.fail(_unwritten(error))
        return False
    return call.send(octets.span())


def take_reply[
    M: Message
](mut call: ChannelCall) raises GrpcStatus -> GrpcReply[M]:
    """Waits for the one answer of a call, and for its end. Raises the status of
    a call without success."""
    if not call.next():
        # A success has a message: `CallResponse` sees to that.
        raise call.status()
    var message = decode_reply[M](call)
    _ = call.next()
    return GrpcReply(
        message^, call.response.headers.copy(), call.response.trailers.copy()
    )


def decode_reply[M: Message](mut call: ChannelCall) raises GrpcStatus -> M:
    """Reads the message that a call lends; one that is not well-formed ends the
    call. Raises `INTERNAL` then."""
    try:
        return decode_as[M](
            call.message(), call.protocol().codec(), call.json()
        )
    except error:
        var status = GrpcStatus(
            GrpcCode.INTERNAL, String("the server's message: ", error)
        )
        call.fail(status.copy())
        raise status^


def _unwritten(error: ProtobufError) -> GrpcStatus:
    return GrpcStatus(GrpcCode.INTERNAL, String("the message: ", error))
