"""The status code of a response."""

from flare.http.message.status_registry import reason_phrase

comptime RESET_CONTENT = 205
"""A status whose content has a length, and that is 0 (RFC 9110 section 15.3.6)."""


struct Status(Comparable, Hashable, ImplicitlyCopyable, Writable):
    """A three-digit status code (RFC 9110 section 15).

    Compares with integers, and prints as its digits.
    """

    var code: Int
    """The number, 100 to 599 on the wire."""

    comptime OK = Status(200)
    """The request succeeded."""
    comptime CREATED = Status(201)
    """The request made a resource."""
    comptime NO_CONTENT = Status(204)
    """The request succeeded, and there is no content."""
    comptime FOUND = Status(302)
    """The target is elsewhere for now."""
    comptime SEE_OTHER = Status(303)
    """The answer is to be fetched with GET from elsewhere."""
    comptime NOT_MODIFIED = Status(304)
    """The client's copy is still good."""
    comptime BAD_REQUEST = Status(400)
    """The request is malformed."""
    comptime UNAUTHORIZED = Status(401)
    """The request lacks credentials."""
    comptime FORBIDDEN = Status(403)
    """The request is understood and refused."""
    comptime NOT_FOUND = Status(404)
    """There is no such resource."""
    comptime METHOD_NOT_ALLOWED = Status(405)
    """The resource exists, but not for this method."""
    comptime INTERNAL_SERVER_ERROR = Status(500)
    """The server failed."""

    @implicit
    @always_inline
    def __init__(out self, code: Int):
        """Makes a status from its number."""
        self.code = code

    def __lt__(self, other: Self) -> Bool:
        """Tells whether this code is smaller.

        Args:
            other: A status or an integer.
        """
        return self.code < other.code

    def reason(self) -> StaticString:
        """Gives the registered reason phrase; empty for an unregistered code."""
        return reason_phrase(self.code)

    @always_inline
    def allows_content(self) -> Bool:
        """Tells whether a response with this status may have content: not with
        1xx, 204 and 304.

        Source: RFC 9110 sections 15.2, 15.3.5 and 15.4.5.
        """
        return self.code >= 200 and self.code != 204 and self.code != 304

    @always_inline
    def is_interim(self) -> Bool:
        """Tells whether another response to the same request follows: to 1xx,
        but for 101, after which another protocol begins.

        Source: RFC 9110 section 15.2.
        """
        return self.code < 200 and self.code != 101

    def write_to(self, mut writer: Some[Writer]):
        """Writes the three digits."""
        writer.write(self.code)
