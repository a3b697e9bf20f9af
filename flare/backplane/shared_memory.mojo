"""The backplane of the worker processes of one server: shared memory."""

from flare.backplane.backplane import Backplane, BackplaneCounts, Handover
from flare.backplane.ring import PushResult, RingCursor, SharedRing
from flare.bytes.buffer import Buffer
from flare.sys.clock import coarse_monotonic_ms
from std.memory import ArcPointer

comptime RING_LEN_DEFAULT = 4 * 1024 * 1024
"""How much is kept of what was sent, in bytes."""
comptime _RING_LEN_MIN = 4_096
comptime _RING_LEN_MAX = 1 << 32

comptime _LOCK_TIMEOUT_MS = 20
# After a lock that was not to be had: how long it is only asked for once.
comptime _LOCK_PAUSE_MS = 1_000


struct SharedMemoryBackplane(Backplane):
    """Carries messages between the workers of one `serve_prefork`.

        var hub = WsHub(SharedMemoryBackplane())

    Make it before the workers are forked, so in `main`, and give it to one hub.
    All workers have all messages in one order. No server is needed, and it
    ends with the master: a program that was upgraded by SIGUSR2 begins anew.

    A worker that reads too slowly loses the oldest messages, and counts them.
    One that is killed while it writes leaves nothing behind. Linux gives its
    lock away; on macOS the others then only reach their own clients.
    """

    var _ring: ArcPointer[SharedRing]
    var _cursor: RingCursor
    var _seen: Int
    var _busy_until_ms: Int
    var _dropped_count: Int

    def __init__(out self, ring_size: Int = RING_LEN_DEFAULT) raises:
        """Makes the memory.

        Args:
            ring_size: How much is kept of what was sent, in bytes: a power of
                two from 4 KiB to 4 GiB. A message may take a quarter of it.

        Raises:
            Error: If the size is no such number, or there is no memory.
        """
        if (
            ring_size < _RING_LEN_MIN
            or ring_size > _RING_LEN_MAX
            or ring_size & (ring_size - 1) != 0
        ):
            raise Error(
                "SharedMemoryBackplane: ring_size is ",
                ring_size,
                "; it must be a power of two from 4096 to 4294967296",
            )
        self._ring = ArcPointer(SharedRing(ring_size))
        self._cursor = RingCursor(0)
        self._seen = 0
        self._busy_until_ms = 0
        self._dropped_count = 0

    def connect(mut self, *, wants_past: Bool) raises:
        """Begins to read, with the oldest message that is kept if it
        `wants_past`.

        Raises:
            Error: Never.
        """
        var ring = self._ring
        self._cursor = RingCursor(
            ring[].tail() if wants_past else ring[].published()
        )

    def publish(
        mut self, octets: Span[UInt8, _], *, wants_order: Bool
    ) -> Handover:
        """Writes a message into the ring, and gives that it comes back, or that
        the lock was not to be had: messages are always in one order."""
        var timeout_ms = _LOCK_TIMEOUT_MS
        if self._busy_until_ms > 0:
            if coarse_monotonic_ms() < self._busy_until_ms:
                timeout_ms = 0
            else:
                self._busy_until_ms = 0
        if self._ring[].push(octets, timeout_ms) == PushResult.PUBLISHED:
            self._busy_until_ms = 0
            return Handover.COMES_BACK
        self._dropped_count += 1
        if timeout_ms > 0:
            self._busy_until_ms = coarse_monotonic_ms() + _LOCK_PAUSE_MS
        return Handover.STAYS

    def receive(mut self, mut out: Buffer) -> Bool:
        """Copies the next message out of the ring."""
        return self._ring[].read(self._cursor, out)

    def wait(mut self, timeout_ms: Int):
        """Waits until something was written."""
        self._ring[].wait(self._seen, timeout_ms)
        self._seen = self._ring[].bell()

    def interrupt(self):
        """Ends the waits of all workers."""
        self._ring[].ring_bell()

    def message_len_max(self) -> Int:
        """Tells how many bytes a message may have: about a quarter of the ring."""
        return self._ring[].message_len_max()

    def has_order(self) -> Bool:
        """Tells that all processes have one order of messages: there is one
        ring."""
        return True

    def add_counts(self, mut counts: BackplaneCounts):
        """Adds what was dropped, and what was not whole."""
        counts.dropped += self._dropped_count
        counts.malformed += self._cursor.damaged_count
