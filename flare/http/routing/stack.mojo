"""Middleware written from the outside in, without nesting."""

from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.handler.handler import Handler, HoldsHandler, index_of_handler
from std.memory import unsafe_stack_allocation
from std.reflection import reflect
from std.sys import size_of

comptime NEXT = Next()
"""Stands for the handler that middleware in a `stack` goes around."""


struct Next(Handler, TrivialRegisterPassable):
    """Holds the place of a handler until a `stack` puts one there."""

    def __init__(out self):
        """Makes the placeholder; `NEXT` is one."""
        return

    def serve(self, req: Request) raises -> Response:
        """Says that middleware was not put around a handler."""
        raise Error(
            "middleware around NEXT answers nothing; write stack(..., handler)"
        )


trait Layer(Handler, HoldsHandler):
    """Middleware that can stand in a `stack`.

        @fieldwise_init
        struct ServedBy[H: Handler](Layer):
            comptime Inner = Self.H
            comptime Around[I: Handler]: Handler = ServedBy[I]
            var handler: Self.H

            def serve(self, req: Request) raises -> Response:
                return self.handler.serve(req).with_header("X-By", "me")

    The handler is the only field whose type depends on it.
    """

    comptime Around[I: Handler]: Handler
    """The same middleware around a handler of another type.

    Parameters:
        I: The other handler's type.
    """


def stack[
    A: Layer, H: Handler
](var outermost: A, var handler: H) -> A.Around[H]:
    """Puts middleware around a handler, as `A(handler)` does.

    Parameters:
        A: The middleware's type.
        H: The handler's type.

    Args:
        outermost: The middleware, around `NEXT`.
        handler: What answers.

    Returns:
        The middleware around the handler.
    """
    return _around(outermost^, handler^)


def stack[
    A: Layer, B: Layer, H: Handler
](var outermost: A, var second: B, var handler: H) -> A.Around[B.Around[H]]:
    """Puts middleware around a handler, the outermost first.

        server.serve(
            stack(
                AccessLog(NEXT),
                RequestId(NEXT),
                Cors(NEXT, CorsPolicy(["https://app.example.com"])),
                router^,
            )
        )

    What comes out is `AccessLog(RequestId(Cors(router^, ...)))`, the very
    type: no call goes through a pointer. Up to six stand in one stack; a longer
    one has another `stack` as its handler.

    Parameters:
        A: The outermost middleware's type.
        B: The next one's.
        H: The handler's type.

    Args:
        outermost: Sees requests first and responses last.
        second: Middleware within it.
        handler: What answers.

    Returns:
        All of them as one handler.
    """
    return _around(outermost^, _around(second^, handler^))


def stack[
    A: Layer, B: Layer, C: Layer, H: Handler
](
    var outermost: A,
    var second: B,
    var third: C,
    var handler: H,
) -> A.Around[
    B.Around[C.Around[H]]
]:
    """Puts middleware around a handler, the outermost first.

    Parameters:
        A: The type of the outermost middleware.
        B: The type of the second middleware.
        C: The type of the third middleware.
        H: The handler's type.

    Args:
        outermost: Sees requests first and responses last.
        second: Middleware within the former.
        third: Middleware within the former.
        handler: What answers.

    Returns:
        All of them as one handler.
    """
    return _around(outermost^, stack(second^, third^, handler^))


def stack[
    A: Layer, B: Layer, C: Layer, D: Layer, H: Handler
](
    var outermost: A,
    var second: B,
    var third: C,
    var fourth: D,
    var handler: H,
) -> A.Around[B.Around[C.Around[D.Around[H]]]]:
    """Puts middleware around a handler, the outermost first.

    Parameters:
        A: The type of the outermost middleware.
        B: The type of the second middleware.
        C: The type of the third middleware.
        D: The type of the fourth middleware.
        H: The handler's type.

    Args:
        outermost: Sees requests first and responses last.
        second: Middleware within the former.
        third: Middleware within the former.
        fourth: Middleware within the former.
        handler: What answers.

    Returns:
        All of them as one handler.
    """
    return _around(outermost^, stack(second^, third^, fourth^, handler^))


