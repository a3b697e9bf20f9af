"""The supervisor as a program holds it."""

from flare.runtime.prefork.config import PreforkConfig
from flare.runtime.prefork.prefork import Prefork
from flare.sys.process import end_process, fork_process, reap
from flare.sys.signal import SignalPause
from tests.support.assertions import assert_equal, assert_false


def test_a_worker_is_known_from_the_master() raises:
    var supervisor = Prefork(PreforkConfig(workers=1))
    assert_false(supervisor.is_child())
    var pause = SignalPause()
    var child = fork_process()
    if child == 0:
        end_process(7 if supervisor.is_child() else 8)
    pause^.end()
    while True:
        var status = reap(child)
        if status:
            assert_equal(status.value().code, 7)
            break
    assert_false(supervisor.is_child())
