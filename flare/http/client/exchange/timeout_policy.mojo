"""How long a request may wait: for its head, its content, and in all."""

from flare.http.client.exchange.attempt import Attempt
from flare.http.client.message.config import (
    PROGRESS_LEN_MIN,
    PROGRESS_TIMEOUT_MS,
    WHILE_PROGRESSING,
)
from flare.http.client.connect.error import ClientError, Phase
from flare.http.client.connect.connection import ClientConnection
from flare.http.exchange.request_phase import CONTINUE_TIMEOUT_MS, RequestEvent
from flare.net.error import Timeout
from flare.sys.clock import NO_TIMEOUT_MS, Deadline


struct TimeoutPolicy(ImplicitlyCopyable):
    """The times that a request has."""

    var read_timeout_ms: Int
    """Longest silence while octets are awaited, from when the server has got
    the request; negative for ever."""
    var write_timeout_ms: Int
    """Longest time without progress while sending; negative for ever."""
    var total: Deadline
    """When all of it has to be over, or to have made progress."""
    var stream_wait: Deadline
    """When a request that has joined a connection of HTTP/2 must have a stream,
    unless others have theirs for as long as they like."""
    var start_ns: Int
    """When the request has begun, as `monotonic_ns` counts."""
    var _is_by_progress: Bool
    # The times once the head of a response that the caller reads has come.
    var _idle_ms: Int
    # The same if the call that reads has set it, else `NO_TIMEOUT_MS`.
    var _own_idle_ms: Int
    var _content_total: Deadline
    var _keeps_progress: Bool
    var _is_for_head: Bool
    # Content that had gone either way when the total time began.
    var _start_len: Int

    def __init__(
        out self, read_timeout_ms: Int, write_timeout_ms: Int, total_ms: Int
    ):
        """Starts the total time, `WHILE_PROGRESSING` to end only what makes no
        progress. The others are the longest silence while octets are awaited,
        and the longest time without progress while sending."""
        self.read_timeout_ms = read_timeout_ms
        self.write_timeout_ms = write_timeout_ms
        self._is_by_progress = total_ms == WHILE_PROGRESSING
        self._start_len = 0
        self.total = Deadline(
            PROGRESS_TIMEOUT_MS if self._is_by_progress else total_ms
        )
        self.stream_wait = Deadline(NO_TIMEOUT_MS)
        self.start_ns = self.total.start_ns()
        self._idle_ms = read_timeout_ms
        self._own_idle_ms = NO_TIMEOUT_MS
        # What progresses has no total time once the caller reads.
        self._content_total = self.total
        if self._is_by_progress:
            self._content_total = Deadline(NO_TIMEOUT_MS)
        self._is_for_head = False
        self._keeps_progress = False

    def keep_progress(mut self):
        """Lets a total by progress count after the head, too: for who reads
        as fast as it comes."""
        self._keeps_progress = self._content_total.timeout_ms < 0 and (
            self.total.timeout_ms == PROGRESS_TIMEOUT_MS
        )

    def end_with_head(mut self):
        """Lets a total that was set count up to the head alone."""
        self._content_total = Deadline(NO_TIMEOUT_MS)

    def limit_phases(mut self, head_ms: Int, idle_ms: Int):
        """Sets the times of a response that the caller reads: until its head is
        there, less than -1 to leave that to the other times; and of the longest
        silence after the head, -1 for ever, less than that for the time of
        reading."""
        if idle_ms >= NO_TIMEOUT_MS:
            self._idle_ms = idle_ms
            self._own_idle_ms = idle_ms
        if head_ms < NO_TIMEOUT_MS:
            return
        self.read_timeout_ms = head_ms
        self._is_by_progress = False
        var left_ms = self._content_total.left_ms()
        if head_ms < 0 or (left_ms >= 0 and left_ms <= head_ms):
            self.total = self._content_total
            return
        self._is_for_head = True
        self.total = Deadline(head_ms)

    def begin_content(mut self):
        """Notes that the caller reads from now on: a default total counts no
        longer, but silence does."""
        self._is_by_progress = self._keeps_progress
        self.read_timeout_ms = self._idle_ms
        self.total = self._content_total
        if self._keeps_progress:
            self.total = Deadline(PROGRESS_TIMEOUT_MS)
        self._is_for_head = False

    def restart(mut self):
        self.total = Deadline(self.total.timeout_ms)

    def begin(mut self):
        """Begins now, with a request that has waited for others."""
        self.restart()
        self.start_ns = self.total.start_ns()

    def begin_stream_wait(mut self):
        """Begins to wait for a stream: nothing is sent meanwhile."""
        self.stream_wait = Deadline(self.write_timeout_ms)

    def begin_attempt(mut self):
        """Notes that content is counted from 0 again."""
        self._start_len = 0

    def wait_ms(self, attempt: Attempt) -> Int:
        """Decides how many milliseconds to wait for an attempt; negative for
        ever."""
        var phase_ms = self.phase_ms(attempt)
        if attempt.delivery.is_going_on() and not attempt.is_asking():
            phase_ms = attempt.delivery.look_again_ms(phase_ms)
        return shorter(phase_ms, self.total.left_ms())

    def phase_ms(self, attempt: Attempt) -> Int:
        """Tells for how many milliseconds an attempt may make no progress;
        negative for ever."""
        if attempt.is_asking():
            return shorter(CONTINUE_TIMEOUT_MS, self.read_timeout_ms)
        if attempt.wants_write():
            return self.write_timeout_ms
        return self.read_timeout_ms

    def check(
        mut self, mut attempt: Attempt, connection: ClientConnection
    ) raises ClientError:
        """Decides what it means that a wait for an attempt was in vain. Raises
        if it may wait no longer."""
        if self.total.left_ms() == 0:
            if self.makes_progress(attempt.moved_len()):
                return
            raise self.overdue_error(attempt)
        if attempt.is_asking():
            attempt.note(RequestEvent.CONTINUE)
            return
        var phase_ms = self.phase_ms(attempt)
        ref delivery = attempt.delivery
        if delivery.is_going_on() and (
            delivery.look(connection) or delivery.stalled_ms() < phase_ms
        ):
            return
        raise self.silence_error(attempt)

    def silence_error(self, attempt: Attempt) -> ClientError:
        """Makes the error for a server that has not moved for too long, which
        names the setting that allows more."""
        return ClientError.timeout(
            attempt.phase(), self.phase_ms(attempt), idle_ms=self._own_idle_ms
        )

    def check_queue(self) raises ClientError:
        """Raises if a request without a connection may wait no longer."""
        if self.total.left_ms() == 0:
            raise total_error(self.total, Phase.QUEUE)

    def makes_progress(mut self, moved_len: Int) -> Bool:
        """Starts the total time anew if enough content went since its start:
        `moved_len` is how many bytes the attempt has sent and received. Returns
        False if the request has to end."""
        if not self._is_by_progress:
            return False
        if moved_len - self._start_len < PROGRESS_LEN_MIN:
            return False
        self._start_len = moved_len
        self.restart()
        return True

    def overdue_error(self, attempt: Attempt) -> ClientError:
        """Makes the error for a total time that is over, which says how much
        had come."""
        if self._is_for_head:
            return ClientError(
                Phase.READ_HEAD,
                Timeout,
                String(
                    "no head of a response within ",
                    self.total.timeout_ms,
                    " ms; head_timeout_ms allows more",
                ),
            )
        var error = total_error(self.total, attempt.phase())
        if attempt.has_head():
            error.reason.write(
                "; ",
                attempt.parser.body.taken_len,
                " bytes of content had come",
            )
        if self._is_by_progress:
            error.reason.write(
                "; less than ", PROGRESS_LEN_MIN, " of them in that time"
            )
        return error^


def total_error(total: Deadline, phase: Phase) -> ClientError:
    """Makes the error for a request that took too long as a whole."""
    return ClientError(
        Phase.TOTAL,
        Timeout,
        String(
            "not complete within ",
            total.timeout_ms,
            " ms; total_timeout_ms allows more (it was at: ",
            phase,
            ")",
        ),
    )


def shorter(left_ms: Int, right_ms: Int) -> Int:
    """Chooses the shorter of two times in milliseconds, each negative for
    ever."""
    if left_ms < 0:
        return right_ms
    if right_ms < 0:
        return left_ms
    return min(left_ms, right_ms)
