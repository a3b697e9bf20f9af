"""Whether octets are the same.

Each `==` of the standard library is 400 lines of IR for each pair of types that
it is used with; this one is generated once.
"""

from std.memory import unsafe_memcmp


@no_inline
def same_octets(left: Span[UInt8, _], right: Span[UInt8, _]) -> Bool:
    """Compares octets.

    Args:
        left: Octets.
        right: Octets.

    Returns:
        True if both have the same length and the same octets.
    """
    # SAFETY: both spans have the length that is compared.
    if len(left) != len(right):
        return False
    return unsafe_memcmp(left.unsafe_ptr(), right.unsafe_ptr(), len(left)) == 0
