"""The order in which the addresses of a host are tried."""

from flare.net.ip import IpAddr


def interleave_families(addresses: List[IpAddr]) -> List[IpAddr]:
    """Alternates between IPv6 and IPv4, so that one broken family costs little.

    Source: RFC 8305 section 4, with a First Address Family Count of 1. The
    family of the first address stays first, and each family keeps its order.

    Args:
        addresses: Addresses, best first (RFC 6724).

    Returns:
        The same addresses.
    """
    var ordered = List[IpAddr](capacity=len(addresses))
    if len(addresses) == 0:
        return ordered^
    var wants_v4 = addresses[0].is_v4()
    # The next address of each family: IPv6 at 0, IPv4 at 1.
    var next = Array[Int, 2](fill=0)
    while len(ordered) < len(addresses):
        var family = 1 if wants_v4 else 0
        var index = next[family]
        while index < len(addresses) and addresses[index].is_v4() != wants_v4:
            index += 1
        if index < len(addresses):
            ordered.append(addresses[index])
        next[family] = index + 1
        wants_v4 = not wants_v4
    return ordered^
