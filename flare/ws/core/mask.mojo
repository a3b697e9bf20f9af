"""Masking: payload octets xor the four octets of a key, over and over.

Source: RFC 6455 section 5.3. The vectors are loaded and stored wherever the
octets lie; `apply_mask_scalar` is the twin that the tests compare with.
"""

from std.memory import bitcast
from std.sys import CompilationTarget

comptime _WIDTH = 32 if CompilationTarget.has_avx2() else 16


struct MaskingKey(TrivialRegisterPassable):
    """The key of one frame, or none."""

    var word: UInt32
    """The four octets in memory order."""
    var is_given: Bool
    """False for the frames of a server."""

    @always_inline
    def __init__(out self, word: UInt32):
        """Makes a key.

        Args:
            word: Four octets that nobody can foretell (RFC 6455 section 10.3).
        """
        self.word = word
        self.is_given = True

    @always_inline
    @staticmethod
    def none() -> Self:
        """Makes what a server has in place of a key.

        Returns:
            No key.
        """
        var key = Self(0)
        key.is_given = False
        return key

    @always_inline
    def rotated(self, count: Int) -> Self:
        """Gives the key for the octets behind some that were masked.

        Args:
            count: How many octets were masked, at least 0.

        Returns:
            The key, turned.
        """
        var bits = UInt32(8 * (count & 3))
        if bits == 0:
            return self
        var turned = self
        turned.word = self.word >> bits | self.word << (32 - bits)
        return turned


@always_inline
def apply_mask(octets: MutSpan[UInt8, _], key: MaskingKey):
    """Masks or unmasks octets where they are.

    Args:
        octets: The octets; the first one meets the first octet of the key.
        key: The key; see `MaskingKey.rotated` for a later part of a payload.
    """
    # SAFETY: both ends are the span itself, which lives as long as the call.
    var start = octets.unsafe_ptr()
    _mask(
        start.unsafe_mut_cast[False]().unsafe_origin_cast[ImmUntrackedOrigin](),
        start,
        len(octets),
        key.word,
    )


@always_inline
def copy_masked(
    source: Span[UInt8, _], dest: MutSpan[UInt8, _], key: MaskingKey
):
    """Masks or unmasks octets on their way to another place.

    Args:
        source: The octets.
        dest: Where to; as long, and apart from the source.
        key: The key.
    """
    # SAFETY: no more than either span holds.
    var count = min(len(source), len(dest))
    _mask(source.unsafe_ptr(), dest.unsafe_ptr(), count, key.word)


def _mask(
    source: Pointer[UInt8, _],
    dest: MutPointer[UInt8, _],
    count: Int,
    word: UInt32,
):
    # SAFETY: the callers promise `count` octets at both ends; every load and
    # store ends at `count` or before.
    comptime step = 4 * _WIDTH
    var wide = bitcast[DType.uint8, _WIDTH](
        SIMD[DType.uint32, _WIDTH // 4](word)
    )
    var index = 0
    while index + step <= count:
        comptime for part in range(4):
            var at = index + part * _WIDTH
            dest.unsafe_store(at, source.unsafe_load[width=_WIDTH](at) ^ wide)
        index += step
    while index + _WIDTH <= count:
        dest.unsafe_store(
            index, source.unsafe_load[width=_WIDTH](index) ^ wide
        )
        index += _WIDTH
    # A loop over octets here would cost more than all of a small frame.
    comptime for width in [16, 8, 4]:
        comptime if width < _WIDTH:
            if index + width <= count:
                var narrow = wide.slice[width]()
                dest.unsafe_store(
                    index, source.unsafe_load[width=width](index) ^ narrow
                )
                index += width
    while index < count:
        var shift = UInt32(8 * (index & 3))
        dest[unsafe_offset=index] = source[unsafe_offset=index] ^ UInt8(
            (word >> shift) & 0xFF
        )
        index += 1


def apply_mask_scalar(octets: MutSpan[UInt8, _], key: MaskingKey):
    """Masks or unmasks octets, one at a time.

    Args:
        octets: The octets.
        key: The key.
    """
    for index in range(len(octets)):
        var shift = UInt32(8 * (index & 3))
        octets[index] ^= UInt8((key.word >> shift) & 0xFF)
