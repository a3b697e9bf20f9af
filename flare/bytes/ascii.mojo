"""ASCII case folding, the only folding that HTTP knows (RFC 9110 section 5.1)."""


@always_inline
def ascii_lower(octet: UInt8) -> UInt8:
    """Folds one octet.

    Args:
        octet: Any octet.

    Returns:
        The lower-case letter for `A` to `Z`, everything else unchanged.
    """
    return octet | 0x20 if octet >= 65 and octet <= 90 else octet


def equals_ignore_case(left: Span[UInt8, _], right: Span[UInt8, _]) -> Bool:
    """Compares octets without regard to the case of ASCII letters.

    Args:
        left: Octets.
        right: Octets.

    Returns:
        True if both have the same length and the same folded octets.
    """
    # SAFETY: the index stays below the length that both share.
    if len(left) != len(right):
        return False
    for index in range(len(left)):
        var a = left.unsafe_get(index)
        var b = right.unsafe_get(index)
        if a != b and ascii_lower(a) != ascii_lower(b):
            return False
    return True


def trim_whitespace[o: ImmOrigin](octets: Span[UInt8, o]) -> Span[UInt8, o]:
    """Takes optional whitespace off both ends (RFC 9110 section 5.6.3, OWS).

    Parameters:
        o: Where the octets live.

    Args:
        octets: Octets that may begin or end with SP or HTAB.

    Returns:
        The part between.
    """
    var start = 0
    var end = len(octets)
    while start < end and (octets[start] == 32 or octets[start] == 9):
        start += 1
    while end > start and (octets[end - 1] == 32 or octets[end - 1] == 9):
        end -= 1
    return octets[start:end]
