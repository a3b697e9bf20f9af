"""A source of content of any type."""

from flare.bytes.buffer import Buffer
from flare.http.message.body_source import BodySource, Conversation, Supply
from flare.http.message.erased import Erased, destroy, erase
from flare.http.message.file_region import FileRegion
from flare.http.message.stream_waker import StreamWaker


def _receive[
    T: Conversation
](source: Erased, mut input: Buffer, mut out: Buffer) raises -> Supply:
    # SAFETY: as for `_wake`.
    return source.unsafe_bitcast[T]()[].receive(input, out)


def _take_failure[T: Conversation](source: Erased) -> String:
    # SAFETY: as for `_wake`.
    return source.unsafe_bitcast[T]()[].take_failure()


def _stall_timeout_ms[T: Conversation](source: Erased) -> Int:
    # SAFETY: as for `_wake`.
    return source.unsafe_bitcast[T]()[].stall_timeout_ms()


def _end_early[T: BodySource](source: Erased, mut out: Buffer) -> Supply:
    # SAFETY: as for `_wake`.
    return source.unsafe_bitcast[T]()[].end_early(out)


def _begin[T: BodySource](source: Erased, var waker: StreamWaker):
    # SAFETY: as for `_wake`.
    source.unsafe_bitcast[T]()[].begin(waker^)


def _fill[T: BodySource](source: Erased, mut out: Buffer) raises -> Supply:
    # SAFETY: as above.
    return source.unsafe_bitcast[T]()[].fill(out)


def _region[T: BodySource](source: Erased) -> FileRegion:
    # SAFETY: as above.
    return source.unsafe_bitcast[T]()[].region()


def _advance[T: BodySource](source: Erased, count: Int):
    # SAFETY: as above.
    source.unsafe_bitcast[T]()[].advance(count)


def _is_endless[T: BodySource](source: Erased) -> Bool:
    # SAFETY: as above.
    return source.unsafe_bitcast[T]()[].is_endless()


def _patience_ms[T: BodySource](source: Erased) -> Int:
    # SAFETY: as above.
    return source.unsafe_bitcast[T]()[].patience_ms()


def _has_given_up[T: BodySource](source: Erased) -> Bool:
    # SAFETY: as above.
    return source.unsafe_bitcast[T]()[].has_given_up()


struct BodyStream(Movable):
    """A source of any type, and how much it will make."""

    var length: Optional[Int]
    """Content in bytes, if that is known before."""
    var _source: Erased
    var _begin: def(Erased, var StreamWaker) thin -> None
    var _fill: def(Erased, mut Buffer) raises thin -> Supply
    var _region: def(Erased) thin -> FileRegion
    var _advance: def(Erased, Int) thin -> None
    var _is_endless: def(Erased) thin -> Bool
    var _end_early: def(Erased, mut Buffer) thin -> Supply
    var _receive: Optional[
        def(Erased, mut Buffer, mut Buffer) raises thin -> Supply
    ]
    var _take_failure: Optional[def(Erased) thin -> String]
    var _stall_timeout_ms: Optional[def(Erased) thin -> Int]
    var _patience_ms: def(Erased) thin -> Int
    var _has_given_up: def(Erased) thin -> Bool
    var _drop: def(Erased) thin -> None

    def __init__[T: BodySource](out self, var source: T, length: Optional[Int]):
        """Takes a source.

        Parameters:
            T: Its type.

        Args:
            source: Makes the content.
            length: How much that will be in bytes, if it is known.
        """
        self.length = length
        self._source = erase(source^)
        self._begin = _begin[T]
        self._fill = _fill[T]
        self._region = _region[T]
        self._advance = _advance[T]
        self._is_endless = _is_endless[T]
        self._end_early = _end_early[T]
        self._receive = None
        self._stall_timeout_ms = None
        self._take_failure = None
        self._patience_ms = _patience_ms[T]
        self._has_given_up = _has_given_up[T]
        self._drop = destroy[T]

    @staticmethod
    def conversing[T: Conversation](var conversation: T) -> Self:
        """Takes a conversation.

        Parameters:
            T: Its type.

        Args:
            conversation: Goes on where HTTP ends.

        Returns:
            A stream that listens, too.
        """
        var stream = Self(conversation^, None)
        stream._receive = _receive[T]
        stream._stall_timeout_ms = _stall_timeout_ms[T]
        stream._take_failure = _take_failure[T]
        return stream^

    def __deinit__(deinit self):
        """Destroys the source."""
        self._drop(self._source)

    def begin(mut self, var waker: StreamWaker):
        """Hands the waker on.

        Args:
            waker: Rings for the connection.
        """
        self._begin(self._source, waker^)

    def fill(mut self, mut out: Buffer) raises -> Supply:
        """Appends the next piece.

        Args:
            out: Where to append.

        Returns:
            What follows.

        Raises:
            Error: If the source cannot go on.
        """
        return self._fill(self._source, out)

    def region(self) -> FileRegion:
        """Tells what comes next, if that lies in a file.

        Returns:
            What the source says.
        """
        return self._region(self._source)

    def advance(mut self, count: Int):
        """Tells the source that octets of its region were sent.

        Args:
            count: How many; at most the region's length.
        """
        self._advance(self._source, count)

    def is_endless(self) -> Bool:
        """Tells whether the stream goes on until the client leaves.

        Returns:
            What the source says.
        """
        return self._is_endless(self._source)

    def patience_ms(self) -> Int:
        """Tells how long the source may be left alone.

        Returns:
            What the source says.
        """
        return self._patience_ms(self._source)

    def has_given_up(self) -> Bool:
        """Tells whether the stream is to be broken off.

        Returns:
            What the source says.
        """
        return self._has_given_up(self._source)

    def listens(self) -> Bool:
        """Tells whether this is a conversation.

        Returns:
            True if it takes what the client sends.
        """
        return self._receive.__bool__()

    def receive(mut self, mut input: Buffer, mut out: Buffer) raises -> Supply:
        """Hands octets from the client to a conversation.

        Args:
            input: What has come; empty afterwards.
            out: Where to append.

        Returns:
            What follows.

        Raises:
            Error: If the conversation cannot go on.
        """
        return self._receive.value()(self._source, input, out)

    def take_failure(mut self) -> String:
        """Asks a conversation what went wrong in what was received last.

        Returns:
            A text for the log; empty if there is nothing to tell.
        """
        return self._take_failure.value()(self._source)

    def stall_timeout_ms(self) -> Int:
        """Tells how long the client may take nothing at all.

        Returns:
            What a conversation says; without end for any other source.
        """
        if not self._stall_timeout_ms:
            return Int.MAX
        return self._stall_timeout_ms.value()(self._source)

    def end_early(mut self, mut out: Buffer) -> Supply:
        """Ends an endless stream.

        Args:
            out: Where to append.

        Returns:
            What follows.
        """
        return self._end_early(self._source, out)
