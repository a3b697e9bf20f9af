"""A hasher for tables whose keys peers may choose."""

from flare.bytes.siphash import Keyed, SipHash
from flare.sys.process_key import process_key
from std.hash import Hasher


struct KeyedHasher(Defaultable, Hasher, Keyed, Movable):
    """SipHash-1-3 with the key of the process, for `Dict[K, V, KeyedHasher]`.

    The default hasher of `Dict` has no key, so anybody can compute names that
    all fall into one place, and a table of them costs the square of their
    number. Use this one wherever a peer chooses the keys: names in JSON, users,
    paths, rooms.
    """

    comptime HASH_KEY_LEN = 16
    """Length of the key in bytes."""

    var _state: SipHash[1, 3]

    @always_inline
    def __init__(out self):
        """Starts with nothing hashed."""
        self._state = SipHash[1, 3](process_key())

    def update(mut self, value: ImmSpan[UInt8, _]):
        """Takes octets.

        Args:
            value: The octets.
        """
        self._state.update(value)

    def _update_with_simd(mut self, value: SIMD[_, _]):
        """Takes numbers, each as a word."""
        var words = value.to_bits[DType.uint64]()
        comptime for index in range(value.length):
            self._state.update_word(words[index])

    def finish(self) -> UInt64:
        """Computes the hash.

        Returns:
            The hash of all that was taken.
        """
        return self._state.finish()
