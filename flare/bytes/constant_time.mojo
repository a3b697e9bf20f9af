"""Comparison that takes the same time whatever differs."""


def equals_in_constant_time(
    left: Span[UInt8, _], right: Span[UInt8, _]
) -> Bool:
    """Compares a secret with what a peer sent.

    The time depends on the length of `right` alone, so that the peer learns
    nothing from it about how much was right.

    Args:
        left: The secret.
        right: What the peer sent.

    Returns:
        True if both have the same octets.
    """
    var difference = len(left) ^ len(right)
    for index in range(len(right)):
        var octet = left[index % len(left)] if len(left) > 0 else UInt8(0)
        difference |= Int(octet ^ right[index])
    return difference == 0
