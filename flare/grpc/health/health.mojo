"""The health service: what a program says of its services, and who watches."""

from flare.bytes.checked import *
from flare.grpc.core.status import GrpcCode, GrpcStatus
from flare.grpc.health.messages import (
    HealthCheckRequest,
    HealthCheckResponse,
    ServingStatus,
)
from flare.grpc.health.own_file import HEALTH_FILE
from flare.grpc.server.call import GrpcCall
from flare.grpc.core.kind import GrpcKind
from flare.grpc.server.services import GrpcServices
from flare.grpc.server.stream import GrpcStream, Replies
from flare.http.message.body import StreamWaker
from flare.sys.errno import OsError
from flare.sys.mutex import Mutex
from std.memory import ArcPointer

comptime _UNSAID = Int32(-1)


@fieldwise_init
struct _Watcher(Copyable, Movable):
    var number: Int
    var waker: StreamWaker


struct _Known(Movable):
    # Whether a service answers, by its name; the program alone adds some.
    var are_serving: Dict[String, Bool]
    var watchers: List[_Watcher]
    var watcher_count: Int

    def __init__(out self):
        self.are_serving = {"": True}
        self.watchers = []
        self.watcher_count = 0

    def status(self, service: StringSpan) -> ServingStatus:
        var known = self.are_serving.get(String(service))
        if not known:
            return ServingStatus.SERVICE_UNKNOWN
        return (
            ServingStatus.SERVING if known.held() else ServingStatus.NOT_SERVING
        )


@fieldwise_init
struct HealthState(Copyable, Movable):
    """What the health service answers; copies share it, in all threads.

    The server as a whole, with an empty name, is said to serve at first, and
    nothing of any service.
    """

    var _known: Mutex[_Known]

    def __init__(out self) raises OsError:
        """Begins with nothing but the server as a whole.

        Raises:
            OsError: If the system has no lock.
        """
        self._known = Mutex(_Known())

    def set_serving(self, service: StringSpan, is_serving: Bool):
        """Says whether a service answers; who watches it hears that.

        Args:
            is_serving: Whether it answers.
        """
        var known = self._known.lock()
        known[].are_serving[String(service)] = is_serving
        for index in range(len(known[].watchers)):
            known[].watchers.at(index).waker.wake()

    def status(self, service: StringSpan) -> ServingStatus:
        """Tells what was said of a service.

        Args:
            service: Its full name; empty for the server as a whole.

        Returns:
            SERVICE_UNKNOWN if nothing was.
        """
        return self._known.lock()[].status(service)

    def watch(self, waker: StreamWaker) -> Int:
        """Has somebody rung for when something is said.

        Args:
            waker: Who is rung for.

        Returns:
            The number by which `unwatch` ends that.
        """
        var known = self._known.lock()
        known[].watcher_count += 1
        known[].watchers.append(_Watcher(known[].watcher_count, waker.copy()))
        return known[].watcher_count

    def unwatch(self, number: Int):
        """Has nobody rung for any more.

        Args:
            number: What `watch` has given; nothing happens at a second call.
        """
        var known = self._known.lock()
        for index in range(len(known[].watchers)):
            if known[].watchers.at(index).number == number:
                _ = known[].watchers.pop(index)
                return


struct _Health(Movable):
    var state: HealthState

    def __init__(out self, state: HealthState):
        self.state = state.copy()

    def check(
        self, request: HealthCheckRequest, mut call: GrpcCall
    ) raises GrpcStatus -> HealthCheckResponse:
        var status = self.state.status(request.service)
        if status == ServingStatus.SERVICE_UNKNOWN:
            raise GrpcStatus(
                GrpcCode.NOT_FOUND, "nothing is said of this service"
            )
        return HealthCheckResponse(status)

    def watch(self, mut call: GrpcCall) raises GrpcStatus -> _Watching:
        return _Watching(self.state)


struct _Watching(GrpcStream):
    """Tells how a service is, and each change of that."""

    comptime Request = HealthCheckRequest
    comptime Reply = HealthCheckResponse
    var _state: HealthState
    var _service: String
    var _said: Int32
    var _number: Int

    def __init__(out self, state: HealthState):
        self._state = state.copy()
        self._service = String()
        self._said = _UNSAID
        self._number = 0

    def __deinit__(deinit self):
        self._state.unwatch(self._number)

    def on_message(
        mut self,
        var request: HealthCheckRequest,
        mut replies: Replies[HealthCheckResponse],
    ) raises GrpcStatus:
        self._service = request.service
        var waker = replies.call().waker()
        if waker:
            self._number = self._state.watch(waker.held())

    def on_end(
        mut self, mut replies: Replies[HealthCheckResponse]
    ) raises GrpcStatus:
        # It goes on until the caller leaves.
        return

    def on_room(
        mut self, mut replies: Replies[HealthCheckResponse]
    ) raises GrpcStatus:
        var status = self._state.status(self._service)
        if status.number != self._said:
            self._said = status.number
            replies.send(HealthCheckResponse(status))


def add_health(mut services: GrpcServices, state: HealthState) raises:
    """Adds the service `grpc.health.v1.Health`.

    Args:
        services: Gets its methods.
        state: What it answers.

    Raises:
        Error: If it is there already.
    """
    var shared = ArcPointer(_Health(state))
    services.describe("grpc.health.v1.Health", HEALTH_FILE)
    services.unary_method[_Health.check](
        "/grpc.health.v1.Health/Check", shared, may_block=False
    )
    services.stream_method[
        _Health.watch, HealthCheckRequest, HealthCheckResponse
    ](GrpcKind.SERVER_STREAM, "/grpc.health.v1.Health/Watch", shared)
