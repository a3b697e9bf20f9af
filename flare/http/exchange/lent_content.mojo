"""Content of a request that goes out from where it was received."""

from flare.bytes.buffer import Buffer, unsafe_lend
from flare.bytes.checked import *

comptime LENT_LEN_MIN = 4_096
"""The least content that is worth two pieces, in bytes."""


struct LentContent(Movable, Sized):
    """Content of a request that goes out from where it was received.

    The worker keeps it there until the errand has given its response or was
    cancelled; what is sent on after that has to be copied before.
    """

    # SAFETY: whoever calls `unsafe_begin` says how long the octets stay, and calls
    # `end` or `move_to` before they go.
    var _octets: Span[UInt8, ImmUntrackedOrigin]

    def __init__(out self):
        """Makes one without octets."""
        self._octets = {}

    def __len__(self) -> Int:
        return len(self._octets)

    def unsafe_begin(mut self, octets: Span[UInt8, _]):
        """Begins a loan of octets, which stay until it ends."""
        self._octets = unsafe_lend[ImmUntrackedOrigin](
            octets.unsafe_ptr(), len(octets)
        )

    def span(self) -> Span[UInt8, ImmOrigin(origin_of(self))]:
        """Lends the octets on."""
        # SAFETY: the octets stay until the loan ends, which changes this.
        return unsafe_lend[ImmOrigin(origin_of(self))](
            self._octets.unsafe_ptr(), len(self._octets)
        )

    def end(mut self):
        """Ends the loan: the octets may go."""
        self._octets = {}

    def move_to(mut self, mut output: Buffer):
        """Ends the loan with a copy after what the output has."""
        output.append(self._octets)
        self._octets = {}
