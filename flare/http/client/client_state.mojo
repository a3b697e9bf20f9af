"""What a client keeps between requests."""

from flare.http.client.attempt import Attempt
from flare.http.client.call import Call
from flare.http.client.config import ClientConfig
from flare.http.client.connection import ClientConnection
from flare.http.client.decoding import accepted_codings
from flare.http.client.endpoint import Endpoint
from flare.http.client.error import ClientError, Phase
from flare.http.client.pool import Pool
from flare.http.client.retry import is_transient
from flare.net.error import Timeout
from flare.sys.clock import coarse_monotonic_ms
from flare.tls.client_context import TlsClientContext
from flare.tls.session import TlsSession


struct ClientState(Movable):
    """Configuration, idle connections and the buffers of the next exchange."""

    var config: ClientConfig
    """The configuration."""
    var pool: Pool[ClientConnection]
    """Idle connections."""
    var tls: Optional[TlsClientContext]
    """What TLS connections share; made for the first one."""
    var attempt: Attempt
    """Buffers that blocking calls use one after the other."""

    def __init__(out self, var config: ClientConfig):
        """Starts without connections.

        Args:
            config: The configuration, whose `problem` is empty.
        """
        self.pool = Pool[ClientConnection](config.pool)
        self.config = config^
        _accept_codings(self.config)
        self.tls = None
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
        connection.request_count += 1
        if connection.endpoint.is_tls and connection.request_count == 1:
            # By now a server of TLS 1.3 has sent its ticket.
            self._keep_ticket(connection)
        var endpoint = connection.endpoint.copy()
        self.pool.put(endpoint^, connection^, coarse_monotonic_ms())

    def _keep_ticket(self, connection: ClientConnection):
        if self.tls:
            self.tls.value().tickets.put(
                connection.endpoint.name(), connection.transport.ticket()
            )

    def session(mut self, endpoint: Endpoint) raises ClientError -> TlsSession:
        """Begins a TLS session, resuming an earlier one if there is a ticket.

        Args:
            endpoint: With whom.

        Returns:
            The session, before its handshake.

        Raises:
            ClientError: If OpenSSL is missing or the configuration does not
                work.
        """
        try:
            if not self.tls:
                self.tls = TlsClientContext(self.config.tls)
            ref context = self.tls.value()
            var session = context.session(endpoint.host)
            var ticket = context.tickets.take(endpoint.name())
            _ = session.resume(Span(ticket))
            return session^
        except error:
            raise ClientError(materialize[Phase.TLS](), error)

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


def _accept_codings(mut config: ClientConfig):
    if not config.decodes_content or "accept-encoding" in config.headers:
        return
    var codings = accepted_codings()
    if codings.byte_length() == 0:
        return
    try:
        config.headers.set("Accept-Encoding", codings)
    except:
        # The fields are full; then compressed content is not asked for.
        return
