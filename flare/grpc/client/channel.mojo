"""Where calls go to."""

from flare.grpc.client.call import ChannelCall
from flare.grpc.client.call_options import GrpcCallOptions
from flare.grpc.client.channel_core import ChannelCore, GrpcChannelConfig
from flare.grpc.client.stream import (
    GrpcReply,
    ChannelStream,
    send_message,
    take_reply,
)
from flare.grpc.core.kind import GrpcKind
from flare.grpc.core.status import GrpcStatus
from flare.http.client.connect.shared_pool import PoolFigures
from flare.protobuf.message import Message
from std.memory import ArcPointer


struct GrpcChannel(ImplicitlyCopyable):
    """A service at one address or several, which all threads call; copies are
    the same one.

        var channel = GrpcChannel("http://127.0.0.1:50051")
        var text = StringValue()
        text.value = "hello"
        var reply = channel.unary[StringValue]("/demo.Echo/Say", text)
        print(reply.message.value)

    Calls share a connection of HTTP/2, as many at once as the server allows; it
    is opened with the first call, and opened again when it is lost. A call
    blocks its caller's thread, never for ever: see `GrpcChannelConfig`, which
    also says in which protocol calls are made.
    """

    var _core: ArcPointer[ChannelCore]

    def __init__(
        out self,
        address: StringSpan,
        var config: GrpcChannelConfig = GrpcChannelConfig(),
    ) raises GrpcStatus:
        """Makes a channel; nothing is connected.

        Args:
            address: `https://host:port`, or `http://host:port` without TLS.
            config: Times, limits, and how methods are called.

        Raises:
            GrpcStatus: `INVALID_ARGUMENT` if that cannot work.
        """
        self._core = ArcPointer(ChannelCore([String(address)], config^))

    def __init__(
        out self,
        addresses: List[String],
        var config: GrpcChannelConfig = GrpcChannelConfig(),
    ) raises GrpcStatus:
        """Makes a channel to a service at several addresses: calls go to the
        first one that can be reached, or with `round_robin` in the service
        config to each in turn.

        Args:
            addresses: As for one; 1 to 1,024.
        """
        self._core = ArcPointer(ChannelCore(addresses, config^))

    def call(
        self,
        path: StringSpan,
        kind: GrpcKind,
        options: GrpcCallOptions = GrpcCallOptions(),
        *,
        is_safe: Bool = False,
    ) -> ChannelCall:
        """Begins a call whose messages are octets.

        Args:
            path: Such as `/pkg.Service/Method`.
            kind: How many messages there are each way.
            options: What the caller says.
            is_safe: Whether the method only reads; see
                `GrpcChannelConfig.uses_get`.

        Returns:
            The call; nothing of it is sent yet, and its time runs.
        """
        return ChannelCall(
            self._core, String(path), kind, options.copy(), is_safe=is_safe
        )

    def unary[
        Req: Message, //, Resp: Message
    ](
        self,
        path: StringSpan,
        request: Req,
        options: GrpcCallOptions = GrpcCallOptions(),
        *,
        is_safe: Bool = False,
    ) raises GrpcStatus -> GrpcReply[Resp]:
        """Calls a method with one message each way, and waits for the answer.

        Parameters:
            Req: What is sent.
            Resp: The answer's type.

        Args:
            request: The message.
            options: What the caller says; without a time of its own, the call
                has `GrpcChannelConfig.timeout_ms`.
            is_safe: Whether the method only reads, so that Connect may use GET
                (`GrpcChannelConfig.uses_get`); `NO_SIDE_EFFECTS` of a
                `.proto`.

        Returns:
            The answer.

        Raises:
            GrpcStatus: How the call has ended, if without success.
        """
        var call = self.call(path, GrpcKind.UNARY, options, is_safe=is_safe)
        _ = send_message(call, request)
        return take_reply[Resp](call)

    def server_stream[
        Req: Message, //, Resp: Message
    ](
        self,
        path: StringSpan,
        request: Req,
        options: GrpcCallOptions = GrpcCallOptions(),
    ) -> ChannelStream[Req, Resp]:
        """Calls a method that streams its answers.

        Parameters:
            Resp: The type of the answers.

        Returns:
            The call, to be read.
        """
        var call = self.call(path, GrpcKind.SERVER_STREAM, options)
        _ = send_message(call, request)
        return ChannelStream[Req, Resp](call^)

    def client_stream[
        Req: Message, Resp: Message
    ](
        self,
        path: StringSpan,
        options: GrpcCallOptions = GrpcCallOptions(),
    ) -> ChannelStream[Req, Resp]:
        """Calls a method that is sent a stream, and gives one answer: `send`,
        then `reply`.

        Returns:
            The call.
        """
        return ChannelStream[Req, Resp](
            self.call(path, GrpcKind.CLIENT_STREAM, options)
        )

    def stream[
        Req: Message, Resp: Message
    ](
        self,
        path: StringSpan,
        options: GrpcCallOptions = GrpcCallOptions(),
    ) -> ChannelStream[Req, Resp]:
        """Calls a method that streams both ways.

        Parameters:
            Resp: What comes.

        Returns:
            The call.
        """
        return ChannelStream[Req, Resp](
            self.call(path, GrpcKind.BIDI_STREAM, options)
        )

    def figures(self) -> PoolFigures:
        """Tells what the connections do now, for metrics."""
        return self._core[].client.figures()

    def close(self):
        """Closes connections without calls; the channel can still be used."""
        self._core[].client.close()
