"""How long a request may wait for what."""

from flare.http.client.attempt import CONTINUE_TIMEOUT_MS, Attempt
from flare.http.client.connection import ClientConnection
from flare.http.client.error import ClientError, Phase
from flare.sys.deadline import Deadline


@fieldwise_init
struct Patience(ImplicitlyCopyable):
    """The times that a request has."""

    var read_timeout_ms: Int
    """Longest silence while octets are awaited, from when the server has got
    the request; negative for ever."""
    var write_timeout_ms: Int
    """Longest time without progress while sending; negative for ever."""
    var total: Deadline
    """When all of it has to be over."""

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
        self, mut attempt: Attempt, connection: ClientConnection
    ) raises ClientError:
        """Decides what it means that a wait was in vain.

        Args:
            attempt: What was waited for.
            connection: Its connection.

        Raises:
            ClientError: If it may wait no longer.
        """
        if self.total.left_ms() == 0:
            raise total_error(self.total, attempt.phase())
        if attempt.is_asking():
            attempt.stop_asking()
            return
        if attempt.delivers(connection):
            return
        raise ClientError.timeout(attempt.phase(), self._phase_ms(attempt))


def total_error(total: Deadline, phase: Phase) -> ClientError:
    """Makes the error for a request that took too long as a whole.

    Args:
        total: The deadline that is over.
        phase: What it was at.

    Returns:
        The error.
    """
    var error = ClientError.timeout(
        materialize[Phase.TOTAL](), total.timeout_ms
    )
    error.reason.write(" (it was at: ", phase, ")")
    return error^


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
