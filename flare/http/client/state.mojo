"""What a client keeps between requests: its configuration, idle connections,
cookies, and buffers."""

from flare.http.client.attempt import Attempt
from flare.http.client.config import ClientConfig, accept_codings
from flare.http.client.connector import ConnectContext
from flare.http.client.pool import (
    ClientConnection,
    Endpoint,
    Pool,
    keep_alive_ms,
)
from flare.http.client.prepared_request import PreparedRequest
from flare.http.client.response import ClientResponse
from flare.http.cookie.jar import CookieJar
from flare.sys.clock import coarse_monotonic_ms, unix_seconds
from std.memory import OwnedPointer

comptime SPARE_COUNT_MAX = 4
"""Most buffers kept for the next requests; each has about 64 KiB."""


struct ClientState(Movable):
    """Configuration, idle connections and the buffers of the next exchange."""

    var config: ClientConfig
    """The configuration."""
    var pool: Pool[OwnedPointer[ClientConnection]]
    """Idle connections."""
    var context: ConnectContext
    """What connections share."""
    var jar: Optional[CookieJar]
    """Cookies, if they are kept."""
    # Buffers of requests that are over, for the next ones.
    var _spare: List[OwnedPointer[Attempt]]

    def __init__(out self, var config: ClientConfig):
        """Starts without connections.

        Args:
            config: The configuration, whose `problem` is empty.
        """
        self.pool = Pool[OwnedPointer[ClientConnection]](config.pool)
        self.config = config^
        accept_codings(self.config)
        self.context = ConnectContext(
            self.config.tls.copy(), self.config.head_limits
        )
        self.jar = None
        self._spare = []

    def take_attempt(mut self) -> OwnedPointer[Attempt]:
        """Gives the buffers of a request that is over, or new ones."""
        if len(self._spare) > 0:
            return self._spare.pop()
        return OwnedPointer(Attempt())

    def give_attempt(mut self, var attempt: OwnedPointer[Attempt]):
        """Keeps the buffers of a request that is over."""
        if len(self._spare) < SPARE_COUNT_MAX:
            self._spare.append(attempt^)

    def take_idle(
        mut self, endpoint: Endpoint
    ) -> Optional[OwnedPointer[ClientConnection]]:
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
            if connection[].is_quiet():
                return connection^

    def end_exchange(
        mut self,
        var connection: OwnedPointer[ClientConnection],
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
        connection[].request_count += 1
        if connection[].endpoint.is_tls and connection[].request_count == 1:
            # By now a server of TLS 1.3 has sent its ticket.
            self.context.keep_ticket(connection[])
        if not is_reusable or connection[].transport.has_ended():
            # It is closed at once (RFC 8446 section 6), not when it is wanted.
            return
        var endpoint = connection[].endpoint.copy()
        self.pool.put(
            endpoint^,
            connection^,
            coarse_monotonic_ms(),
            keep_alive_ms(response.headers),
        )

    def add_cookies(mut self, mut request: PreparedRequest):
        """Gives a request the cookies that go to its URL.

        Args:
            request: The request.
        """
        if self.jar:
            request.cookie = self.jar.value().header_for(
                request.url, unix_seconds()
            )

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
