"""What a request has in common with others while it waits, without sockets."""

from flare.http.client.exchange.prepared_request import (
    ClientBase,
    prepare_request,
    Upload,
)
from flare.http.client.message.config import ClientConfig
from flare.http.client.message.request import ClientRequest
from flare.http.client.connect.shared_pool import ConnectionLimits
from flare.http.client.exchange.state import ClientState, SharedParts
from flare.http.client.exchange.task import RequestTask
from flare.http.client.exchange.task_phase import TaskEvent, TaskProgress
from flare.net.error import Timeout
from flare.sys.poll import pause
from tests.support.assertions import assert_equal, assert_false, assert_true


def test_who_waits_in_vain_ends_its_own_dial_alone() raises:
    """Those behind another request's connection go on waiting for that."""
    var config = ClientConfig()
    var parts = SharedParts(
        ConnectionLimits(max_per_host=1, queue_timeout_ms=20), config.pool
    )
    var state = ClientState(config.copy())
    state.share(parts.copy())
    var request = prepare_request(
        ClientRequest("GET", "https://a.test/"),
        Upload(),
        ClientBase(),
        Pointer(to=config),
    )
    var endpoint = request.endpoint.copy()
    # Somebody else has the one place.
    assert_true(Bool(parts.connections.take(endpoint, False, False)))
    var task = RequestTask(request^, state, 7)
    assert_true(task.advance(state, TaskEvent.NONE) == TaskProgress.WAIT)
    assert_false(state.joins_dial(endpoint, -1))
    assert_equal(len(state._dials), 2)
    while task.wait_ms() != 0:
        pause(task.wait_ms())
    var is_late = False
    try:
        _ = task.advance(state, TaskEvent.TIMEOUT)
    except error:
        is_late = error.kind == Timeout
    assert_true(is_late)
    assert_equal(len(state._dials), 1)
