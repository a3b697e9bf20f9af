"""Methods with a stream of requests, of replies, or of both, as machines that
never wait."""

from flare.bytes.buffer import unsafe_lend
from flare.bytes.erased import Erased, ErasedBox
from flare.grpc.core.status import GrpcStatus
from flare.grpc.server.call import GrpcCall, read_request, write_reply
from flare.protobuf.message import Message


struct Replies[M: Message](Movable):
    """Where a stream puts its replies; lent for the length of a call.

    Parameters:
        M: Their type.
    """

    # SAFETY: the stream's own call, which outlives the loan.
    var _call: Pointer[GrpcCall, MutUntrackedOrigin]

    def __init__(out self, mut call: GrpcCall):
        """Lends what a call has.

        Args:
            call: The call.
        """
        self._call = Pointer(to=call).unsafe_origin_cast[MutUntrackedOrigin]()

    def send(mut self, message: Self.M) raises GrpcStatus:
        """Adds a reply; it is sent as the caller takes it.

        Args:
            message: The reply.

        Raises:
            GrpcStatus: `RESOURCE_EXHAUSTED` if it is longer than allowed,
                `INTERNAL` if the call has ended.
        """
        write_reply(self._call[], message)

    def end(mut self):
        """Ends the call in good order, after the replies that were sent."""
        self._call[].end(GrpcStatus())

    def waiting_len(self) -> Int:
        """Tells how many bytes the caller has not taken, which are still here."""
        return len(self._call[].out)

    def call(self) -> ref[MutUntrackedOrigin] GrpcCall:
        """Lends the call, until the stream's method returns: its metadata, its
        deadline, what is sent beside."""
        return self._call[]


trait GrpcStream(Deinitable, Movable):
    """A call with a stream of messages at one side, or at both.

    It lives on the worker's loop, without a thread, so its methods must not
    wait. A caller that does not take replies sends no further requests: what
    waits here is bounded. A method that raises ends the call with what it
    raises.
    """

    comptime Request: Message
    """What the caller sends."""
    comptime Reply: Message
    """What it gets."""

    def on_message(
        mut self, var request: Self.Request, mut replies: Replies[Self.Reply]
    ) raises GrpcStatus:
        """Takes a request.

        Args:
            request: The message.
            replies: Where replies go.

        Raises:
            GrpcStatus: It ends the call.
        """
        ...

    def is_full(self, last_len: Int) -> Bool:
        """Tells whether no request is taken for now: the caller is not read
        until the call's waker rings. False, unless the stream knows better.

        Args:
            last_len: How long the last one was, in bytes decompressed.
        """
        return False

    def on_end(mut self, mut replies: Replies[Self.Reply]) raises GrpcStatus:
        """Hears that there are no more requests.

        Args:
            replies: Where replies go. Where the method has one reply, it is due
                here, and ends the call, unless the stream `replies_later`.

        Raises:
            GrpcStatus: It ends the call.
        """
        replies.end()

    def replies_later(self) -> Bool:
        """Tells whether the one reply of a method that has one comes after
        `on_end`, from `on_room`, which then ends the call. False, unless the
        stream knows better."""
        return False

    def on_room(mut self, mut replies: Replies[Self.Reply]) raises GrpcStatus:
        """Goes on with replies: the caller has taken what was sent, or the
        call's waker has rung. Asked again until nothing is added.

        Args:
            replies: Where replies go; some 16 KiB are a good piece.

        Raises:
            GrpcStatus: It ends the call.
        """
        return

    def on_cancel(mut self):
        """Hears that the call is over before its end: the caller has gone, its
        deadline is over, or the server ends."""
        return


comptime _OnMessage = def(
    Erased, Span[UInt8, ImmUntrackedOrigin], mut GrpcCall
) thin raises GrpcStatus -> None
comptime _OnNotice = def(Erased, mut GrpcCall) thin raises GrpcStatus -> None
comptime _OnCancel = def(Erased) thin -> None


def _on_message[
    S: GrpcStream
](
    stream: Erased,
    octets: Span[UInt8, ImmUntrackedOrigin],
    mut call: GrpcCall,
) raises GrpcStatus:
    # SAFETY: `AnyStream` made the pointer from an S of its own.
    var request = S.Request()
    read_request(request, octets, call)
    var replies = Replies[S.Reply](call)
    stream.unsafe_bitcast[S]()[].on_message(request^, replies)


def _on_end[
    S: GrpcStream
](stream: Erased, mut call: GrpcCall) raises GrpcStatus:
    # SAFETY: as for `_on_message`.
    var replies = Replies[S.Reply](call)
    stream.unsafe_bitcast[S]()[].on_end(replies)


def _on_room[
    S: GrpcStream
](stream: Erased, mut call: GrpcCall) raises GrpcStatus:
    # SAFETY: as for `_on_message`.
    var replies = Replies[S.Reply](call)
    stream.unsafe_bitcast[S]()[].on_room(replies)


def _is_full[S: GrpcStream](stream: Erased, last_len: Int) -> Bool:
    # SAFETY: as for `_on_message`.
    return stream.unsafe_bitcast[S]()[].is_full(last_len)


def _replies_later[S: GrpcStream](stream: Erased) -> Bool:
    # SAFETY: as for `_on_message`.
    return stream.unsafe_bitcast[S]()[].replies_later()


def _on_cancel[S: GrpcStream](stream: Erased):
    # SAFETY: as for `_on_message`.
    stream.unsafe_bitcast[S]()[].on_cancel()


struct AnyStream(Movable):
    """A stream of any type."""

    # SAFETY: the functions were made for its type.
    var _stream: ErasedBox
    var _on_message: _OnMessage
    var _on_end: _OnNotice
    var _on_room: _OnNotice
    var _is_full: def(Erased, Int) thin -> Bool
    var _replies_later: def(Erased) thin -> Bool
    var _on_cancel: _OnCancel

    def __init__[S: GrpcStream](out self, var stream: S):
        self._stream = ErasedBox(stream^)
        self._on_message = _on_message[S]
        self._on_end = _on_end[S]
        self._on_room = _on_room[S]
        self._is_full = _is_full[S]
        self._replies_later = _replies_later[S]
        self._on_cancel = _on_cancel[S]

    def on_message(
        self, octets: Span[UInt8, _], mut call: GrpcCall
    ) raises GrpcStatus:
        """Hands a message over, which is read in the call alone."""
        # SAFETY: the loan ends with the call.
        self._on_message(
            self._stream.at,
            unsafe_lend[ImmUntrackedOrigin](octets.unsafe_ptr(), len(octets)),
            call,
        )

    def on_end(self, mut call: GrpcCall) raises GrpcStatus:
        self._on_end(self._stream.at, call)

    def on_room(self, mut call: GrpcCall) raises GrpcStatus:
        self._on_room(self._stream.at, call)

    def is_full(self, last_len: Int) -> Bool:
        return self._is_full(self._stream.at, last_len)

    def replies_later(self) -> Bool:
        return self._replies_later(self._stream.at)

    def on_cancel(self):
        self._on_cancel(self._stream.at)
