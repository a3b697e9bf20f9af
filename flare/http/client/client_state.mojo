"""What a client keeps between requests."""

from flare.http.client.attempt import Attempt
from flare.http.client.config import ClientConfig, accept_codings
from flare.http.client.error import ClientError, Phase
from flare.http.client.pool import (
    ClientConnection,
    Endpoint,
    Pool,
    keep_alive_ms,
)
from flare.http.client.prepared_request import Call
from flare.http.client.response import ClientResponse
from flare.http.cookie.jar import CookieJar
from flare.sys.clock import coarse_monotonic_ms, unix_seconds
from flare.tls.context import TlsClientContext
from flare.tls.session import TlsSession


struct ClientState(Movable):
    """Configuration, idle connections and the buffers of the next exchange."""

    var config: ClientConfig
    """The configuration."""
    var pool: Pool[ClientConnection]
    """Idle connections."""
    var tls: Optional[TlsClientContext]
    """What TLS connections share; made for the first one."""
    var jar: Optional[CookieJar]
    """Cookies, if they are kept."""
    var attempt: Attempt
    """Buffers that blocking calls use one after the other."""

    def __init__(out self, var config: ClientConfig):
        """Starts without connections.

        Args:
            config: The configuration, whose `problem` is empty.
        """
        self.pool = Pool[ClientConnection](config.pool)
        self.config = config^
        accept_codings(self.config)
        self.tls = None
        self.jar = None
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

    def end_exchange(
        mut self,
        var connection: ClientConnection,
        is_reusable: Bool,
        response: ClientResponse,
    ):
        """Keeps what the next request can use: the connection, or at least a
        ticket for the next one.

        Args:
            connection: The connection, whose last exchange is over.
            is_reusable: True if it may carry another request.
            response: The response that it has carried.
        """
        connection.request_count += 1
        if connection.endpoint.is_tls and connection.request_count == 1:
            # By now a server of TLS 1.3 has sent its ticket.
            self._keep_ticket(connection)
        if not is_reusable or connection.transport.has_ended():
            # It is closed at once (RFC 8446 section 6), not when it is wanted.
            return
        var endpoint = connection.endpoint.copy()
        self.pool.put(
            endpoint^,
            connection^,
            coarse_monotonic_ms(),
            keep_alive_ms(response.headers),
        )

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

    def add_cookies(mut self, mut call: Call):
        """Gives a request the cookies that go to its URL.

        Args:
            call: The request.
        """
        if self.jar:
            call.cookie = self.jar.value().header_for(call.url, unix_seconds())

    def keep_cookies(mut self, response: ClientResponse):
        """Stores the cookies that a response sets.

        Args:
            response: The response.
        """
        if not self.jar:
            return
        var index = response.headers.find("set-cookie")
        while index >= 0:
            _ = self.jar.value().store(
                response.url, response.headers.value(index), unix_seconds()
            )
            index = response.headers.find("set-cookie", index + 1)
