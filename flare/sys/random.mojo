"""Random octets, the key of this process, and hashing with it."""

from flare.bytes.checked import *
from flare.bytes.siphash import Keyed, SipHash, SipKey
from flare.sys.clock import monotonic_ns, realtime_ns
from flare.sys.errno import EINTR, OsError, last_errno
from flare.sys.platform import IS_MACOS
from std.ffi import _Global, external_call
from std.hash import Hasher


# getentropy gives no more at once, on Linux and on macOS.
comptime _PIECE_LEN_MAX = 256


def fill_random(room: MutSpan[UInt8, _]) raises OsError:
    """Fills memory with octets that nobody can foretell. Raises if the system
    has no such source."""
    var start = 0
    while start < len(room):
        var end = min(start + _PIECE_LEN_MAX, len(room))
        var piece = room.between(start, end)
        var result = external_call["getentropy", Int32](
            piece.unsafe_ptr(), len(piece)
        )
        if result == 0:
            start = end
        elif last_errno() != EINTR:
            raise OsError("getentropy", last_errno())


comptime _AT_RANDOM = UInt64(25)
# Where the kernel has put 16 random octets for the program (getauxval(3)).


@always_inline
def random_word() -> UInt64:
    """Draws random bits that are no secret, for waits and numbers that differ
    between processes.
    """
    var octets = Array[UInt8, 8](fill=0)
    try:
        fill_random(Span(octets))
    except:
        # getentropy fails on no system that is in use.
        return UInt64(monotonic_ns())
    var word = UInt64(0)
    for index in range(8):
        word = (word << 8) | UInt64(octets.at(index))
    return word


def process_key() -> SipKey:
    """Gives the key of this process, which its children have, too; the same for
    as long as it runs.

    On Linux the octets are those that the kernel's random numbers leave beside
    every program that it starts, so they are there before anything can race for
    them, and reading them takes no lock. Elsewhere they are drawn once, when
    they are first asked for. The C library makes its own secrets of the
    kernel's octets: nothing that is computed with them may go to a peer.
    """
    comptime if not IS_MACOS:
        var address = external_call["getauxval", Int](_AT_RANDOM)
        if address != 0:
            # SAFETY: the kernel keeps 16 octets there while the program runs.
            var octets = Pointer[UInt64, ImmUntrackedOrigin](
                unsafe_from_address=address
            )
            return SipKey(
                octets.unsafe_load[alignment=1](),
                octets.unsafe_load[alignment=1](1),
            )
    try:
        return _KEY.get_or_create_ptr()[]
    except:
        # The runtime has no memory for a word of its own.
        return SipKey(0, 0)


comptime _KEY = _Global["flare.process_key", _draw]


def _draw() -> SipKey:
    var octets = Array[UInt8, 16](fill=0)
    try:
        fill_random(Span(octets))
    except:
        # Not secret, but other at each start; getentropy fails on no system
        # that is in use.
        return SipKey(UInt64(realtime_ns()), 0)
    var low = UInt64(0)
    var high = UInt64(0)
    for place in range(8):
        low |= UInt64(octets.at(place)) << UInt64(8 * place)
        high |= UInt64(octets.at(place + 8)) << UInt64(8 * place)
    return SipKey(low, high)


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
        """Gives the hash of all that was taken."""
        return self._state.finish()
