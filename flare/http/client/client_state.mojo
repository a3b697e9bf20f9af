"""What a client keeps between requests."""

from flare.http.client.attempt import Attempt
from flare.http.client.call import Call
from flare.http.client.config import ClientConfig
from flare.http.client.connection import ClientConnection
from flare.http.client.endpoint import Endpoint
from flare.http.client.error import ClientError
from flare.http.client.pool import Pool
from flare.http.client.retry import is_transient
from flare.net.error import Timeout
from flare.sys.clock import coarse_monotonic_ms


struct ClientState(Movable):
    """Configuration, idle connections and the buffers of the next exchange."""

    var config: ClientConfig
    """The configuration."""
    var pool: Pool[ClientConnection]
    """Idle connections."""
    var attempt: Attempt
    """Buffers that blocking calls use one after the other."""

    def __init__(out self, var config: ClientConfig):
        """Starts without connections.

        Args:
            config: The configuration, whose `problem` is empty.
        """
        self.pool = Pool[ClientConnection](config.pool)
        self.config = config^
        self.attempt = Attempt()

    def take_idle(mut self, endpoint: Endpoint) -> Optional[ClientConnection]:
        """Takes an idle connection that is good for a request.

        Args:
            endpoint: Where it has to lead.

        Returns:
            The connection, or nothing. Those on which something has arrived
            are closed on the way.
        """
        while True:
            var found = self.pool.take(endpoint, coarse_monotonic_ms())
            if not found:
                return None
            var connection = found.take()
            if connection.is_quiet():
                return connection^

    def put_back(mut self, var connection: ClientConnection):
        """Keeps a connection for the next request.

        Args:
            connection: The connection, whose last exchange was complete.
        """
        var endpoint = connection.endpoint.copy()
        self.pool.put(endpoint^, connection^, coarse_monotonic_ms())

    def is_stale(self, call: Call, error: ClientError) -> Bool:
        """Tells whether an idle connection failed because it was idle.

        That says nothing of the server, so a new connection may be tried at
        once.

        Args:
            call: The request.
            error: How it failed on a connection that was used before.

        Returns:
            True if the request may be sent again.
        """
        return (
            self._may_repeat(call)
            and error.kind != Timeout
            and is_transient(error.phase)
        )

    def may_retry(self, call: Call, error: ClientError) -> Bool:
        """Tells whether a failed request may be sent again, after a pause.

        Args:
            call: The request.
            error: How it failed.

        Returns:
            True if that is safe, allowed, and may help.
        """
        return (
            call.retry_count < self.config.max_retries
            and is_transient(error.phase)
            and self._may_repeat(call)
        )

    def _may_repeat(self, call: Call) -> Bool:
        var failed = call.describe_failure(
            self.attempt.was_sent, self.attempt.exchange.has_begun()
        )
        return failed.may_repeat() and call.total.left_ms() != 0
