"""Content that is made for nobody."""

from flare.bytes.buffer import Buffer
from flare.http.cache.background import run_to_end
from flare.http.message.body import Body, BodySource, Poll
from flare.http.message.response import Response
from flare.sys.clock import monotonic_ms
from flare.sys.mutex import Mutex
from tests.support.assertions import assert_equal, assert_true


@fieldwise_init
struct _Asked(BodySource):
    """A source that rings nobody: it has to be asked again."""

    var _count: Mutex[Int]

    def fill(mut self, mut out: Buffer) raises -> Poll:
        self._count.lock()[] += 1
        return Poll.DONE if self._count.lock()[] == 3 else Poll.PENDING

    def poll_interval_ms(self) -> Int:
        return 1


def test_a_source_is_asked_as_often_as_it_wants() raises:
    var count = Mutex(0)
    var began_ms = monotonic_ms()
    run_to_end(Response(200, Body(_Asked(count))))
    assert_equal(count.lock()[], 3)
    var took_ms = monotonic_ms() - began_ms
    assert_true(took_ms < 20_000, String(took_ms))
