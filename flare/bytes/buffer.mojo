"""A growable byte buffer: append at the tail, consume at the head.

Behind the content there are always `SCAN_SLACK` readable bytes, the first of
which is 0 after `terminate`, so the scans of `flare.bytes.scan` may run over a
buffer without a bounds check. Bytes are not moved when the head is consumed
until room is needed.
"""

from flare.bytes.lend import unsafe_lend
from flare.bytes.scan import BytePtr, SCAN_SLACK
from flare.bytes.terminated_input import TerminatedInput
from flare.sys.memory.pages import release_pages
from std.memory import (
    Allocation,
    Layout,
    alloc,
    dealloc,
    unsafe_memcpy,
    unsafe_memmove,
)
from std.sys.intrinsics import llvm_intrinsic

comptime _RELEASED_LEN_MIN = 4 * 1024 * 1024
# What is shorter is kept by the allocator for the next: faulting pages in again
# costs about as much as filling them.


@always_inline
def _copy(destination: BytePtr, source: Pointer[UInt8, _], count: Int):
    """Copies octets that do not overlap, in one line of IR where the standard
    library's inlined copy takes 130."""
    # SAFETY: both sides have `count` octets, as their callers see to.
    llvm_intrinsic["llvm.memcpy", NoneType](destination, source, count, False)


