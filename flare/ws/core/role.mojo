"""Which side of a connection this is."""


@fieldwise_init
struct Role(Equatable, TrivialRegisterPassable):
    """A side of a connection; they differ in who masks (RFC 6455 section 5.1).
    """

    var code: UInt8
    """A small number, distinct for each side."""

    comptime CLIENT = Role(0)
    """Masks what it sends, and takes nothing masked."""
    comptime SERVER = Role(1)
    """Takes only what is masked, and masks nothing."""
