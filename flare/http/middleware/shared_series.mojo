"""Tables in memory that worker processes share: names, and what is counted by
them. Entries are added and never taken away."""

from flare.sys.errno import OsError
from flare.sys.memory_map import SharedCounters

comptime NAME_COUNT_MAX = 256
"""Most names; what comes beyond shares the last one."""

comptime NAME_LEN_MAX = 248
"""Longest name in bytes; the rest is cut."""

comptime _WORD_LEN = 8
comptime _NAME_WORDS = 1 + NAME_LEN_MAX // _WORD_LEN


def find_or_claim(
    counters: SharedCounters, first: Int, count: Int, key: Int
) -> Int:
    """Finds the entry of a key among those of a table, or takes a free one.

    Args:
        counters: Where the table lies; a key of 0 is a free entry.
        first: The counter that holds the first entry's key.
        count: How many entries there are.
        key: Not 0.

    Returns:
        The entry's index; the last one if all are taken by others.
    """
    var start = Int((UInt64(key) * 0x9E3779B97F4A7C15) >> 32)
    for step in range(count):
        var index = (start + step) % count
        var found = counters.load(first + index)
        if found == key:
            return index
        if found == 0 and (
            counters.replace(first + index, 0, key)
            or counters.load(first + index) == key
        ):
            return index
    return count - 1


struct SharedNames(Movable):
    """Names with small numbers, the same in all processes of a server."""

    # First the keys of all names, then their texts: a length that is 0 until
    # the text is there, and the octets, eight a word.
    var _words: SharedCounters

    def __init__(out self) raises OsError:
        """Makes a table without names.

        Raises:
            OsError: If the kernel has no memory.
        """
        self._words = SharedCounters(NAME_COUNT_MAX * (1 + _NAME_WORDS))

    def number(self, name: StringSpan) -> Int:
        """Gives the number of a name, the same for all who ask.

        Args:
            name: The name.

        Returns:
            At least 0 and less than `NAME_COUNT_MAX`.
        """
        var octets = name.as_bytes()
        var key = _fingerprint(octets)
        var number = find_or_claim(self._words, 0, NAME_COUNT_MAX, key)
        if self._words.load(_text(number)) == 0:
            self._write(number, octets)
        return number

    def name(self, number: Int) -> String:
        """Reads a name.

        Args:
            number: At least 0 and less than `NAME_COUNT_MAX`.

        Returns:
            The name; empty if it is none, or is being written.
        """
        var first = _text(number)
        var length = self._words.load(first)
        # Written in order: what is replaced by itself is seen behind the text.
        if length <= 0 or not self._words.replace(first, length, length):
            return String()
        var octets = List[UInt8](capacity=length)
        for index in range(min(length, NAME_LEN_MAX)):
            var word = self._words.load(first + 1 + index // _WORD_LEN)
            octets.append(UInt8((word >> (8 * (index % _WORD_LEN))) & 255))
        return String(from_utf8_lossy=octets)

    def _write(self, number: Int, octets: Span[UInt8, _]):
        """Writes a text; others may be writing the same one."""
        var length = min(len(octets), NAME_LEN_MAX)
        for word in range((length + _WORD_LEN - 1) // _WORD_LEN):
            var value = UInt64(0)
            for index in range(_WORD_LEN):
                var place = word * _WORD_LEN + index
                if place < length:
                    value |= UInt64(octets[place]) << UInt64(8 * index)
            self._words.store(_text(number) + 1 + word, Int(value))
        _ = self._words.replace(_text(number), 0, length)


def _text(number: Int) -> Int:
    return NAME_COUNT_MAX + number * _NAME_WORDS


def _fingerprint(octets: Span[UInt8, _]) -> Int:
    """FNV-1a of 64 bits; never 0."""
    var hash = UInt64(0xCBF29CE484222325)
    for octet in octets:
        hash = (hash ^ UInt64(octet)) * 0x100000001B3
    return Int(hash | 1)
