"""The content of a response on its way from an upstream to a client."""

from flare.bytes.ascii import equals_ignore_case
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.message.body import Body, BodySource, Poll, StreamWaker
from flare.http.message.header_map import HeaderMap
from flare.http.message.response import Response
from flare.http.message.trailers import Trailers
from flare.sys.clock import coarse_monotonic_ms
from std.memory import ArcPointer

comptime _EVENTS = StaticString("text/event-stream")

comptime PIECE_LEN = 65_536
"""Most content that goes to the client at once, in bytes; about that much."""


trait ContentSide(Deinitable, Movable):
    """Where the content of a response comes from."""

    @staticmethod
    def set_waker(side: ArcPointer[Self], var waker: StreamWaker):
        """Hears how to say that there is more.

        Args:
            side: This.
            waker: The connection's.
        """
        ...

    @staticmethod
    def is_over(side: ArcPointer[Self]) -> Bool:
        """Tells whether no more will come.

        Args:
            side: This.

        Returns:
            True behind the end, or a failure.
        """
        ...

    @staticmethod
    def pull(
        side: ArcPointer[Self], mut out: Buffer, length_max: Int
    ) raises -> Poll:
        """Takes what has come.

        Args:
            side: This.
            out: Where to append it.
            length_max: How long that may become, about, in bytes.

        Returns:
            What follows.

        Raises:
            Error: If the upstream fails.
        """
        ...

    @staticmethod
    def give_up(side: ArcPointer[Self]):
        """Wants no more.

        Args:
            side: This.
        """
        ...

    @staticmethod
    def break_off(side: ArcPointer[Self], is_late: Bool):
        """Ends, since the upstream has failed.

        Args:
            side: This.
            is_late: True if it was silent for too long.
        """
        ...

    @staticmethod
    def trailers_behind(side: ArcPointer[Self]) -> Trailers:
        """Gives what has followed the content.

        Args:
            side: This.

        Returns:
            The fields.
        """
        ...

    @staticmethod
    def times(side: ArcPointer[Self]) -> ContentTimes:
        """Tells what counts for how long the upstream may be silent.

        Args:
            side: This.

        Returns:
            The times.
        """
        ...


@fieldwise_init
struct ContentTimes(TrivialRegisterPassable):
    """What counts for how long an upstream may be silent."""

    var silence_ms: Int
    """How long it may be."""
    var taken_ms: Int
    """When it has last taken content of the request: while it does, it may be
    silent."""


struct UpstreamContent[S: ContentSide](BodySource):
    """The content of a response, as the upstream sends it.

    Parameters:
        S: Where it comes from.
    """

    var _side: ArcPointer[Self.S]
    # What came with the head.
    var _first: List[UInt8]
    var _is_endless: Bool
    var _last_ms: Int
    var _failure: String

    def __init__(
        out self,
        side: ArcPointer[Self.S],
        var first: List[UInt8],
        is_endless: Bool,
    ):
        """Makes the content of a response.

        Args:
            side: Has the response's head, and perhaps all of it.
            first: What came with the head.
            is_endless: True for events, which go on until somebody leaves.
        """
        self._side = side.copy()
        self._first = first^
        self._is_endless = is_endless
        self._last_ms = coarse_monotonic_ms()
        self._failure = String()

    def __deinit__(deinit self):
        """Gives the upstream up, unless the response is complete."""
        if not Self.S.is_over(self._side):
            Self.S.give_up(self._side)

    def begin(mut self, var waker: StreamWaker):
        """Hears how to say that there is more.

        Args:
            waker: The connection's.
        """
        Self.S.set_waker(self._side, waker^)

    def fill(mut self, mut out: Buffer) raises -> Poll:
        """Takes what has come.

        Args:
            out: Where to append it.

        Returns:
            What follows.

        Raises:
            Error: If the upstream fails, or is silent for too long.
        """
        if len(self._first) > 0:
            out.append(self._first)
            self._first = []
        if self._failure.byte_length() > 0:
            raise Error(self._failure)
        if Self.S.is_over(self._side):
            return Poll.DONE
        try:
            var poll = Self.S.pull(self._side, out, PIECE_LEN)
            if poll != Poll.PENDING or len(out) > 0:
                self._last_ms = coarse_monotonic_ms()
            elif self._left_ms() <= 0:
                Self.S.break_off(self._side, True)
                raise Error(
                    "the upstream has sent nothing for ",
                    Self.S.times(self._side).silence_ms,
                    " ms",
                )
            return poll
        except error:
            Self.S.break_off(self._side, False)
            if len(out) == 0:
                raise error^
            # What has come goes to the client before it ends.
            self._failure = String(error)
            return Poll.READY

    def _left_ms(self) -> Int:
        """Tells how long the upstream may still be silent."""
        var times = Self.S.times(self._side)
        var last_ms = max(self._last_ms, times.taken_ms)
        return last_ms + times.silence_ms - coarse_monotonic_ms()

    def trailers(mut self) raises -> Trailers:
        """Passes the upstream's trailer fields on.

        Returns:
            The fields.

        Raises:
            Error: Never.
        """
        return Self.S.trailers_behind(self._side)

    def is_endless(self) -> Bool:
        """Tells whether these are events.

        Returns:
            True if so.
        """
        return self._is_endless

    def poll_interval_ms(self) -> Int:
        """Tells how long the upstream may be silent.

        Returns:
            Milliseconds.
        """
        return max(self._left_ms(), 0) + 1


struct NoContent(BodySource):
    """Content of unknown length that HEAD has not asked for."""

    def __init__(out self):
        """Makes it."""
        pass

    def fill(mut self, mut out: Buffer) raises -> Poll:
        """Makes nothing.

        Args:
            out: Stays as it is.

        Returns:
            That this was all.

        Raises:
            Error: Never.
        """
        return Poll.DONE


def trailers_of(fields: HeaderMap) -> Trailers:
    """Takes what may be sent on of a trailer section (RFC 9110 section 6.5.1).

    Args:
        fields: The fields that were received.

    Returns:
        Those that may be trailers.
    """
    var trailers = Trailers()
    for index in range(len(fields)):
        try:
            trailers.append(fields.name(index), fields.value(index))
        except:
            # Framing, routing and the like mean nothing there.
            continue
    return trailers^


def has_events(response: Response) -> Bool:
    """Tells whether the content goes on until somebody leaves.

    Args:
        response: Has its fields.

    Returns:
        True for server-sent events.
    """
    var content_type = response.headers.content_type().as_bytes()
    return len(content_type) >= _EVENTS.byte_length() and (
        equals_ignore_case(
            content_type.before(_EVENTS.byte_length()), _EVENTS.as_bytes()
        )
    )


def announce(mut response: Response, length: Optional[Int]) raises:
    """Says how long the content would be that HEAD has not asked for.

    Args:
        response: The response.
        length: How long, if the upstream has said so.

    Raises:
        Error: Never.
    """
    if length:
        response.headers.set("Content-Length", String(length.held()))
    else:
        response.body = Body(NoContent())
