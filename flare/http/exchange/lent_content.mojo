"""Sending a request to an upstream that speaks HTTP/1.1: what is there, and content
from where it was received."""

from flare.bytes.buffer import Buffer, unsafe_lend
from flare.bytes.checked import *

comptime LENT_LEN_MIN = 4_096
"""The least content that is worth two pieces, in bytes."""


struct LentContent(Movable, Sized):
    """Content of a request that goes out from where it was received.

    The worker keeps it there until the errand has given its response or was
    cancelled; what is sent on behind that has to be copied before.
    """

    # SAFETY: whoever calls `unsafe_begin` says how long the octets stay, and calls
    # `end` or `move_to` before they go.
    var _octets: Span[UInt8, ImmUntrackedOrigin]

    def __init__(out self):
        """Makes one without octets."""
        self._octets = {}

    def __len__(self) -> Int:
        """Counts the octets.

        Returns:
            How many there are.
        """
        return len(self._octets)

    def unsafe_begin(mut self, octets: Span[UInt8, _]):
        """Begins a loan.

        Args:
            octets: The content; it stays until the loan ends.
        """
        self._octets = unsafe_lend[ImmUntrackedOrigin](
            octets.unsafe_ptr(), len(octets)
        )

    def span(self) -> Span[UInt8, ImmOrigin(origin_of(self))]:
        """Lends the octets on.

        Returns:
            All of them.
        """
        # SAFETY: the octets stay until the loan ends, which changes this.
        return unsafe_lend[ImmOrigin(origin_of(self))](
            self._octets.unsafe_ptr(), len(self._octets)
        )

    def end(mut self, mut sent_len: Int):
        """Ends the loan.

        Args:
            sent_len: How many octets of what goes before and of these are sent,
                in bytes; all that is left is sent then if all of both was.
        """
        sent_len -= len(self)
        self._octets = {}

    def move_to(mut self, mut output: Buffer):
        """Ends the loan with a copy.

        Args:
            output: What goes before the octets; gets them, too.
        """
        output.append(self._octets)
        self._octets = {}


trait OctetSink:
    """A connection that takes octets as far as there is room, without a wait."""

    def send(mut self, octets: Span[UInt8, _]) -> Int:
        """Writes octets.

        Args:
            octets: What to send.

        Returns:
            How many were taken, or a negative number as `Transport` gives it.
        """
        ...

    def send_two(
        mut self, first: Span[UInt8, _], second: Span[UInt8, _]
    ) -> Int:
        """Writes two pieces, without joining them.

        Args:
            first: What goes first; not empty.
            second: What follows.

        Returns:
            How many octets of both were taken, or a negative number.
        """
        ...

    def flush(mut self) -> Int:
        """Sends what was taken and has not left yet.

        Returns:
            0 if all has left, or a negative number.
        """
        ...


def send_output[
    S: OctetSink
](
    mut link: S,
    output: Buffer,
    content: Span[UInt8, _],
    mut sent_len: Int,
) -> Int:
    """Sends what is left of a request's octets.

    Parameters:
        S: The connection's type.

    Args:
        link: Where to.
        output: The octets.
        content: What follows them.
        sent_len: How many of both are sent, in bytes.

    Returns:
        0 if all have left; a negative number as `Transport` gives it, `-EAGAIN`
        to wait until the upstream takes more.
    """
    while sent_len < len(output) + len(content):
        var count: Int
        if sent_len >= len(output):
            count = link.send(content.after(sent_len - len(output)))
        elif len(content) == 0:
            count = link.send(output.span().after(sent_len))
        else:
            count = link.send_two(output.span().after(sent_len), content)
        if count < 0:
            return count
        sent_len += count
    return link.flush()
