"""What is done before and after every call."""

from flare.bytes.checked import *
from flare.bytes.erased import Erased, ErasedBox
from flare.grpc.core.status import GrpcStatus
from flare.grpc.server.call import GrpcCall
from std.memory import ArcPointer


trait GrpcInterceptor(Deinitable, Movable):
    """Sees every call of some services before and after its method.

    Calls of several threads come at once: what it changes must be atomic or
    locked.
    """

    def before(self, mut call: GrpcCall) raises GrpcStatus:
        """Sees a call whose method is known, before it runs; must not wait.

        Args:
            call: The call, to whose metadata it may add.

        Raises:
            GrpcStatus: It ends the call in place of the method.
        """
        return

    def after(self, call: GrpcCall, status: GrpcStatus):
        """Hears how a call has ended; those that `before` has refused, too.

        Args:
            call: The call.
            status: How it ended; CANCELLED if the caller has gone.
        """
        return


def _before[
    I: GrpcInterceptor
](interceptor: Erased, mut call: GrpcCall) raises GrpcStatus:
    # SAFETY: `_AnyInterceptor` made the pointer from an I of its own.
    interceptor.unsafe_bitcast[I]()[].before(call)


def _after[
    I: GrpcInterceptor
](interceptor: Erased, call: GrpcCall, status: GrpcStatus):
    # SAFETY: as for `_before`.
    interceptor.unsafe_bitcast[I]()[].after(call, status)


struct _AnyInterceptor(Movable):

    # SAFETY: the functions were made for its type.
    var _interceptor: ErasedBox
    var _before: def(Erased, mut GrpcCall) thin raises GrpcStatus -> None
    var _after: def(Erased, GrpcCall, GrpcStatus) thin -> None

    def __init__[I: GrpcInterceptor](out self, var interceptor: I):
        self._interceptor = ErasedBox(interceptor^)
        self._before = _before[I]
        self._after = _after[I]


struct Interceptors(Copyable, Movable):
    """Those of some services, the first one outermost."""

    var _all: ArcPointer[List[_AnyInterceptor]]

    def __init__(out self):
        self._all = ArcPointer(List[_AnyInterceptor]())

    def add[I: GrpcInterceptor](mut self, var interceptor: I):
        self._all[].append(_AnyInterceptor(interceptor^))

    @always_inline
    def is_empty(self) -> Bool:
        return len(self._all[]) == 0

    def before(self, mut call: GrpcCall) raises GrpcStatus:
        ref all = self._all[]
        for index in range(len(all)):
            all.at(index)._before(all.at(index)._interceptor.at, call)

    def after(self, call: GrpcCall, status: GrpcStatus):
        ref all = self._all[]
        for position in range(len(all)):
            var index = len(all) - 1 - position
            all.at(index)._after(all.at(index)._interceptor.at, call, status)
