"""A part of a cache's responses, and which of them go first when there is no more
room; without lock and bound, which are the store's.

What goes is chosen by SIEVE (Zhang et al., NSDI 2024): responses stand in the
order in which they came. A use marks one and moves nothing; a hand goes from the
oldest to the newest, takes marks away, and drops the first without.
"""

from flare.bytes.checked import *
from flare.http.cache.core.stored_response import StoredResponse
from flare.http.message.fields import Fields
from std.memory import ArcPointer

comptime VARIANT_COUNT_MAX = 32
"""Most responses for one URI that differ by Vary.

A client could make up values without end, and each look goes through all.
"""

comptime _NONE = -1


@fieldwise_init
struct Room(TrivialRegisterPassable):
    """What was given free."""

    var octets: Int
    var entries: Int

    def __add__(self, other: Self) -> Self:
        return Self(self.octets + other.octets, self.entries + other.entries)


struct _Slot(Movable):
    """A place for a response; free without one."""

    var response: Optional[ArcPointer[StoredResponse]]
    var key: String
    var hash: UInt64
    var octet_count: Int
    var is_visited: Bool
    # The next response for the same key, an earlier one.
    var next_variant: Int
    # Neighbours in the order of arrival; `older` is the next free slot, too.
    var newer: Int
    var older: Int

    def __init__(out self):
        self.response = None
        self.key = String()
        self.hash = 0
        self.octet_count = 0
        self.is_visited = False
        self.next_variant = _NONE
        self.newer = _NONE
        self.older = _NONE


