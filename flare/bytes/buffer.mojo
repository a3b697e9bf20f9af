"""Octets that grow, and what may be read beyond their end."""

from flare.bytes.scan import (
    BytePtr,
    FieldValueStop,
    OctetClass,
    SCAN_SLACK,
    load16,
    load32,
    load64,
    scan_class,
    scan_field_value,
    scan_target,
)
from flare.sys.memory.pages import release_pages
from std.builtin.globals import global_constant
from std.memory import (
    Allocation,
    Layout,
    alloc,
    dealloc,
    unsafe_memcpy,
    unsafe_memmove,
)
from std.sys import get_defined_string
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


comptime _ZEROS = Array[UInt8, SCAN_SLACK](fill=0)


@always_inline
def _nothing() -> BytePtr:
    """Lends the slack of a buffer without capacity, for reading alone."""
    # SAFETY: constants stay; the callers never write there.
    return (
        global_constant[_ZEROS]()
        .unsafe_ptr()
        .unsafe_mut_cast[True]()
        .unsafe_origin_cast[MutUntrackedOrigin]()
    )


@no_inline
def _free(base: BytePtr, capacity: Int):
    """Frees what a buffer of so much capacity has allocated."""
    if capacity >= _RELEASED_LEN_MIN:
        release_pages(Int(base), capacity)
    # SAFETY: `base` came from `alloc` with this very layout.
    dealloc(
        Allocation(
            unsafe_owned_ptr=base,
            layout=Layout[UInt8](count=capacity + SCAN_SLACK),
        )
    )


struct Buffer(Movable, Sized, Writer):
    """Owned bytes with a head, a tail and slack after it.

    Capacity grows by doubling and is never given back while the buffer lives.
    A span lent by `span` or `spare` ends with the next call that changes the
    buffer.
    """

    # SAFETY: `_base` is owned by this struct, always holds
    # `_capacity + SCAN_SLACK` bytes, and is released once, in `__deinit__`; with
    # a capacity of 0 it is `_nothing`, which nobody owns or writes to.
    var _base: BytePtr
    var _capacity: Int
    var _head: Int
    var _tail: Int

    def __init__(out self, capacity: Int = 0):
        """Makes an empty buffer; one without capacity allocates nothing.

        Args:
            capacity: Bytes of content that fit without growing.
        """
        if capacity == 0:
            self._base = _nothing()
        else:
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
        if self._capacity > 0:
            _free(self._base, self._capacity)

    @always_inline
    def __len__(self) -> Int:
        """Counts the bytes of content, between head and tail."""
        return self._tail - self._head

    @always_inline
    def capacity(self) -> Int:
        """Tells how many bytes of content fit without growing, whether in use
        or not."""
        return self._capacity

    @always_inline
    def unsafe_base(ref self) -> BytePtr:
        """Lends the address of the first byte of content; good until the buffer
        changes; `len(self)` bytes of content and `SCAN_SLACK` bytes more are
        readable from it."""
        # SAFETY: `_head` lies within the allocation.
        return self._base.unsafe_offset(self._head)

    @always_inline
    def span(ref self) -> Span[UInt8, ImmOrigin(origin_of(self))]:
        """Lends the content, the bytes between head and tail."""
        # SAFETY: the span's origin is this buffer, which owns the bytes.
        return unsafe_lend[ImmOrigin(origin_of(self))](
            self.unsafe_base(), len(self)
        )

    @always_inline
    def spare(mut self) -> Span[UInt8, MutUntrackedOrigin]:
        """Lends the free space after the tail, for a read to fill: `capacity`
        less what lies before the tail; tell the buffer how much of it was
        filled with `commit`."""
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
        """Puts the stop octet 0 after the content, in the slack, and gives the
        content as parsers take it; good until the buffer changes."""
        # SAFETY: SCAN_SLACK bytes after the capacity belong to the buffer,
        # whose origin the input has. Without capacity there are zeros.
        if self._capacity > 0:
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
        """Makes room for more bytes after the tail.

        Args:
            count: Bytes that must fit; content moves if they do not.
        """
        if self._capacity - self._tail < count:
            Self._make_room(Pointer(to=self), count)

    # By its address: by its fields, each call would be 40 lines of IR more.
    @staticmethod
    @no_inline
    def _make_room(buffer: MutPointer[Self, _], count: Int):
        # SAFETY: the buffer is the caller's `self`; both blocks hold the lengths
        # that are copied.
        ref self = buffer[]
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
    def unsafe_append_few[
        width: Int
    ](mut self, source: Pointer[UInt8, _], count: Int):
        """Copies few bytes to the tail, by one load and one store of more.

        Parameters:
            width: How many are read, and may be written.

        Args:
            source: What to append, not in this buffer; `width` bytes are
                readable.
            count: How many of them count; at most `width`.
        """
        # SAFETY: `reserve` made the room that is written.
        self.reserve(width)
        self._base.unsafe_offset(self._tail).unsafe_store[alignment=1](
            source.unsafe_load[width=width, alignment=1]()
        )
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
        # Without a sign, division is a multiplication and a shift.
        var rest = UInt64(number)
        while rest >= 10:
            rest //= 10
            digit_count += 1
        rest = UInt64(number)
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


comptime _ASSERTS = get_defined_string["ASSERT", "safe"]() == "all"
# Asked before the condition is made, since this code is inlined everywhere.


