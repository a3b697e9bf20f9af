"""Typed values that go with a request from middleware to inner handlers."""

from flare.bytes.checked import *
from std.memory import OpaquePointer
from std.reflection import reflect


@fieldwise_init
struct _Extension(TrivialRegisterPassable):
    """A value of a type that is known by its name."""

    var type_name: StaticString
    # SAFETY: who pushed it keeps the value alive until it is dropped.
    var value: OpaquePointer[MutUntrackedOrigin]
    # Whether the value outlives all requests.
    var lasts: Bool


struct Extensions(Movable):
    """Values found by their type, lent for the length of an inner call.

    Middleware lends a value with `ExtensionScope`; inner handlers find it with
    `Request.extension`. Nothing is allocated for a request once the list has
    its length.
    """

    var _values: List[_Extension]

    def __init__(out self):
        """Makes an empty list."""
        self._values = []

    def find[
        o: ImmOrigin, //, T: AnyType
    ](ref[o] self) -> OptionalPointer[T, o]:
        """Finds the value of a type that was lent last, for the length of the
        current call; nothing if there is none.

        Parameters:
            o: Where the extensions live.
            T: The value's type.
        """
        comptime NAME = reflect[T].name()
        for back in range(1, len(self._values) + 1):
            var extension = self._values.at(len(self._values) - back)
            if extension.type_name == materialize[NAME]():
                # SAFETY: `_push` was given a value of this type, which is lent
                # for as long as the extensions of this call are.
                return (
                    extension.value.unsafe_bitcast[T]()
                    .unsafe_mut_cast[False]()
                    .unsafe_origin_cast[o]()
                )
        return None

    @always_inline
    def _push[T: AnyType](mut self, value: Pointer[T, _], lasts: Bool) -> Int:
        comptime NAME = reflect[T].name()
        # SAFETY: the scope keeps the value alive; `find` gives it back as what
        # it is, for the name of a type has its package and parameters in it.
        self._values.append(
            _Extension(
                materialize[NAME](),
                value.unsafe_mut_cast[True]()
                .unsafe_origin_cast[MutUntrackedOrigin]()
                .unsafe_bitcast[NoneType](),
                lasts,
            )
        )
        return len(self._values) - 1

    def unsafe_take_lasting(mut self, other: Self):
        """Takes over what outlives all requests, such as the state of an `App`.

        Args:
            other: The extensions of a request. The caller sees to it that this
                value ends before the handlers that have lent them do.
        """
        # SAFETY: as the caller promises.
        for extension in other._values:
            if extension.lasts:
                self._values.append(extension)

    @always_inline
    def _truncate(mut self, count: Int):
        self._values.shrink(min(count, len(self._values)))


struct ExtensionScope[r: ImmOrigin, o: ImmOrigin](Movable):
    """Lends a value to inner handlers until it ends, or an error passes by.

        def serve(self, req: Request) raises -> Response:
            var user = User("ann")
            var scope = ExtensionScope(req.extensions(), user)
            var response = self.handler.serve(req)
            scope^.end()
            return response^

    Whoever answers inside finds it by its type: `req.extension[User]()`. Say
    `end` after the call, for a scope that nothing mentions any more ends at
    once.

    Parameters:
        r: The request's origin, which keeps it alive meanwhile.
        o: The value's, likewise.
    """

    # SAFETY: a request lends its extensions as they are to be read; the storage
    # is one that may be written to, see `Request.route_params`.
    var _extensions: Pointer[Extensions, MutUntrackedOrigin]
    var _count: Int

    @always_inline
    def __init__[
        T: AnyType
    ](
        out self,
        extensions: Pointer[Extensions, Self.r],
        ref[Self.o] value: T,
        *,
        lasts: Bool = False,
    ):
        """Lends a value.

        Parameters:
            T: Its type, by which it is found.

        Args:
            extensions: The request's.
            value: The value.
            lasts: Whether it lives as long as the handler that lends it, so
                that what is done for a request later may use it, too.
        """
        self._extensions = extensions.unsafe_mut_cast[
            True
        ]().unsafe_origin_cast[MutUntrackedOrigin]()
        self._count = self._extensions[]._push(Pointer(to=value), lasts)

    @always_inline
    def __deinit__(deinit self):
        """Takes the value back."""
        self._extensions[]._truncate(self._count)

    @always_inline
    def end(deinit self):
        """Takes the value back."""
        self._extensions[]._truncate(self._count)
