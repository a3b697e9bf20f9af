"""Bounds of what is received."""


@fieldwise_init
struct WsLimits(TrivialRegisterPassable):
    """How long frames and messages may be; a peer that goes beyond is refused.
    """

    var frame_len_max: Int
    """Longest payload of a frame, in bytes."""
    var message_len_max: Int
    """Longest message, in bytes, decompressed."""
