"""What a router captured from a request's path."""

from flare.bytes.lend import lend_text
from flare.http.message.request_notes import BadInput, RequestNotes
from flare.http.message.request_record import RequestRecord

comptime PATH_PARAM_COUNT_MAX = 32
"""Most parameters that one request can carry.

Storage for them is made once and never moves, so that values may be lent.
"""


struct PathParam(TrivialRegisterPassable):
    """One captured parameter.

    Name and value are lent by the pattern and by the request (or by `PathParams`
    for a decoded value), which all outlive the handler's call.
    """

    var name: StringSpan[ImmUntrackedOrigin]
    """The name in the pattern."""
    var value: StringSpan[ImmUntrackedOrigin]
    """The value, percent-decoded."""

    def __init__(
        out self,
        name: StringSpan[ImmUntrackedOrigin],
        value: StringSpan[ImmUntrackedOrigin],
    ):
        """Makes a parameter.

        Args:
            name: The name in the pattern.
            value: The value, percent-decoded.
        """
        self.name = name
        self.value = value


struct PathParams(Movable, Sized):
    """Storage for the parameters of one request at a time.

    A worker owns one; the router writes into it while a request is handled.
    Nothing is allocated for a value without percent-encoding.
    """

    var notes: RequestNotes
    """What outer handlers lend to inner ones; they drop it themselves."""
    var record: RequestRecord
    """Route and id, for logs and figures."""
    var _params: List[PathParam]
    var _decoded: List[String]
    # Whether there is anything to forget.
    var _is_used: Bool

    def __init__(out self):
        """Makes empty storage of its full size."""
        self.notes = RequestNotes()
        self.record = RequestRecord()
        self._params = List[PathParam](capacity=PATH_PARAM_COUNT_MAX)
        self._decoded = List[String](capacity=PATH_PARAM_COUNT_MAX)
        self._is_used = False

    def __len__(self) -> Int:
        """Counts the captured parameters.

        Returns:
            How many there are.
        """
        return len(self._params)

    @always_inline
    def clear(mut self):
        """Forgets what the last request has left, and keeps the storage."""
        self.record.clear()
        if self._is_used:
            self._is_used = False
            self._params.clear()
            self._decoded.clear()
            self.notes.bad_input = None

    def note_bad_input(mut self, var bad_input: BadInput):
        """Remembers what could not be read for the handler, until `clear`.

        Args:
            bad_input: What it is.
        """
        self._is_used = True
        self.notes.bad_input = bad_input^

    def truncate(mut self, count: Int):
        """Forgets the parameters captured last.

        Args:
            count: How many stay.
        """
        self._params.shrink(min(count, len(self._params)))

    @always_inline
    def add(
        mut self,
        name: StringSpan[ImmUntrackedOrigin],
        value: StringSpan[ImmUntrackedOrigin],
    ) -> Bool:
        """Captures a value as it stands in the request.

        Args:
            name: The name; must outlive the handler's call.
            value: The value; must outlive the handler's call.

        Returns:
            False if `PATH_PARAM_COUNT_MAX` is reached.
        """
        if len(self._params) >= PATH_PARAM_COUNT_MAX:
            return False
        self._is_used = True
        self._params.append(PathParam(name, value))
        return True

    def add_decoded(
        mut self, name: StringSpan[ImmUntrackedOrigin], var value: String
    ) -> Bool:
        """Captures a value that had to be decoded.

        Args:
            name: The name; must outlive the handler's call.
            value: The decoded value, kept here.

        Returns:
            False if `PATH_PARAM_COUNT_MAX` is reached.
        """
        if len(self._decoded) >= PATH_PARAM_COUNT_MAX:
            return False
        self._decoded.append(value^)
        # SAFETY: the list has its full capacity from the start, so the string
        # stays where it is until `clear`.
        ref kept = self._decoded[len(self._decoded) - 1]
        return self.add(
            name,
            lend_text[ImmUntrackedOrigin](
                kept.unsafe_ptr(), kept.byte_length()
            ),
        )

    @always_inline
    def at(self, index: Int) -> PathParam:
        """Gives one parameter.

        Args:
            index: At least 0 and less than `len(self)`.

        Returns:
            The parameter, in the order of the path.
        """
        return self._params[index]

    @always_inline
    def find(self, name: StringSpan) -> Int:
        """Finds a parameter by name.

        Args:
            name: The name in the pattern.

        Returns:
            The index of the last one with that name, or -1: in nested routers
            the inner one wins.
        """
        for back in range(1, len(self._params) + 1):
            var index = len(self._params) - back
            if self._params[index].name == name:
                return index
        return -1
