"""What handlers lend to the handlers that they call, along with a request."""

from std.memory import OpaquePointer
from std.reflection import reflect


@fieldwise_init
struct BadInput(Copyable, Movable):
    """Input of a client that a request could not read for its handler."""

    var place: StaticString
    """`body` or `query`."""
    var detail: String
    """What is wrong: the text of the error that the handler got."""


struct _Note(TrivialRegisterPassable):
    """A value of a type that is known by its name."""

    var type_name: StaticString
    # SAFETY: who pushed the note keeps the value alive until it is dropped.
    var value: OpaquePointer[MutUntrackedOrigin]

    def __init__(
        out self,
        type_name: StaticString,
        value: OpaquePointer[MutUntrackedOrigin],
    ):
        self.type_name = type_name
        self.value = value


struct RequestNotes(Movable):
    """Values found by their type, lent for the length of an inner call.

    A handler that holds another one lends a value with `NoteLoan`. Nothing is
    allocated for a request once the list has its length.
    """

    var bad_input: Optional[BadInput]
    """What the request has refused to its handler last, if it has."""
    var _notes: List[_Note]

    def __init__(out self):
        """Makes an empty list."""
        self.bad_input = None
        self._notes = []

    def find[
        o: ImmOrigin, //, T: AnyType
    ](ref[o] self) -> OptionalPointer[T, o]:
        """Finds the value of a type.

        Parameters:
            o: Where the notes live.
            T: The value's type.

        Returns:
            The one that was lent last, for the length of the current call;
            nothing if there is none.
        """
        comptime NAME = reflect[T].name()
        for back in range(1, len(self._notes) + 1):
            var note = self._notes[len(self._notes) - back]
            if note.type_name == materialize[NAME]():
                # SAFETY: `_push` made the note of a value of this type, which
                # is lent for as long as the notes of this call are.
                return (
                    note.value.unsafe_bitcast[T]()
                    .unsafe_mut_cast[False]()
                    .unsafe_origin_cast[o]()
                )
        return None

    @always_inline
    def _push[T: AnyType](mut self, value: Pointer[T, _]) -> Int:
        comptime NAME = reflect[T].name()
        # SAFETY: the loan keeps the value alive; `find` gives it back as what
        # it is, for the name of a type has its package and parameters in it.
        self._notes.append(
            _Note(
                materialize[NAME](),
                value.unsafe_mut_cast[True]()
                .unsafe_origin_cast[MutUntrackedOrigin]()
                .unsafe_bitcast[NoneType](),
            )
        )
        return len(self._notes) - 1

    @always_inline
    def _truncate(mut self, count: Int):
        self._notes.shrink(min(count, len(self._notes)))


struct NoteLoan[r: ImmOrigin, o: ImmOrigin](Movable):
    """Lends a value to inner handlers until it ends, or an error passes by.

        var loan = NoteLoan(req.notes(), value)
        var response = self.handler.serve(req)
        loan^.end()

    Parameters:
        r: The request's origin, which keeps it alive meanwhile.
        o: The value's, likewise.
    """

    # SAFETY: a request lends its notes as they are to be read; the storage
    # is one that may be written to, see `Request.route_params`.
    var _notes: Pointer[RequestNotes, MutUntrackedOrigin]
    var _count: Int

    @always_inline
    def __init__[
        T: AnyType
    ](out self, notes: Pointer[RequestNotes, Self.r], ref[Self.o] value: T):
        """Lends a value.

        Parameters:
            T: Its type, by which it is found.

        Args:
            notes: The request's.
            value: The value.
        """
        self._notes = notes.unsafe_mut_cast[True]().unsafe_origin_cast[
            MutUntrackedOrigin
        ]()
        self._count = self._notes[]._push(Pointer(to=value))

    @always_inline
    def __deinit__(deinit self):
        """Takes the value back."""
        self._notes[]._truncate(self._count)

    @always_inline
    def end(deinit self):
        """Takes the value back."""
        self._notes[]._truncate(self._count)
