"""A connection as exchanges see it: octets, and never a wait."""


trait OctetStream:
    """A connection that takes and gives octets as far as it can at once.

    What goes wrong is a negative number: that of the system's error, `-EAGAIN` to
    wait, or a smaller one of TLS. A signal ends no call.
    """

    def send(mut self, octets: Span[UInt8, _]) -> Int:
        """Writes octets, which are not empty. Returns how many were taken, or a
        negative number."""
        ...

    def send_two(
        mut self, first: Span[UInt8, _], second: Span[UInt8, _]
    ) -> Int:
        """Writes two pieces, neither empty, without joining them. Returns how
        many octets of both were taken, or a negative number."""
        ...

    def flush(mut self) -> Int:
        """Sends what was taken and has not left yet. Returns 0 if all has left,
        or a negative number."""
        ...

    def receive(mut self, room: MutSpan[UInt8, _]) -> Int:
        """Reads octets. Returns how many, 0 at the end of the stream, or a
        negative number."""
        ...