struct CacheShard(Movable, Sized):
    """Responses by the hash of their key."""

    var counts: Array[Int, 10]
    """What the store counts here, by `Figure`."""
    var _slots: List[_Slot]
    var _by_hash: Dict[UInt64, Int]
    var _free: Int
    var _newest: Int
    var _oldest: Int
    var _hand: Int
    var _count: Int

    def __init__(out self):
        """Makes an empty shard; allocates nothing."""
        self.counts = Array[Int, 10](fill=0)
        self._slots = []
        self._by_hash = {}
        self._free = _NONE
        self._newest = _NONE
        self._oldest = _NONE
        self._hand = _NONE
        self._count = 0

    def __len__(self) -> Int:
        """Counts the responses: all variants of all keys."""
        return self._count

    def has_key(self, key: StringSpan, hash: UInt64) -> Bool:
        """Tells whether any variant is kept under a key."""
        return self._first(key, hash) != _NONE

    def _first(self, key: StringSpan, hash: UInt64) -> Int:
        var index = self._by_hash.get(hash)
        if not index:
            return _NONE
        # Hashes have a key of their own, so no two keys meet but by chance.
        if self._slots.at(index.held()).key == key:
            return index.held()
        return _NONE

    def select(
        mut self, key: StringSpan, hash: UInt64, fields: Fields
    ) -> Optional[ArcPointer[StoredResponse]]:
        """Finds the latest response that a request selects by its Vary (RFC
        9111 section 4.1)."""
        var index = self._first(key, hash)
        var best = _NONE
        var best_s = 0
        while index != _NONE:
            ref slot = self._slots.at(index)
            ref response = slot.response.held()[]
            if best == _NONE or response.date_s > best_s:
                if response.vary.matches(fields):
                    best = index
                    best_s = response.date_s
            index = slot.next_variant
        if best == _NONE:
            return None
        ref found = self._slots.at(best)
        found.is_visited = True
        return found.response.held().copy()

    def put(
        mut self,
        key: String,
        hash: UInt64,
        var response: ArcPointer[StoredResponse],
        octet_count: Int,
    ) -> Room:
        """Keeps a response of `octet_count` bytes. Returns what those took
        whose place it has taken: that the same requests select."""
        var first = self._first(key, hash)
        var freed = Room(0, 0)
        if first == _NONE and self._by_hash.get(hash):
            freed = self._drop_all(self._by_hash.get(hash).held())
        var before = _NONE
        var index = first
        var count = 0
        while index != _NONE:
            var next = self._slots.at(index).next_variant
            count += 1
            var is_same = (
                self._slots.at(index)
                .response.held()[]
                .vary.is_same(response[].vary)
            )
            if is_same or count >= VARIANT_COUNT_MAX:
                freed = freed + self._drop(index, before)
            else:
                before = index
            index = next
        var place = self._take_slot()
        ref slot = self._slots.at(place)
        slot.response = response^
        slot.key = key
        slot.hash = hash
        slot.octet_count = octet_count
        slot.is_visited = False
        slot.next_variant = self._by_hash.get(hash).or_else(_NONE)
        self._by_hash[hash] = place
        self._link(place)
        return freed

    def remove(mut self, key: StringSpan, hash: UInt64) -> Room:
        """Drops all variants of a key."""
        var first = self._first(key, hash)
        if first == _NONE:
            return Room(0, 0)
        return self._drop_all(first)

    def remove_prefix(mut self, prefix: StringSpan) -> Room:
        """Drops all responses whose key begins with a text."""
        var freed = Room(0, 0)
        for index in range(len(self._slots)):
            if self._slots.at(index).response:
                if self._slots.at(index).key.startswith(prefix):
                    freed = freed + self._remove_slot(index)
        return freed

    def invalidate(mut self, key: StringSpan, hash: UInt64) -> Int:
        """Has all variants of a key validated before their next use."""
        var index = self._first(key, hash)
        var count = 0
        while index != _NONE:
            ref slot = self._slots.at(index)
            # Others may be reading the old one.
            var copy = slot.response.held()[].copy()
            copy.is_invalidated = True
            slot.response = ArcPointer(copy^)
            count += 1
            index = slot.next_variant
        return count

    def evict(mut self) -> Room:
        """Drops the response that goes first, and returns what it took; nothing
        if there is none."""
        if self._count == 0:
            return Room(0, 0)
        var index = self._hand if self._hand != _NONE else self._oldest
        # Ends: each step takes a mark away, or is the last.
        while self._slots.at(index).is_visited:
            self._slots.at(index).is_visited = False
            index = self._slots.at(index).newer
            if index == _NONE:
                index = self._oldest
        self._hand = self._slots.at(index).newer
        return self._remove_slot(index)

    def _drop_all(mut self, first: Int) -> Room:
        var freed = Room(0, 0)
        var index = first
        while index != _NONE:
            var next = self._slots.at(index).next_variant
            freed = freed + self._drop(index, _NONE)
            index = next
        return freed

    def _remove_slot(mut self, index: Int) -> Room:
        """Drops one response, wherever it stands among its variants."""
        var before = _NONE
        var at = self._by_hash.get(self._slots.at(index).hash).or_else(_NONE)
        while at != index and at != _NONE:
            before = at
            at = self._slots.at(at).next_variant
        return self._drop(index, before)

    def _drop(mut self, index: Int, before: Int) -> Room:
        """Drops a response; `before` is the variant before it, if any."""
        var next = self._slots.at(index).next_variant
        if before != _NONE:
            self._slots.at(before).next_variant = next
        elif next != _NONE:
            self._by_hash[self._slots.at(index).hash] = next
        else:
            try:
                _ = self._by_hash.pop(self._slots.at(index).hash)
            except:
                debug_assert(False, "a key of a response was not there")
        self._unlink(index)
        ref slot = self._slots.at(index)
        var octet_count = slot.octet_count
        slot = _Slot()
        slot.older = self._free
        self._free = index
        return Room(octet_count, 1)

    def _take_slot(mut self) -> Int:
        if self._free == _NONE:
            self._slots.append(_Slot())
            return len(self._slots) - 1
        var index = self._free
        self._free = self._slots.at(index).older
        return index

    def _link(mut self, index: Int):
        """Puts a response before all others."""
        self._slots.at(index).newer = _NONE
        self._slots.at(index).older = self._newest
        if self._newest != _NONE:
            self._slots.at(self._newest).newer = index
        else:
            self._oldest = index
        self._newest = index
        self._count += 1

    def _unlink(mut self, index: Int):
        var newer = self._slots.at(index).newer
        var older = self._slots.at(index).older
        if self._hand == index:
            self._hand = newer
        if newer != _NONE:
            self._slots.at(newer).older = older
        else:
            self._newest = older
        if older != _NONE:
            self._slots.at(older).newer = newer
        else:
            self._oldest = newer
        self._count -= 1
