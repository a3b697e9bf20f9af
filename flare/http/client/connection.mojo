"""A connection between requests."""

from flare.http.client.endpoint import Endpoint
from flare.http.client.transport import Transport
from flare.sys.errno import EAGAIN


struct ClientConnection(Movable):
    """An open connection and where it leads; dropping it closes it.

    It holds no buffers: those belong to the `Attempt` that uses it.
    """

    var transport: Transport
    """The octets."""
    var endpoint: Endpoint
    """Where it leads."""
    var request_count: Int
    """How many requests it has carried."""

    def __init__(out self, var transport: Transport, var endpoint: Endpoint):
        """Takes an open connection.

        Args:
            transport: The octets.
            endpoint: Where it leads.
        """
        self.transport = transport^
        self.endpoint = endpoint^
        self.request_count = 0

    def is_quiet(mut self) -> Bool:
        """Tells whether an idle connection is good for a request.

        What a server sends unasked would be taken for the next response, and
        the end of the stream for a failure of the next request.

        Returns:
            True if the connection is open and nothing has arrived.
        """
        var octet = Array[UInt8, 1](fill=0)
        return self.transport.receive(Span(octet)) == -EAGAIN
