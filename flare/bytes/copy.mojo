"""Octets copied into a list or a text of their own."""

from std.memory import unsafe_memcpy


@no_inline
def list_of(octets: Span[UInt8, _]) -> List[UInt8]:
    """Copies octets at once; `List(octets)` goes from octet to octet, which takes
    more than twice as long for a hundred of them."""
    var copy = List[UInt8](capacity=len(octets))
    copy.resize(unsafe_uninit_length=len(octets))
    # SAFETY: the list has so many octets, and nobody else has it.
    unsafe_memcpy(
        dest=copy.unsafe_ptr(), src=octets.unsafe_ptr(), count=len(octets)
    )
    return copy^


@no_inline
def text_of(octets: Span[UInt8, _]) -> String:
    """Copies octets, be they UTF-8 or not, into a text at once: of the
    constructors of `String` one goes through a writer, and the other looks at
    each octet (and, with all assertions on, takes nothing but UTF-8)."""
    var copy = String(unsafe_uninit_length=len(octets))
    # SAFETY: it has so many octets, and nobody else has it.
    unsafe_memcpy(
        dest=copy.unsafe_ptr_mut(), src=octets.unsafe_ptr(), count=len(octets)
    )
    return copy^
