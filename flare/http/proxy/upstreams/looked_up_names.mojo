"""Names of upstreams: when they are looked up, and what their addresses mean;
without clock and resolver."""

from flare.bytes.checked import *
from flare.net.ip import IpAddr

comptime AGAIN_MS = 5_000
"""After which time a name is asked for again that could not be looked up, unless
its turn comes before."""


@fieldwise_init
struct LookupNews(TrivialRegisterPassable):
    """What of a look-up is worth a line in the log, which is what differs from
    the one before."""

    var fails: Bool
    """True if it has failed, and the one before had not."""
    var exceeds: Bool
    """True if the name has more upstreams than there are places for, and the
    numbers are not those of the one before."""
    var found_count: Int
    """How many upstreams the addresses are."""
    var used_count: Int
    """How many of them have a place."""


struct _Name(Copyable, Movable):
    var address: String
    var due_ms: Int
    var is_asking: Bool
    var has_failed: Bool
    # Of the last look-up that has found some.
    var found_count: Int
    var used_count: Int

    def __init__(out self, var address: String, now_ms: Int):
        self.address = address^
        self.due_ms = now_ms
        self.is_asking = False
        self.has_failed = False
        self.found_count = 0
        self.used_count = 0


struct LookedUpNames(Movable):
    """Which names are looked up, and when. All times are in milliseconds of one
    clock that does not go back."""

    var _interval_ms: Int
    var _names: List[_Name]

    def __init__(out self, interval_ms: Int):
        """Makes one without names, each of which is looked up at this interval;
        0 for never."""
        self._interval_ms = interval_ms
        self._names = []

    def add(mut self, address: StringSpan, now_ms: Int):
        """Takes an upstream that is named, in the words of the configuration."""
        if self._interval_ms > 0 and self._find(address) < 0:
            self._names.append(_Name(String(address), now_ms))

    def remove(mut self, address: StringSpan):
        """Looks an upstream up no more."""
        var index = self._find(address)
        if index >= 0:
            _ = self._names.pop(index)

    def _find(self, address: StringSpan) -> Int:
        for index in range(len(self._names)):
            if StringSpan(self._names.at(index).address) == address:
                return index
        return -1

    def next(mut self, now_ms: Int) -> Optional[String]:
        """Finds an upstream that is to be looked up now, and takes note of it;
        nothing if none is due. `end` is owed for it."""
        for index in range(len(self._names)):
            ref name = self._names.at(index)
            if not name.is_asking and now_ms >= name.due_ms:
                name.is_asking = True
                return name.address
        return None

    def next_ms(self, now_ms: Int) -> Int:
        """Tells when to ask `next` again; what is being looked up may fail, and
        be due so soon."""
        var soonest_ms = now_ms + self._interval_ms
        for index in range(len(self._names)):
            ref name = self._names.at(index)
            var due_ms = now_ms + AGAIN_MS if name.is_asking else name.due_ms
            soonest_ms = min(soonest_ms, due_ms)
        return soonest_ms

    def end(
        mut self,
        address: StringSpan,
        found_count: Int,
        used_count: Int,
        now_ms: Int,
    ) -> LookupNews:
        """Takes note of how a look-up has ended: how many upstreams its
        addresses are (0 if it has failed), and how many of them have a place.
        Returns what is worth a line in the log; nothing of a name that was
        removed meanwhile."""
        var news = LookupNews(False, False, found_count, used_count)
        var index = self._find(address)
        if index < 0:
            return news
        ref name = self._names.at(index)
        name.is_asking = False
        name.due_ms = now_ms + self._interval_ms
        if found_count == 0:
            news.fails = not name.has_failed
            name.has_failed = True
            name.due_ms = now_ms + min(self._interval_ms, AGAIN_MS)
            return news
        name.has_failed = False
        news.exceeds = used_count < found_count and (
            name.found_count != found_count or name.used_count != used_count
        )
        name.found_count = found_count
        name.used_count = used_count
        return news


def pair_addresses(addresses: Span[IpAddr, _]) -> List[List[IpAddr]]:
    """Tells which upstreams the addresses of a name are, best first.

    Where it has both families, those of the one with more addresses are (of the
    first one, if there are as many), and each has one of the other beside it,
    by which it is reached where its own family leads nowhere (RFC 8305).
    Returns for each upstream its address, and perhaps another one, sorted.
    """
    var first = List[IpAddr]()
    var second = List[IpAddr]()
    for index in range(len(addresses)):
        var address = addresses.at(index).without_mapping()
        if address in first or address in second:
            continue
        if len(first) == 0 or address.is_v4() == first.at(0).is_v4():
            first.append(address)
        else:
            second.append(address)
    if len(second) > len(first):
        swap(first, second)
    sort(first)
    sort(second)
    var pairs = List[List[IpAddr]]()
    for index in range(len(first)):
        var pair: List[IpAddr] = [first.at(index)]
        if len(second) > 0:
            pair.append(second.at(index % len(second)))
        pairs.append(pair^)
    return pairs^
