"""Octets copied into a list or a text of their own."""


@no_inline
def list_of(octets: Span[UInt8, _]) -> List[UInt8]:
    """Copies octets at once; `List(octets)` goes from octet to octet, which takes
    more than twice as long for a hundred of them."""
    var copy = List[UInt8](capacity=len(octets))
    copy.extend(octets)
    return copy^


@no_inline
def text_of(octets: Span[UInt8, _]) -> String:
    """Copies octets, be they UTF-8 or not, into a text at once: of the
    constructors of `String` one goes through a writer, and the other looks at
    each octet, and ends the program where it is not UTF-8."""
    var copy = String()
    copy += StringSpan(unsafe_from_utf8=octets)
    return copy^
