"""Words of octets: how fixed texts are compared at once.

A word holds octets in memory order, first octet lowest, on little-endian
machines, which all supported targets are.
"""

from flare.bytes.scan import BytePtr

comptime CASE_BITS_32: UInt32 = 0x20202020
"""The bit that tells lower-case ASCII letters from upper-case, in four octets."""

comptime CASE_BITS_64: UInt64 = 0x2020202020202020
"""The bit that tells lower-case ASCII letters from upper-case, in eight octets."""


@always_inline
def word64(text: StaticString) -> UInt64:
    """Makes the word of a text, for use at compile time.

    Args:
        text: Eight octets.

    Returns:
        The word that `load64` gives for the same octets.
    """
    var word = UInt64(0)
    var shift = UInt64(0)
    for octet in text.as_bytes():
        word |= UInt64(octet) << shift
        shift += 8
    return word


@always_inline
def word32(text: StaticString) -> UInt32:
    """Makes the word of a text, for use at compile time.

    Args:
        text: Four octets.

    Returns:
        The word that `load32` gives for the same octets.
    """
    return UInt32(word64(text))


@always_inline
def load64(base: BytePtr, offset: Int) -> UInt64:
    """Reads eight octets.

    Args:
        base: Start of the memory.
        offset: Offset of the first octet, with seven readable ones behind.

    Returns:
        The octets as a word.
    """
    # SAFETY: the caller promises eight readable octets.
    return (
        base.unsafe_offset(offset)
        .unsafe_bitcast[UInt64]()
        .unsafe_load[alignment=1]()
    )


@always_inline
def load32(base: BytePtr, offset: Int) -> UInt32:
    """Reads four octets.

    Args:
        base: Start of the memory.
        offset: Offset of the first octet, with three readable ones behind.

    Returns:
        The octets as a word.
    """
    # SAFETY: the caller promises four readable octets.
    return (
        base.unsafe_offset(offset)
        .unsafe_bitcast[UInt32]()
        .unsafe_load[alignment=1]()
    )


@always_inline
def load16(base: BytePtr, offset: Int) -> UInt16:
    """Reads two octets.

    Args:
        base: Start of the memory.
        offset: Offset of the first octet, with one readable one behind.

    Returns:
        The octets as a word.
    """
    # SAFETY: the caller promises two readable octets.
    return (
        base.unsafe_offset(offset)
        .unsafe_bitcast[UInt16]()
        .unsafe_load[alignment=1]()
    )
