"""What was removed from a cache of late, so that nothing comes back that was asked
for before."""

from flare.bytes.checked import *

comptime REMOVAL_LEN_MAX = 1_024
"""Longest text of a removal, in bytes; one of a longer key is for all keys that
begin so."""
comptime _LOG_COUNT = 256
# Removals that are remembered. A fetch during which there are more is not kept.


@fieldwise_init
struct RemovalKind(Equatable, TrivialRegisterPassable):

    var octet: UInt8

    comptime KEY = Self(75)
    """Those of a key are dropped."""
    comptime PREFIX = Self(80)
    """Those of all keys that begin with a text are dropped."""
    comptime INVALID = Self(73)
    """Those of a key are validated before their next use."""


struct Removal(Copyable, Movable):
    """What was removed."""

    var kind: RemovalKind
    var text: String
    """A key, or the beginning of keys."""

    def __init__(out self, kind: RemovalKind, text: StringSpan):
        """Makes one of a key, or of the beginning of keys."""
        self.kind = kind
        self.text = String(text)
        if text.byte_length() > REMOVAL_LEN_MAX:
            self.kind = RemovalKind.PREFIX
            self.text = String(
                StringSpan(
                    unsafe_from_utf8=text.as_bytes().before(REMOVAL_LEN_MAX)
                )
            )

    def concerns(self, key: StringSpan) -> Bool:
        if self.kind == RemovalKind.PREFIX:
            return key.startswith(self.text)
        return key == self.text


struct RemovalLog(Defaultable, Movable):
    """The last removals, by number."""

    var count: Int
    var _last: List[Removal]

    def add(mut self, var removal: Removal):
        if len(self._last) < _LOG_COUNT:
            self._last.append(removal^)
        else:
            self._last.at(self.count % _LOG_COUNT) = removal^
        self.count += 1

    def was_removed(self, key: StringSpan, since: Int) -> Bool:
        """Tells whether a key was concerned since the count was `since`, or if
        that is not remembered."""
        if self.count - since > _LOG_COUNT:
            return True
        for number in range(since, self.count):
            if self._last.at(number % _LOG_COUNT).concerns(key):
                return True
        return False
