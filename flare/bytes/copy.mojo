"""Octets copied into a list of their own."""


@no_inline
def list_of(octets: Span[UInt8, _]) -> List[UInt8]:
    """Copies octets at once; `List(octets)` goes from octet to octet, which takes
    more than twice as long for a hundred of them."""
    var copy = List[UInt8](capacity=len(octets))
    copy.extend(octets)
    return copy^