struct TerminatedInput[o: MutOrigin](Sized, TrivialRegisterPassable):
    """Octets, a 0 after them, and `SCAN_SLACK` readable octets from there on.

    The 0 is in no class, so every scan stops at it. It ends with the next
    change of the buffer.
    """

    # SAFETY: the buffer that made this owns `_length + SCAN_SLACK` octets from
    # `_base` on, and its origin keeps it alive.
    var _base: Pointer[UInt8, Self.o]
    var _length: Int

    @always_inline
    def __init__(out self, *, unsafe_base: Pointer[UInt8, Self.o], length: Int):
        """Takes the word of a buffer that there is a 0 at `length` and the
        slack after it; nothing else makes one."""
        comptime if _ASSERTS:
            debug_assert(
                unsafe_base[unsafe_offset=length] == 0, "no terminator"
            )
        self._base = unsafe_base
        self._length = length

    @always_inline
    def __len__(self) -> Int:
        """Counts the octets before the terminator."""
        return self._length

    @always_inline
    def unsafe_base(self) -> BytePtr:
        """Lends the first octet's address, which keeps nothing alive."""
        return self._base.unsafe_origin_cast[MutUntrackedOrigin]()

    @always_inline
    def __getitem__(self, offset: Int) -> UInt8:
        """Reads an octet; the terminator, and the slack after it, too."""
        self._check(offset, 1)
        return self._base[unsafe_offset=offset]

    @always_inline
    def __setitem__(self, offset: Int, octet: UInt8):
        """Writes an octet before the terminator."""
        comptime if _ASSERTS:
            debug_assert(
                0 <= offset and offset < self._length, "written beyond"
            )
        self._base[unsafe_offset=offset] = octet

    @always_inline
    def load16(self, offset: Int) -> UInt16:
        """Reads two octets, little end first."""
        self._check(offset, 2)
        return load16(self.unsafe_base(), offset)

    @always_inline
    def load32(self, offset: Int) -> UInt32:
        """Reads four octets, little end first."""
        self._check(offset, 4)
        return load32(self.unsafe_base(), offset)

    @always_inline
    def load64(self, offset: Int) -> UInt64:
        """Reads eight octets, little end first."""
        self._check(offset, 8)
        return load64(self.unsafe_base(), offset)

    @always_inline
    def scan_class[members: OctetClass](self, start: Int) -> Int:
        """Finds the first octet that is no member of a class, from an offset
        not after the terminator. Returns that of the terminator at most."""
        self._check_start(start)
        return scan_class[members](self.unsafe_base(), start)

    @always_inline
    def scan_target(self, start: Int) -> Int:
        """Finds the end of a request target, as `scan_class` does."""
        self._check_start(start)
        return scan_target(self.unsafe_base(), start)

    @always_inline
    def scan_field_value(self, start: Int) -> FieldValueStop:
        """Finds the end of a field value, as `scan_class` does."""
        self._check_start(start)
        return scan_field_value(self.unsafe_base(), start)

    @always_inline
    def tail(self, offset: Int) -> Self:
        """Leaves out the first octets, at most all."""
        self._check_start(offset)
        return Self(
            unsafe_base=self._base.unsafe_offset(offset),
            length=self._length - offset,
        )

    @always_inline
    def span(self, offset: Int, length: Int) -> Span[UInt8, ImmOrigin(Self.o)]:
        """Lends a part before the terminator, for as long as the buffer does
        not change."""
        comptime if _ASSERTS:
            debug_assert(
                0 <= offset and 0 <= length and offset + length <= self._length,
                "a part beyond the input",
            )
        return {
            unsafe_ptr = self._base.unsafe_offset(offset)
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[ImmOrigin(Self.o)](),
            length = length,
        }

    def move_down(self, target: Int, source: Int, count: Int):
        """Moves octets towards the start, over what was read before them; they
        end before the terminator."""
        comptime if _ASSERTS:
            debug_assert(
                0 <= target
                and target <= source
                and source + count <= self._length
                and count >= 0,
                "moved beyond the input",
            )
        # SAFETY: both parts lie within the octets.
        var base = self.unsafe_base()
        unsafe_memmove(
            dest=base.unsafe_offset(target),
            src=base.unsafe_offset(source),
            count=count,
        )

    @always_inline
    def _check(self, offset: Int, count: Int):
        comptime if _ASSERTS:
            debug_assert(
                0 <= offset and offset + count <= self._length + SCAN_SLACK,
                "read beyond the slack",
            )

    @always_inline
    def _check_start(self, start: Int):
        comptime if _ASSERTS:
            debug_assert(0 <= start and start <= self._length, "begun beyond")


@always_inline
def unsafe_lend[
    T: AnyType, //, o: ImmOrigin
](base: Pointer[T, _], count: Int) -> Span[T, o]:
    """Lends elements for a lifetime of the caller's choice.

    The compiler cannot follow offsets into a buffer back to who owns it. This
    is the one place where a lifetime is asserted rather than inferred.

    Parameters:
        o: The lifetime to lend for: that of what owns the memory, or
            `ImmUntrackedOrigin` for a loan that ends with a call.

    Args:
        count: How many elements there are.
    """
    # SAFETY: the caller promises that the memory outlives `o`, and that nothing
    # writes to it meanwhile.
    return {
        unsafe_ptr = base.unsafe_mut_cast[False]().unsafe_origin_cast[o](),
        length = count,
    }


@always_inline
def unsafe_lend_text[
    o: ImmOrigin
](base: Pointer[UInt8, _], length: Int) -> StringSpan[o]:
    """Lends `length` bytes of UTF-8, with the lifetime as for `unsafe_lend`."""
    # SAFETY: as for `unsafe_lend`; the caller promises UTF-8.
    return StringSpan(unsafe_from_utf8=unsafe_lend[o](base, length))
