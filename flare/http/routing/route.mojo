"""One route of a router."""

from flare.http.routing.any_handler import AnyHandler


struct Route(Movable):
    """What a router keeps of one registration."""

    var method: UInt8
    """The method's number, or `ANY_METHOD`."""
    var pattern: String
    """The pattern as registered."""
    var names: List[String]
    """The names of its parameters, in order."""
    var handler: AnyHandler
    """What answers."""
    var max_body_size: Int
    """Most content in bytes, or `DEFAULT_BODY_LIMIT`."""
    var may_block: Bool
    """False if the handler never takes long."""

    def __init__(
        out self,
        method: UInt8,
        pattern: StringSpan,
        var names: List[String],
        var handler: AnyHandler,
        max_body_size: Int,
        may_block: Bool,
    ):
        """Makes a route.

        Args:
            method: The method's number, or `ANY_METHOD`.
            pattern: The pattern.
            names: The names of its parameters, in order.
            handler: What answers.
            max_body_size: Most content in bytes, or `DEFAULT_BODY_LIMIT`.
            may_block: False if the handler never takes long.
        """
        self.method = method
        self.pattern = String(pattern)
        self.names = names^
        self.handler = handler^
        self.max_body_size = max_body_size
        self.may_block = may_block

    def take_handler(deinit self) -> AnyHandler:
        """Takes the handler out.

        Returns:
            What answers.
        """
        return self.handler^
