"""Trailer fields that a program sets: those that may stand after content."""

from flare.bytes.ascii import equals_ignore_case
from flare.bytes.checked import *
from flare.http.message.header_map import (
    HeaderError,
    HeaderMap,
    check_field,
)
from std.memory import ArcPointer

# What framing, routing, authentication, caching or the reading of content need
# before the content (RFC 9110 section 6.5.1), and cookies. Each name stands
# between commas.
comptime _ONLY_BEFORE_CONTENT = StaticString(
    ",accept-ranges,age,authorization,cache-control,connection,cookie,date,"
    "expect,expires,host,if-match,if-modified-since,if-none-match,if-range,"
    "if-unmodified-since,keep-alive,location,max-forwards,pragma,"
    "proxy-authenticate,proxy-authentication-info,proxy-authorization,"
    "proxy-connection,range,retry-after,set-cookie,te,trailer,"
    "transfer-encoding,upgrade,vary,via,warning,www-authenticate,"
)

comptime _CONTENT_PREFIX = StaticString("content-")

comptime _CONTENT_DIGEST = StaticString("content-digest")
# Of the fields that begin so, the one that is made for trailers (RFC 9530
# section 6.2).


struct Trailers(Copyable, Defaultable, Movable, Sized):
    """Fields that are sent after the content of a message (RFC 9110 section
    6.5).

    A message without them pays for a pointer. Names that mean something to
    framing, routing, authentication, caching or the reading of content are
    refused: whoever needs them needs them before the content.
    """

    var box: Optional[ArcPointer[HeaderMap]]
    """The fields, which copies share; nothing if there are none."""

    @always_inline
    def __init__(out self):
        """Makes an empty map; allocates nothing."""
        self.box = None

    def __init__(out self, *, copy: Self):
        """Shares the fields until one of both changes.

        Args:
            copy: Where from.
        """
        self.box = copy.box.copy()

    @no_inline
    def __deinit__(deinit self):
        return

    @always_inline
    def __bool__(self) -> Bool:
        """Tells whether there are trailers."""
        return self.box.__bool__()

    def __len__(self) -> Int:
        """Counts the field lines, not distinct names."""
        return len(self.box.held()[]) if self.box else 0

    def __contains__(self, name: StringSpan) -> Bool:
        """Tells whether at least one line has a name.

        Args:
            name: A field name in any case.
        """
        return self.box.__bool__() and name in self.box.held()[]

    def set(mut self, name: StringSpan, value: StringSpan) raises HeaderError:
        """Sets a field to one value, in place of all it had.

        Args:
            name: A token (RFC 9110 section 5.1).
            value: The value; whitespace around it is dropped.

        Raises:
            HeaderError: As `HeaderMap.set` does, or if the field may not be a
                trailer (RFC 9110 section 6.5.1).
        """
        check_trailer(name, value)
        var fields = self.fields()
        fields.set(name, value)
        self.box = ArcPointer(fields^)

    def append(
        mut self, name: StringSpan, value: StringSpan
    ) raises HeaderError:
        """Adds one more line for a field; the rest is as for `set`."""
        check_trailer(name, value)
        var fields = self.fields()
        fields.append(name, value)
        self.box = ArcPointer(fields^)

    def fields(self) -> HeaderMap:
        """Copies the fields; none if there are none."""
        return self.box.held()[].copy() if self.box else HeaderMap()

    def add_all(mut self, other: Self) raises HeaderError:
        """Adds what others have.

        Args:
            other: The fields.

        Raises:
            HeaderError: If all together are larger than a header block may be.
        """
        if not other:
            return
        ref added = other.box.held()[]
        for index in range(len(added)):
            self.append(added.name(index), added.value(index))


def check_trailer(name: StringSpan, value: StringSpan) raises HeaderError:
    """Checks that a field, its name in any case, may stand after content.
    Raises if it is needed before the content, or as `HeaderMap.set` does.

    Source: RFC 9110 section 6.5.1.
    """
    check_field(name, value)
    if not may_be_trailer(name.as_bytes()):
        raise HeaderError("trailer", name, -1)


def may_be_trailer(name: Span[UInt8, _]) -> Bool:
    """Tells whether a field, its name in any case, may stand after content:
    not what framing, routing, authentication, caching or the reading of content
    need before it."""
    var prefix = _CONTENT_PREFIX.as_bytes()
    if equals_ignore_case(name.before(min(len(name), len(prefix))), prefix):
        return equals_ignore_case(name, _CONTENT_DIGEST.as_bytes())
    var known = _ONLY_BEFORE_CONTENT.as_bytes()
    var start = 1
    for index in range(1, len(known)):
        if known.at(index) != 44:
            continue
        if equals_ignore_case(known.between(start, index), name):
            return False
        start = index + 1
    return True
