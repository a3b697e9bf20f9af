"""Lending memory with a lifetime that the lender names."""


@always_inline
def unsafe_lend[
    T: AnyType, //, o: ImmOrigin
](base: Pointer[T, _], count: Int) -> Span[T, o]:
    """Lends elements for a lifetime of the caller's choice.

    The compiler cannot follow offsets into a buffer back to who owns it. This
    is the one place where a lifetime is asserted rather than inferred.

    Parameters:
        T: The elements' type.
        o: The lifetime to lend for: that of what owns the memory, or
            `ImmUntrackedOrigin` for a loan that ends with a call.

    Args:
        base: The first element.
        count: How many elements there are.

    Returns:
        The elements.
    """
    # SAFETY: the caller promises that the memory outlives `o`, and that nothing
    # writes to it meanwhile.
    return {
        unsafe_ptr = base.unsafe_mut_cast[False]().unsafe_origin_cast[o](),
        length = count,
    }


@always_inline
def unsafe_lend_text[
    o: ImmOrigin
](base: Pointer[UInt8, _], length: Int) -> StringSpan[o]:
    """Lends text for a lifetime of the caller's choice.

    Parameters:
        o: The lifetime to lend for, as for `unsafe_lend`.

    Args:
        base: The first octet of UTF-8.
        length: The length in bytes.

    Returns:
        The text.
    """
    # SAFETY: as for `unsafe_lend`; the caller promises UTF-8.
    return StringSpan(unsafe_from_utf8=unsafe_lend[o](base, length))
