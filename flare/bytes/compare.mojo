"""Whether octets are the same.

Each `==` of the standard library is 400 lines of IR for each pair of types that
it is used with; this one is generated once.
"""


@no_inline
def same_octets(left: Span[UInt8, _], right: Span[UInt8, _]) -> Bool:
    """Compares length and octets."""
    # SAFETY: both spans have the length that is compared, and of eight octets
    # or more the last eight lie within, and of four or more the last four.
    var length = len(left)
    if length != len(right):
        return False
    var a = left.unsafe_ptr()
    var b = right.unsafe_ptr()
    if length < 4:
        for index in range(length):
            if a[unsafe_offset=index] != b[unsafe_offset=index]:
                return False
        return True
    if length < 8:
        return load_ends(a, length) == load_ends(b, length)
    var start = 0
    while start < length - 16:
        if _differences(a, b, start, start + 8) != 0:
            return False
        start += 16
    return _differences(a, b, max(length - 16, 0), length - 8) == 0


@always_inline
def same_words(left: Span[UInt8, _], right: Span[UInt8, _]) -> Bool:
    """Tells whether octets are the same, and 4 to 32, as names and values of
    fields mostly have: without a call, which would cost more than to compare
    them. False says nothing; ask `same_octets` then. The lengths must be the
    same."""
    # SAFETY: of eight octets or more the last eight lie within, of four or more
    # the last four, and of sixteen or more the last sixteen.
    var length = len(right)
    debug_assert(len(left) == length, "not of one length")
    var a = left.unsafe_ptr()
    var b = right.unsafe_ptr()
    if length < 8:
        return length >= 4 and load_ends(a, length) == load_ends(b, length)
    if length > 32:
        return False
    var differences = _differences(a, b, 0, length - 8)
    if length > 16:
        differences |= _differences(a, b, 8, length - 16)
    return differences == 0


@always_inline
def same_short(left: Span[UInt8, _], right: Span[UInt8, _]) -> Bool:
    """Does what `same_octets` does, without a call for what mostly is the same and
    of 4 to 32 octets."""
    return len(left) == len(right) and (
        same_words(left, right) or same_octets(left, right)
    )


@always_inline
def _differences(
    a: Pointer[UInt8, _], b: Pointer[UInt8, _], first: Int, second: Int
) -> UInt64:
    """Tells which bits differ in one of two words."""
    return (load_word(a, first) ^ load_word(b, first)) | (
        load_word(a, second) ^ load_word(b, second)
    )


@always_inline
def load_ends(base: Pointer[UInt8, _], length: Int) -> UInt64:
    """Reads the first four octets and the last four, which the caller has
    there."""
    # SAFETY: as said.
    var first = base.unsafe_bitcast[UInt32]().unsafe_load[alignment=1]()
    var last = (
        base.unsafe_offset(length - 4)
        .unsafe_bitcast[UInt32]()
        .unsafe_load[alignment=1]()
    )
    return UInt64(first) << 32 | UInt64(last)


@always_inline
def load_word(base: Pointer[UInt8, _], offset: Int) -> UInt64:
    """Reads eight octets, which the caller has there."""
    # SAFETY: as said.
    return (
        base.unsafe_offset(offset)
        .unsafe_bitcast[UInt64]()
        .unsafe_load[alignment=1]()
    )
