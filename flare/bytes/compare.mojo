"""Whether octets are the same.

Each `==` of the standard library is 400 lines of IR for each pair of types that
it is used with; this one is generated once.
"""


@no_inline
def same_octets(left: Span[UInt8, _], right: Span[UInt8, _]) -> Bool:
    """Compares length and octets."""
    # SAFETY: both spans have the length that is compared, and of eight octets
    # or more the last eight lie within.
    var length = len(left)
    if length != len(right):
        return False
    var a = left.unsafe_ptr()
    var b = right.unsafe_ptr()
    if length < 8:
        for index in range(length):
            if a[unsafe_offset=index] != b[unsafe_offset=index]:
                return False
        return True
    for index in range(0, length - 8, 8):
        if load_word(a, index) != load_word(b, index):
            return False
    return load_word(a, length - 8) == load_word(b, length - 8)


@always_inline
def load_word(base: Pointer[UInt8, _], offset: Int) -> UInt64:
    """Reads eight octets, which the caller has there."""
    # SAFETY: as said.
    return (
        base.unsafe_offset(offset)
        .unsafe_bitcast[UInt64]()
        .unsafe_load[alignment=1]()
    )
