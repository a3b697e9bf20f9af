"""Octets copied into a list or a text of their own."""

from std.memory import unsafe_memcpy
from std.sys.intrinsics import llvm_intrinsic


@always_inline
def unsafe_copy_octets(to: MutPointer[UInt8, _], octets: Span[UInt8, _]):
    """Copies octets to where there is room for them, and none of them. In line, the
    standard library's copy goes from octet to octet behind the last 32."""
    if __is_run_in_comptime_interpreter:
        unsafe_memcpy(dest=to, src=octets.unsafe_ptr(), count=len(octets))
    else:
        # SAFETY: the caller's promise.
        llvm_intrinsic["llvm.memcpy", NoneType](
            to, octets.unsafe_ptr(), len(octets), False
        )


@no_inline
def list_of(octets: Span[UInt8, _]) -> List[UInt8]:
    """Copies octets at once; `List(octets)` goes from octet to octet, which takes
    more than twice as long for a hundred of them."""
    var copy = List[UInt8](capacity=len(octets))
    copy.resize(unsafe_uninit_length=len(octets))
    # SAFETY: the list has so many octets, and nobody else has it.
    unsafe_copy_octets(copy.unsafe_ptr(), octets)
    return copy^


@no_inline
def refill(mut list: List[UInt8], octets: Span[UInt8, _]):
    """Puts octets in place of those that a list has, into its memory if that is
    enough. They must not lie there."""
    if list.capacity() < len(octets):
        list = List[UInt8](capacity=len(octets))
    list.resize(unsafe_uninit_length=len(octets))
    # SAFETY: as for `list_of`.
    unsafe_copy_octets(list.unsafe_ptr(), octets)


@no_inline
def text_of(octets: Span[UInt8, _]) -> String:
    """Copies octets, be they UTF-8 or not, into a text at once: of the
    constructors of `String` one goes through a writer, and the other looks at
    each octet (and, with all assertions on, takes nothing but UTF-8)."""
    var copy = String(unsafe_uninit_length=len(octets))
    # SAFETY: it has so many octets, and nobody else has it.
    unsafe_copy_octets(copy.unsafe_ptr_mut(), octets)
    return copy^
