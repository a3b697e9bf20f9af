"""Public suffixes: domains below which anybody can register names, so that no
cookie is for all of them (RFC 6265bis section 5.7)."""

from flare.bytes.checked import *
from flare.http.cookie.suffix_table import SUFFIXES

# What ends a label in the table.
comptime _RULE = UInt8(46)
comptime _EXCEPTION = UInt8(33)
comptime _RULE_AND_MORE = UInt8(58)
comptime _ONLY_MORE = UInt8(59)
# Digits of the length of what is below a label.
comptime _LENGTH_DIGITS = 3
comptime _BASE = 91

comptime LABEL_COUNT_MAX = 127
"""Most labels of a name (RFC 1035 section 2.3.4)."""


def is_public_suffix(domain: String) -> Bool:
    """Tells whether a domain, in lower case as DNS has it, is one below which
    anybody can register names: `com`, `co.uk` and `github.io`, not what is
    below them."""
    return public_suffix_start(domain) == 0


def public_suffix_start(domain: String) -> Int:
    """Finds the offset where the public suffix of a domain, in lower case as
    DNS has it, begins; -1 for an empty text.

    Source: the algorithm of publicsuffix.org/list: the longest rule counts, an
    exception counts before all, and a domain that no rule is about has the rule
    `*`.
    """
    var octets = domain.as_bytes()
    var end = len(octets)
    if end > 0 and octets.at(end - 1) == 46:
        end -= 1
    if end == 0:
        return -1
    var suffix_start = -1
    var place = _Place(0, SUFFIXES.byte_length())
    # The first round finds the last label, which is a suffix in any case.
    for _ in range(LABEL_COUNT_MAX):
        var start = end
        while start > 0 and octets.at(start - 1) != 46:
            start -= 1
        var found = place.find(octets.between(start, end))
        if found.kind == _EXCEPTION:
            # The rule is the one without this label.
            return end + 1
        var is_rule = found.kind == _RULE or found.kind == _RULE_AND_MORE
        if suffix_start < 0 or is_rule or place.has_wildcard():
            suffix_start = start
        if start == 0 or found.start == found.end:
            break
        place = found
        end = start - 1
    return suffix_start


@fieldwise_init
struct _Place(TrivialRegisterPassable):
    """The labels below one, in the table."""

    var start: Int
    var end: Int
    # How the label itself ends; 0 for the root, and for none.
    var kind: UInt8

    def __init__(out self, start: Int, end: Int):
        self = Self(start, end, 0)

    def find(self, label: Span[UInt8, _]) -> Self:
        """Finds a label, and what is below it."""
        var table = SUFFIXES.as_bytes()
        var at = self.start
        while at < self.end:
            var is_same = True
            var length = 0
            while not _ends_label(table.at(at)):
                is_same = (
                    is_same
                    and length < len(label)
                    and table.at(at) == label.at(length)
                )
                length += 1
                at += 1
            var kind = table.at(at)
            at += 1
            var below_end = at
            if kind == _RULE_AND_MORE or kind == _ONLY_MORE:
                var count = 0
                for _ in range(_LENGTH_DIGITS):
                    count = count * _BASE + _digit(table.at(at))
                    at += 1
                below_end = at + count
            if is_same and length == len(label):
                return Self(at, below_end, kind)
            at = below_end
        return Self(0, 0, 0)

    def has_wildcard(self) -> Bool:
        """Tells whether any label here is a rule; `*` stands first."""
        var is_here = self.start < self.end
        return is_here and SUFFIXES.as_bytes().at(self.start) == 42


@always_inline
def _ends_label(octet: UInt8) -> Bool:
    return (
        octet == _RULE
        or octet == _EXCEPTION
        or octet == _RULE_AND_MORE
        or octet == _ONLY_MORE
    )


@always_inline
def _digit(octet: UInt8) -> Int:
    """Digits are the visible octets from 35 on, but for the backslash."""
    return Int(octet) - (36 if octet > 92 else 35)
