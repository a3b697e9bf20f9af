"""Calls that begin anew: where their attempts go. No server is asked."""

from flare.grpc.client.call import ChannelCall
from flare.grpc.client.call_options import GrpcCallOptions
from flare.grpc.client.channel_core import ChannelCore, GrpcChannelConfig
from flare.grpc.client.retries import GrpcRetryPolicy
from flare.grpc.client.service_config import GrpcMethodConfig
from flare.grpc.core.kind import GrpcKind
from flare.grpc.core.status import GrpcCode, GrpcStatus
from std.memory import ArcPointer
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.loopback import SilentPort


def _config(spreads_calls: Bool, initial_ms: Int = 1) -> GrpcChannelConfig:
    var method = GrpcMethodConfig(["/"])
    method.retries = GrpcRetryPolicy(
        3, [GrpcCode.UNAVAILABLE], initial_backoff_ms=initial_ms
    )
    var config = GrpcChannelConfig()
    config.service.methods.append(method^)
    config.service.spreads_calls = spreads_calls
    return config^


def _call(spreads_calls: Bool, path: String = "/t.T/M") raises -> ChannelCall:
    var addresses: List[String] = ["http://127.0.0.1:1", "http://127.0.0.1:2"]
    return ChannelCall(
        ArcPointer(ChannelCore(addresses, _config(spreads_calls))),
        path,
        GrpcKind.UNARY,
        GrpcCallOptions(),
        is_safe=False,
    )


def test_the_next_attempt_goes_to_the_next_address_where_calls_do() raises:
    """A6: each attempt is picked anew, as `round_robin` picks."""
    for spreads_calls in [False, True]:
        var call = _call(spreads_calls)
        assert_equal(call._address, 0)
        assert_true(call._plan(GrpcStatus(GrpcCode.UNAVAILABLE), False))
        assert_equal(call._address, 1 if spreads_calls else 0)


def test_addresses_that_are_not_reached_are_counted_in_turn() raises:
    """One that was reached before is not the last one that was left."""
    var call = _call(False)
    var status = GrpcStatus(GrpcCode.UNAVAILABLE)
    assert_true(call._plan(status, True))
    assert_equal(call._address, 1)
    # It was reached, and has refused.
    assert_true(call._plan(status, False))
    assert_equal(call._turn.attempt_count, 2)
    # The connection is gone: the other address is next, at no attempt's price.
    assert_true(call._plan(status, True))
    assert_equal(call._address, 0)
    assert_equal(call._turn.attempt_count, 2)


def test_a_host_that_is_silent_is_left_for_the_next() raises:
    """load-balancing.md of gRPC, "pick_first", where the time of a call is over
    before there is a connection."""
    var silent = SilentPort()
    var addresses: List[String] = [
        String("http://", silent.address()),
        "http://127.0.0.1:2",
    ]
    var core = ArcPointer(ChannelCore(addresses, _config(False)))
    var call = ChannelCall(
        core,
        "/t.T/M",
        GrpcKind.UNARY,
        GrpcCallOptions(timeout_ms=100),
        is_safe=False,
    )
    _ = call.send("m".as_bytes())
    assert_equal(call.status().code.name(), "DEADLINE_EXCEEDED")
    assert_equal(core[].first_address(), 1)
    _ = silent^


def _is_made(initial_ms: Int) -> Bool:
    try:
        _ = ChannelCore(["http://127.0.0.1:1"], _config(False, initial_ms))
    except status:
        return status.code != GrpcCode.INVALID_ARGUMENT
    return True


def test_policies_that_cannot_work_are_refused() raises:
    """A6, "Validation of retryPolicy", whoever has made it."""
    assert_true(_is_made(1))
    for initial_ms in [0, -1, -2]:
        assert_false(_is_made(initial_ms), String(initial_ms))


def test_a_path_that_would_lead_elsewhere_is_not_called() raises:
    """PROTOCOL-HTTP2.md of gRPC, "Path": what reads URLs takes `/t.T/../u.U/M` for
    `/u.U/M`, and credentials were asked for another service."""
    var paths: List[String] = [
        "/t.T/../u.U/M",
        "/t.T/M?x",
        "/t.T/M#x",
        "t.T/M",
        "/t.T/ M",
    ]
    for path in paths:
        var call = _call(False, path)
        assert_false(call.send("m".as_bytes()), path)
        var status = call.status()
        assert_true(status.code == GrpcCode.INTERNAL, path)
        assert_true("is no path" in status.message, status.message)
