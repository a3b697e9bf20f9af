"""The four kinds of methods, on both sides."""


@fieldwise_init
struct GrpcKind(Equatable, TrivialRegisterPassable):
    """Which sides of a method are streams."""

    var code: UInt8
    """A small number, distinct for each kind."""

    comptime UNARY = GrpcKind(0)
    """A request, and a reply."""
    comptime SERVER_STREAM = GrpcKind(1)
    """A request, and any number of replies."""
    comptime CLIENT_STREAM = GrpcKind(2)
    """Any number of requests, and a reply."""
    comptime BIDI_STREAM = GrpcKind(3)
    """Any number of both."""

    def takes_stream(self) -> Bool:
        """Tells whether any number of requests may come."""
        return self.code >= 2

    def gives_stream(self) -> Bool:
        """Tells whether any number of replies may go."""
        return self.code & 1 == 1
