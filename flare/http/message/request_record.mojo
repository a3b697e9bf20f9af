"""What is known of a request beside what it says, for logs and figures."""

from flare.bytes.lend import lend_text

comptime REQUEST_ID_LEN_MAX = 128
"""Longest id of a request, in bytes.

Ids stand in every line of a log; those in use have 16 to 55 bytes.
"""


struct RequestRecord(Movable):
    """Route and id of one request at a time; the storage is used again."""

    var route: StringSpan[ImmUntrackedOrigin]
    """The pattern of the route that answers; empty if there is none. It is
    lent by the router, which outlives all requests."""
    var logs_errors: Bool
    """False if nothing is to be logged of requests that fail."""
    # SAFETY: who calls a handler sets it before and takes it back after.
    var request: OptionalPointer[NoneType, MutUntrackedOrigin]
    """Where the request lies whose handler is being called, for a report of
    its crash; nothing between the calls."""
    var _id: Array[UInt8, REQUEST_ID_LEN_MAX]
    var _id_len: Int

    def __init__(out self):
        """Makes the record of a request of which nothing is known."""
        self.route = no_route()
        self.logs_errors = True
        self.request = None
        self._id = Array[UInt8, REQUEST_ID_LEN_MAX](fill=0)
        self._id_len = 0

    @always_inline
    def clear(mut self):
        """Forgets the request."""
        self.route = no_route()
        self._id_len = 0

    @always_inline
    def has_id(self) -> Bool:
        """Tells whether the request has an id.

        Returns:
            False until somebody asks for it.
        """
        return self._id_len > 0

    def id(self) -> StringSpan[origin_of(self._id)]:
        """Lends the id.

        Returns:
            Visible ASCII; empty if there is none.
        """
        return StringSpan(unsafe_from_utf8=Span(self._id)[0 : self._id_len])

    def set_id(mut self, id: Span[UInt8, _]):
        """Gives the request an id.

        Args:
            id: Visible ASCII; what is beyond `REQUEST_ID_LEN_MAX` is left out.
        """
        self._id_len = min(len(id), REQUEST_ID_LEN_MAX)
        for index in range(self._id_len):
            self._id[index] = id[index]

    def copy_from(mut self, other: Self):
        """Takes over what is known of a request.

        Args:
            other: Its record; where its route lives must outlive this one.
        """
        self.route = other.route
        self.set_id(other.id().as_bytes())


@always_inline
def no_route() -> StringSpan[ImmUntrackedOrigin]:
    """Gives the route of what no route answers.

    Returns:
        An empty text.
    """
    # SAFETY: of a part of the program, nothing is read.
    comptime NOTHING = StaticString("")
    return lend_text[ImmUntrackedOrigin](NOTHING.unsafe_ptr(), 0)
