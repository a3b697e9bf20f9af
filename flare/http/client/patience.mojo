"""How long a request may wait for what."""

from flare.http.client.attempt import CONTINUE_TIMEOUT_MS, Attempt
from flare.http.client.connection import ClientConnection
from flare.http.client.error import ClientError, Phase
from flare.net.error import Timeout
from flare.sys.deadline import Deadline


comptime WHILE_PROGRESSING = -3
"""A total time for what makes progress: it starts anew with each KiB of content
that went either way, and is `PROGRESS_TIMEOUT_MS` long."""

comptime PROGRESS_TIMEOUT_MS = 120_000
"""Time for a request until its content flows, redirections and repetitions
included, and then for each `PROGRESS_LEN_MIN` of it, in milliseconds."""

comptime PROGRESS_LEN_MIN = 1_024
"""Least content that counts as progress, in bytes. Slower than 9 octets a
second is no download, but a server that drips to hold its client."""


struct Patience(ImplicitlyCopyable):
    """The times that a request has."""

    var read_timeout_ms: Int
    """Longest silence while octets are awaited, from when the server has got
    the request; negative for ever."""
    var write_timeout_ms: Int
    """Longest time without progress while sending; negative for ever."""
    var total: Deadline
    """When all of it has to be over, or to have made progress."""
    var _is_by_progress: Bool
    # Content that had gone either way when the total time began.
    var _start_len: Int

    def __init__(
        out self, read_timeout_ms: Int, write_timeout_ms: Int, total_ms: Int
    ):
        """Starts the total time.

        Args:
            read_timeout_ms: Longest silence while octets are awaited.
            write_timeout_ms: Longest time without progress while sending.
            total_ms: Time for all of it; `WHILE_PROGRESSING` to end only what
                makes no progress.
        """
        self.read_timeout_ms = read_timeout_ms
        self.write_timeout_ms = write_timeout_ms
        self._is_by_progress = total_ms == WHILE_PROGRESSING
        self._start_len = 0
        self.total = Deadline(
            PROGRESS_TIMEOUT_MS if self._is_by_progress else total_ms
        )

    def restart(mut self):
        """Starts the total time anew, for a request that has waited."""
        self.total = Deadline(self.total.timeout_ms)

    def begin_attempt(mut self):
        """Notes that content is counted from 0 again."""
        self._start_len = 0

    def wait_ms(self, attempt: Attempt) -> Int:
        """Decides how long to wait for an attempt.

        Args:
            attempt: What is waited for.

        Returns:
            Milliseconds; negative for ever.
        """
        return shorter(self._phase_ms(attempt), self.total.left_ms())

    def _phase_ms(self, attempt: Attempt) -> Int:
        if attempt.is_asking():
            return shorter(CONTINUE_TIMEOUT_MS, self.read_timeout_ms)
        if attempt.wants_write():
            return self.write_timeout_ms
        return self.read_timeout_ms

    def check(
        mut self, mut attempt: Attempt, connection: ClientConnection
    ) raises ClientError:
        """Decides what it means that a wait was in vain.

        Args:
            attempt: What was waited for.
            connection: Its connection.

        Raises:
            ClientError: If it may wait no longer.
        """
        if self.total.left_ms() == 0:
            if self.makes_progress(attempt.moved_len()):
                return
            raise self.overdue_error(attempt)
        if attempt.is_asking():
            attempt.stop_asking()
            return
        if attempt.delivers(connection):
            return
        raise ClientError.timeout(attempt.phase(), self._phase_ms(attempt))

    def makes_progress(mut self, moved_len: Int) -> Bool:
        """Starts the total time anew if enough content went since its start.

        Args:
            moved_len: How much content the attempt has sent and received, in
                bytes.

        Returns:
            False if the request has to end.
        """
        if not self._is_by_progress:
            return False
        if moved_len - self._start_len < PROGRESS_LEN_MIN:
            return False
        self._start_len = moved_len
        self.restart()
        return True

    def overdue_error(self, attempt: Attempt) -> ClientError:
        """Makes the error for a total time that is over.

        Args:
            attempt: What was waited for.

        Returns:
            The error, which says how much had come.
        """
        var error = total_error(self.total, attempt.phase())
        if attempt.has_head:
            error.reason.write(
                "; ", attempt.exchange.content_len, " bytes of content had come"
            )
        if self._is_by_progress:
            error.reason.write(
                "; less than ", PROGRESS_LEN_MIN, " of them in that time"
            )
        return error^


def total_error(total: Deadline, phase: Phase) -> ClientError:
    """Makes the error for a request that took too long as a whole.

    Args:
        total: The deadline that is over.
        phase: What it was at.

    Returns:
        The error.
    """
    return ClientError(
        materialize[Phase.TOTAL](),
        materialize[Timeout](),
        String(
            "not complete within ",
            total.timeout_ms,
            " ms; total_timeout_ms allows more (it was at: ",
            phase,
            ")",
        ),
    )


def shorter(left_ms: Int, right_ms: Int) -> Int:
    """Chooses the shorter of two times.

    Args:
        left_ms: Milliseconds; negative for ever.
        right_ms: Milliseconds; negative for ever.

    Returns:
        The shorter one; negative if both are for ever.
    """
    if left_ms < 0:
        return right_ms
    if right_ms < 0:
        return left_ms
    return min(left_ms, right_ms)
