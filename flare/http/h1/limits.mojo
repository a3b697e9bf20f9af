"""Bounds of a message head."""


@fieldwise_init
struct HeadLimits(TrivialRegisterPassable):
    """How large a request head may be; a peer that goes beyond is refused."""

    var max_target_size: Int
    """Longest request target in bytes."""
    var max_header_size: Int
    """Longest header section in bytes, without the empty line at its end."""
    var max_fields: Int
    """Most field lines."""