struct Buffer(Movable, Sized, Writer):
    """Owned bytes with a head, a tail and slack behind.

    Capacity grows by doubling and is never given back while the buffer lives.
    A span lent by `span` or `spare` ends with the next call that changes the
    buffer.
    """

    # SAFETY: `_base` is owned by this struct, always holds
    # `_capacity + SCAN_SLACK` bytes, and is released once, in `__deinit__`.
    var _base: BytePtr
    var _capacity: Int
    var _head: Int
    var _tail: Int

    def __init__(out self, capacity: Int = 0):
        """Allocates an empty buffer.

        Args:
            capacity: Bytes of content that fit without growing.
        """
        # SAFETY: leaked here, released in `__deinit__` with the same layout.
        self._base = alloc(
            Layout[UInt8](count=capacity + SCAN_SLACK)
        ).unsafe_leak()
        self._capacity = capacity
        self._head = 0
        self._tail = 0

    def __deinit__(deinit self):
        """Releases the memory; what is large goes back to the system at once,
        since the allocator would keep it resident."""
        if self._capacity >= _RELEASED_LEN_MIN:
            release_pages(Int(self._base), self._capacity)
        # SAFETY: `_base` came from `alloc` with this very layout.
        dealloc(
            Allocation(
                unsafe_owned_ptr=self._base,
                layout=Layout[UInt8](count=self._capacity + SCAN_SLACK),
            )
        )

    @always_inline
    def __len__(self) -> Int:
        """Counts the bytes of content.

        Returns:
            Bytes between head and tail.
        """
        return self._tail - self._head

    @always_inline
    def capacity(self) -> Int:
        """Tells how much content fits without growing.

        Returns:
            Bytes, whether in use or not.
        """
        return self._capacity

    @always_inline
    def unsafe_base(ref self) -> BytePtr:
        """Lends the address of the first byte of content.

        Returns:
            A pointer that is good until the buffer changes; `len(self)` bytes
            of content and `SCAN_SLACK` bytes more are readable from it.
        """
        # SAFETY: `_head` lies within the allocation.
        return self._base.unsafe_offset(self._head)

    @always_inline
    def span(ref self) -> Span[UInt8, ImmOrigin(origin_of(self))]:
        """Lends the content.

        Returns:
            The bytes between head and tail.
        """
        # SAFETY: the span's origin is this buffer, which owns the bytes.
        return unsafe_lend[ImmOrigin(origin_of(self))](
            self.unsafe_base(), len(self)
        )

    @always_inline
    def spare(mut self) -> Span[UInt8, MutUntrackedOrigin]:
        """Lends the free space behind the tail, for a read to fill.

        Returns:
            Space of `capacity` less what lies before the tail; tell the buffer
            how much of it was filled with `commit`.
        """
        # SAFETY: `_tail <= _capacity`, and the span ends with the next change.
        return {
            unsafe_ptr = self._base.unsafe_offset(self._tail),
            length = self._capacity - self._tail,
        }

    @always_inline
    def commit(mut self, count: Int):
        """Makes bytes that were written into `spare` part of the content.

        Args:
            count: How many; at most `len(self.spare())`.
        """
        debug_assert[assert_mode="safe"](
            count >= 0 and self._tail + count <= self._capacity,
            "commit is longer than what is spare",
        )
        self._tail += count

    @always_inline
    def terminate(mut self) -> TerminatedInput[origin_of(self)]:
        """Puts the stop octet 0 behind the content, in the slack.

        Returns:
            The content, as parsers take it; good until the buffer changes.
        """
        # SAFETY: SCAN_SLACK bytes behind the capacity belong to the buffer,
        # whose origin the input has.
        self._base[unsafe_offset=self._tail] = 0
        return TerminatedInput[origin_of(self)](
            unsafe_base=self.unsafe_base().unsafe_origin_cast[
                origin_of(self)
            ](),
            length=len(self),
        )

    @always_inline
    def consume(mut self, count: Int):
        """Drops bytes at the head; an emptied buffer starts over.

        Args:
            count: How many; at most `len(self)`.
        """
        debug_assert[assert_mode="safe"](
            count >= 0 and count <= len(self), "consume is longer than content"
        )
        self._head += count
        if self._head == self._tail:
            self._head = 0
            self._tail = 0

    @always_inline
    def clear(mut self):
        """Drops all content and keeps the memory."""
        self._head = 0
        self._tail = 0

    def truncate(mut self, count: Int):
        """Drops bytes at the tail.

        Args:
            count: How many bytes of content stay; at most `len(self)`.
        """
        debug_assert[assert_mode="safe"](
            count >= 0 and count <= len(self), "truncate is longer than content"
        )
        self._tail = self._head + count

    @always_inline
    def reserve(mut self, count: Int):
        """Makes room for more bytes behind the tail.

        Args:
            count: Bytes that must fit; content moves if they do not.
        """
        if self._capacity - self._tail < count:
            self._make_room(count)

    def _make_room(mut self, count: Int):
        # SAFETY: both blocks hold the lengths that are copied.
        var length = len(self)
        if length + count <= self._capacity:
            unsafe_memmove(
                dest=self._base, src=self.unsafe_base(), count=length
            )
        else:
            var capacity = max(length + count, self._capacity * 2, 256)
            var grown = Buffer(capacity)
            unsafe_memcpy(
                dest=grown._base, src=self.unsafe_base(), count=length
            )
            swap(self._base, grown._base)
            swap(self._capacity, grown._capacity)
        self._head = 0
        self._tail = length

    @always_inline
    def append(mut self, octets: Span[UInt8, _]):
        """Copies bytes to the tail.

        Args:
            octets: What to append; must not lie in this buffer.
        """
        # SAFETY: `reserve` made the room that is written.
        var count = len(octets)
        self.reserve(count)
        _copy(self._base.unsafe_offset(self._tail), octets.unsafe_ptr(), count)
        self._tail += count

    @always_inline
    def append_octet(mut self, octet: UInt8):
        """Appends one byte.

        Args:
            octet: The byte.
        """
        # SAFETY: `reserve` made the room that is written.
        self.reserve(1)
        self._base[unsafe_offset=self._tail] = octet
        self._tail += 1

    @always_inline
    def append_literal[text: StaticString](mut self):
        """Appends text known at compile time.

        Parameters:
            text: The text; its length is a constant, so the copy is inlined.
        """
        # SAFETY: `reserve` made the room that is written.
        comptime count = text.byte_length()
        self.reserve(count)
        _copy(self._base.unsafe_offset(self._tail), text.unsafe_ptr(), count)
        self._tail += count

    @always_inline
    def append_decimal(mut self, number: Int):
        """Appends a number in decimal.

        Args:
            number: At least 0.
        """
        # SAFETY: `reserve` made room for the most digits that 63 bits have.
        self.reserve(20)
        var digit_count = 1
        var rest = number
        while rest >= 10:
            rest //= 10
            digit_count += 1
        rest = number
        var offset = self._tail + digit_count
        while offset > self._tail:
            offset -= 1
            var quotient = rest // 10
            self._base[unsafe_offset=offset] = UInt8(48 + rest - quotient * 10)
            rest = quotient
        self._tail += digit_count

    def write_string(mut self, text: StringSpan):
        """Appends text; makes the buffer a `Writer` for formatted output.

        Args:
            text: What to append.
        """
        self.append(text.as_bytes())
