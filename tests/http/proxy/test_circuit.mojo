"""The circuit of an upstream: every state with every event."""

from flare.http.proxy.upstreams.circuit import Circuit, CircuitState
from tests.support.assertions import assert_equal, assert_false, assert_true

comptime _UNTIL_MS = 1_000
comptime _LATER_MS = 5_000


@fieldwise_init
struct _Row(Copyable):
    """What each event makes of a state, and whether a request passes before and
    behind the end of its time."""

    var before: CircuitState
    var passes_early: Bool
    var passes_late: Bool
    var is_trial: Bool
    """Whether the request that passes next tells of the circuit."""
    var begun: CircuitState
    var given_up: CircuitState


def _in_state(state: CircuitState) -> Circuit:
    var circuit = Circuit()
    circuit.state = state
    circuit.until_ms = _UNTIL_MS
    return circuit^


def test_every_state_with_every_event() raises:
    comptime S = CircuitState
    var rows: List[_Row] = [
        _Row(S.CLOSED, True, True, False, S.CLOSED, S.CLOSED),
        _Row(S.OPEN, False, True, True, S.TRYING, S.OPEN),
        # While one tries, all others wait for what it tells.
        _Row(S.TRYING, False, False, True, S.TRYING, S.OPEN),
    ]
    assert_equal(len(rows), S.COUNT)
    for row in rows:
        var circuit = _in_state(row.before)
        assert_equal(circuit.admits(_UNTIL_MS - 1), row.passes_early)
        assert_equal(circuit.admits(_UNTIL_MS), row.passes_late)
        var waits = row.before == S.OPEN
        assert_equal(circuit.is_open_at(_UNTIL_MS - 1), waits)
        assert_false(circuit.is_open_at(_UNTIL_MS))
        assert_equal(circuit.begin(), row.is_trial)
        assert_true(circuit.state == row.begun, "a request passes")
        circuit = _in_state(row.before)
        circuit.give_up()
        assert_true(circuit.state == row.given_up, "what tried is given up")
        assert_equal(circuit.until_ms, _UNTIL_MS)
        # A failure opens it, and a success closes it, whatever was before: one
        # may have begun under another state than it ends in.
        circuit = _in_state(row.before)
        circuit.open(_LATER_MS)
        assert_true(circuit.state == S.OPEN, "it failed")
        assert_equal(circuit.until_ms, _LATER_MS)
        circuit = _in_state(row.before)
        circuit.close()
        assert_true(circuit.state == S.CLOSED, "it works")


def test_a_new_circuit_is_closed() raises:
    assert_true(Circuit().state == CircuitState.CLOSED)
