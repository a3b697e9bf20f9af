"""What the server makes of what a handler says of a request."""

from flare.http.handler.any_handler import share_handler
from flare.http.handler.handler import FnHandler, RequestPolicy
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.server.config import ServerConfig, ServerContext
from flare.http.server.connection.dispatch import complete_policy
from flare.http.server.worker_state import WorkerState
from tests.support.assertions import assert_equal


def _nothing(req: Request) -> Response:
    return Response(204)


@fieldwise_init
struct _Time(Copyable):
    var asked_ms: Int
    var given_ms: Int


def test_a_handler_has_a_time_that_a_clock_can_add() raises:
    comptime DAY_MS = 86_400_000
    var state = WorkerState(
        ServerContext(ServerConfig(handler_timeout_ms=7)),
        share_handler(FnHandler(_nothing)),
    )
    for row in [
        _Time(-1, 7),
        _Time(0, 1),
        _Time(-9, 1),
        _Time(5_000, 5_000),
        _Time(DAY_MS, DAY_MS),
        _Time(Int.MAX, DAY_MS),
    ]:
        var policy = RequestPolicy(timeout_ms=row.asked_ms)
        complete_policy(policy, state)
        assert_equal(policy.timeout_ms, row.given_ms, String(row.asked_ms))
