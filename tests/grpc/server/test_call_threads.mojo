"""Threads for code of calls: what is taken, and what is not."""

from flare.grpc.server.call_threads import CallThreads
from flare.sys.thread import Task
from tests.support.assertions import assert_false


@fieldwise_init
struct _Nothing(Task):
    var number: Int

    def run(mut self) raises:
        return


def test_where_no_thread_may_be_nothing_is_taken() raises:
    """Else it would wait for ever."""
    assert_false(CallThreads(0).submit(_Nothing(1)))
