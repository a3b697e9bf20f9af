"""Limits on the texts that are parsed."""


@fieldwise_init
struct JsonLimits(Copyable, Movable):
    """What a text may ask of the parser."""

    var depth_max: Int
    """Most arrays and objects inside each other.

    The parser does not recurse, so this guards the code that walks the value.
    """
    var length_max: Int
    """Most octets of text.

    A value takes at most 9 bytes of memory for each octet of its text, and up
    to three times as much while it is parsed.
    """

    comptime DEFAULT = JsonLimits(depth_max=128, length_max=64 * 1024 * 1024)
    """More than any sensible interface needs, less than what hurts."""
