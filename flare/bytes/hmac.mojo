"""HMAC-SHA256 (RFC 2104)."""

from flare.bytes.sha256 import (
    SHA256_BLOCK_LEN,
    SHA256_LEN,
    Sha256,
    Sha256Digest,
    sha256,
)


struct HmacSha256(Copyable, Movable):
    """Takes octets in pieces of any length, and gives their code.

    Compare codes with `equals_in_constant_time` alone.
    """

    var _inner: Sha256
    var _outer: Sha256

    def __init__(out self, key: Span[UInt8, _]):
        """Starts with no octets.

        Args:
            key: The secret: 32 random octets are right; a longer one than a
                block is replaced by its digest (RFC 2104 section 2).
        """
        var block = Array[UInt8, SHA256_BLOCK_LEN](fill=0)
        if len(key) <= SHA256_BLOCK_LEN:
            for index in range(len(key)):
                block[index] = key[index]
        else:
            var digest = sha256(key)
            for index in range(SHA256_LEN):
                block[index] = digest[index]
        self._inner = Sha256()
        self._outer = Sha256()
        for index in range(SHA256_BLOCK_LEN):
            block[index] ^= 0x36
        self._inner.update(Span(block))
        for index in range(SHA256_BLOCK_LEN):
            block[index] ^= 0x36 ^ 0x5C
        self._outer.update(Span(block))

    def update(mut self, octets: Span[UInt8, _]):
        """Takes more octets.

        Args:
            octets: Of any number.
        """
        self._inner.update(octets)

    def finish(deinit self) -> Sha256Digest:
        """Ends the octets.

        Returns:
            The code.
        """
        var inner = self._inner^
        var outer = self._outer^
        var digest = inner^.finish()
        outer.update(Span(digest))
        return outer^.finish()


def hmac_sha256(key: Span[UInt8, _], octets: Span[UInt8, _]) -> Sha256Digest:
    """Computes the code of octets at hand.

    Args:
        key: The secret, as for `HmacSha256`.
        octets: Any octets.

    Returns:
        The code.
    """
    var code = HmacSha256(key)
    code.update(octets)
    return code^.finish()


def equals_in_constant_time(
    left: Span[UInt8, _], right: Span[UInt8, _]
) -> Bool:
    """Compares a secret with what a peer sent.

    The time depends on the length of `right` alone, so that the peer learns
    nothing from it about how much was right.

    Args:
        left: The secret.
        right: What the peer sent.

    Returns:
        True if both have the same octets.
    """
    var difference = len(left) ^ len(right)
    for index in range(len(right)):
        var octet = left[index % len(left)] if len(left) > 0 else UInt8(0)
        difference |= Int(octet ^ right[index])
    return difference == 0