def stack[
    A: Layer, B: Layer, C: Layer, D: Layer, E: Layer, H: Handler
](
    var outermost: A,
    var second: B,
    var third: C,
    var fourth: D,
    var fifth: E,
    var handler: H,
) -> A.Around[B.Around[C.Around[D.Around[E.Around[H]]]]]:
    """Puts middleware around a handler, the outermost first.

    Parameters:
        A: The type of the outermost middleware.
        B: The type of the second middleware.
        C: The type of the third middleware.
        D: The type of the fourth middleware.
        E: The type of the fifth middleware.
        H: The handler's type.

    Args:
        outermost: Sees requests first and responses last.
        second: Middleware within the former.
        third: Middleware within the former.
        fourth: Middleware within the former.
        fifth: Middleware within the former.
        handler: What answers.

    Returns:
        All of them as one handler.
    """
    return _around(
        outermost^, stack(second^, third^, fourth^, fifth^, handler^)
    )


def stack[
    A: Layer, B: Layer, C: Layer, D: Layer, E: Layer, F: Layer, H: Handler
](
    var outermost: A,
    var second: B,
    var third: C,
    var fourth: D,
    var fifth: E,
    var sixth: F,
    var handler: H,
) -> A.Around[B.Around[C.Around[D.Around[E.Around[F.Around[H]]]]]]:
    """Puts middleware around a handler, the outermost first.

    Parameters:
        A: The type of the outermost middleware.
        B: The type of the second middleware.
        C: The type of the third middleware.
        D: The type of the fourth middleware.
        E: The type of the fifth middleware.
        F: The type of the sixth middleware.
        H: The handler's type.

    Args:
        outermost: Sees requests first and responses last.
        second: Middleware within the former.
        third: Middleware within the former.
        fourth: Middleware within the former.
        fifth: Middleware within the former.
        sixth: Middleware within the former.
        handler: What answers.

    Returns:
        All of them as one handler.
    """
    return _around(
        outermost^, stack(second^, third^, fourth^, fifth^, sixth^, handler^)
    )


def _around[L: Layer, H: Handler](var layer: L, var handler: H) -> L.Around[H]:
    """Takes middleware apart, and makes it anew around a handler."""
    comptime New = L.Around[H]
    comptime COUNT = reflect[L].field_count()
    comptime HANDLER = index_of_handler[L]()
    comptime assert COUNT == reflect[New].field_count() and HANDLER >= 0, (
        "Around[I] of a Layer is the same struct around an I, and the handler"
        " is its field 'handler'"
    )
    # SAFETY: every field is moved once from the one room to the other, but for
    # the handlers, of which the old one is destroyed and the new one moved in.
    var old = unsafe_stack_allocation[1, L]()
    var new = unsafe_stack_allocation[1, New]()
    old.unsafe_write(layer^)
    comptime for index in range(COUNT):
        comptime if index != HANDLER:
            _move(
                reflect[L].field_ref[index](old[]),
                reflect[New].field_ref[index](new[]),
            )
    comptime OldHandler = reflect[L].field_types()[HANDLER]
    comptime assert conforms_to(OldHandler, Movable & Deinitable)
    Pointer(to=reflect[L].field_ref[HANDLER](old[])).unsafe_deinit_pointee()
    comptime NewHandler = reflect[New].field_types()[HANDLER]
    comptime assert conforms_to(NewHandler, Movable & Deinitable)
    Pointer(to=reflect[New].field_ref[HANDLER](new[])).unsafe_write(
        rebind_var[NewHandler](handler^)
    )
    return new.unsafe_take_pointee()


def _move[F: AnyType, G: AnyType](mut old: F, mut new: G):
    """Moves a field into memory without a value; the old one is then without."""
    # SAFETY: the two types are one. What is not `Movable` is a function's
    # address, which is moved as its octets.
    comptime if conforms_to(F, Movable & Deinitable):
        comptime assert (
            conforms_to(G, Movable & Deinitable)
            and reflect[F].name() == reflect[G].name()
        ), "only the handler's type may differ in the Around[I] of a Layer"
        Pointer(to=new).unsafe_write(
            rebind_var[G](Pointer(to=old).unsafe_take_pointee())
        )
    else:
        comptime assert size_of[F]() == size_of[Int]()
        Pointer(to=new).unsafe_bitcast[Int]().unsafe_write(
            Pointer(to=old).unsafe_bitcast[Int]()[]
        )
