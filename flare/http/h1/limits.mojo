"""Bounds of a message head."""


@fieldwise_init
struct HeadLimits(TrivialRegisterPassable):
    """How large a message head may be; a peer that goes beyond is refused."""

    var max_target_size: Int
    """Longest request target, or reason phrase of a response, in bytes."""
    var max_header_size: Int
    """Longest header section in bytes, without the empty line at its end."""
    var max_fields: Int
    """Most field lines."""
