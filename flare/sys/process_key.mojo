"""A key that each run of a program has for itself."""

from flare.bytes.siphash import SipKey
from flare.sys.clock import realtime_ns
from flare.sys.platform import IS_MACOS
from flare.sys.random import fill_random
from std.ffi import _Global, external_call

comptime _AT_RANDOM = UInt64(25)
# Where the kernel has put 16 random octets for the program (getauxval(3)).


@always_inline
def process_key() -> SipKey:
    """Gives the key of this process, which its children have, too.

    On Linux the octets are those that the kernel's random numbers leave beside
    every program that it starts, so they are there before anything can race for
    them, and reading them takes no lock. Elsewhere they are drawn once, when
    they are first asked for. The C library makes its own secrets of the kernel's
    octets: nothing that is computed with them may go to a peer.

    Returns:
        The key; the same for as long as the process runs.
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
        low |= UInt64(octets[place]) << UInt64(8 * place)
        high |= UInt64(octets[place + 8]) << UInt64(8 * place)
    return SipKey(low, high)
