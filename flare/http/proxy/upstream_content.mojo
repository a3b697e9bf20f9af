"""The content of a response on its way from an upstream to a client."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.h1.response_parser import ResponseProgress
from flare.http.message.body import BodySource, Poll, StreamWaker
from flare.http.message.trailers import Trailers
from flare.http.proxy.exchange import (
    Exchange,
    ExchangePhase,
    advance,
    drop_link,
    end_exchange,
)
from flare.sys.clock import coarse_monotonic_ms
from std.memory import ArcPointer

comptime PIECE_LEN = 65_536
"""Most content that goes to the client at once, in bytes; about that much."""


struct UpstreamContent(BodySource):
    """The content of a response, as the upstream sends it."""

    var _exchange: ArcPointer[Exchange]
    # What came with the head.
    var _first: List[UInt8]
    var _is_endless: Bool
    var _last_ms: Int
    var _failure: String

    def __init__(
        out self,
        exchange: ArcPointer[Exchange],
        var first: List[UInt8],
        is_endless: Bool,
    ):
        """Makes the content of an exchange.

        Args:
            exchange: Has the response's head, and perhaps all of it.
            first: What came with the head.
            is_endless: True for events, which go on until somebody leaves.
        """
        self._exchange = exchange.copy()
        self._first = first^
        self._is_endless = is_endless
        self._last_ms = coarse_monotonic_ms()
        self._failure = String()

    def __deinit__(deinit self):
        """Gives the upstream up, unless the response is complete."""
        if self._exchange[].phase != ExchangePhase.OVER:
            drop_link(self._exchange)

    def begin(mut self, var waker: StreamWaker):
        """Hears how to say that there is more.

        Args:
            waker: The connection's.
        """
        self._exchange[].waker = waker^

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
        if self._exchange[].phase == ExchangePhase.OVER:
            return Poll.DONE
        try:
            var poll = _fill(self._exchange, out)
            if poll != Poll.PENDING or len(out) > 0:
                self._last_ms = coarse_monotonic_ms()
            elif coarse_monotonic_ms() - self._last_ms >= self._silence_ms():
                raise Error(
                    "the upstream has sent nothing for ",
                    self._silence_ms(),
                    " ms",
                )
            return poll
        except error:
            drop_link(self._exchange)
            if len(out) == 0:
                raise error^
            # What has come goes to the client before it ends.
            self._failure = String(error)
            return Poll.READY

    def _silence_ms(self) -> Int:
        return self._exchange[].worker[].shared[].config.idle_timeout_ms

    def trailers(mut self) raises -> Trailers:
        """Passes the upstream's trailer fields on.

        Returns:
            The fields.

        Raises:
            Error: Never.
        """
        return self._exchange[].trailers.copy()

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
        return self._silence_ms() + 1


def _fill(e: ArcPointer[Exchange], mut out: Buffer) raises -> Poll:
    while len(out) < PIECE_LEN:
        var progress = advance(e)
        if progress == ResponseProgress.CONTENT:
            out.append(e[].parser.held()[].content())
        elif progress == ResponseProgress.END:
            end_exchange(e)
            return Poll.DONE
        else:
            return Poll.PENDING
    return Poll.READY


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
