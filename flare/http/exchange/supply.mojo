"""How much of a request is here to be sent."""


@fieldwise_init
struct Supply(Equatable, TrivialRegisterPassable):
    """How much of a request's content is here: all, or more will come; from its
    start, so that it may be sent once more, or what was sent is gone."""

    var number: UInt8

    comptime ALL = Supply(0)
    """All, from its start."""
    comptime ARRIVING = Supply(1)
    """What has come so far, from its start."""
    comptime REST_ARRIVING = Supply(2)
    """What has come so far and was not sent before."""
    comptime REST = Supply(3)
    """The last of it; what was sent before is gone."""
    comptime CUT = Supply(4)
    """Not all, and no more will be sent."""

    def has_all(self) -> Bool:
        """Tells whether no more will come."""
        return self == Self.ALL or self == Self.REST

    def is_kept(self) -> Bool:
        """Tells whether the request is here from its start, so that it could be
        sent once more."""
        return self == Self.ALL or self == Self.ARRIVING

    def after_drop(self) -> Self:
        """Tells what is left when what was sent is dropped: the same without
        the start."""
        if self == Self.CUT:
            return self
        return Self.REST if self.has_all() else Self.REST_ARRIVING

    def after_end(self) -> Self:
        """Tells what is left when the last of the content has come: the same
        with the end."""
        if self == Self.CUT:
            return self
        return Self.ALL if self.is_kept() else Self.REST
