"""The octets of a connection: the place where TLS goes in."""

from flare.net.raw_socket import RawSocket


struct Transport(Movable):
    """A connected socket whose calls never wait."""

    var _socket: RawSocket

    def __init__(out self, var socket: RawSocket):
        """Takes a connected socket.

        Args:
            socket: The socket.
        """
        self._socket = socket^

    def number(self) -> Int32:
        """Lends the descriptor, to wait for it.

        Returns:
            The number.
        """
        return self._socket.number()

    def send(mut self, octets: Span[UInt8, _]) -> Int:
        """Writes octets.

        Args:
            octets: What to send.

        Returns:
            How many were taken, or a negative errno.
        """
        return self._socket.send(octets)

    def receive(mut self, room: MutSpan[UInt8, _]) -> Int:
        """Reads octets.

        Args:
            room: Where to.

        Returns:
            How many, 0 at the end of the stream, or a negative errno.
        """
        return self._socket.receive(room)
