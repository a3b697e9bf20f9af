"""Changes of upstreams in all workers, where there is one process."""

from flare.backplane.worker_control import OrderOutcome, WorkerControl
from flare.bytes.checked import *
from flare.http.proxy.upstreams.group_config import GroupConfig
from flare.http.proxy.upstreams.member_health import MemberState
from flare.http.proxy.upstreams.outcome import OUTCOME_COUNT
from flare.http.proxy.upstreams.upstream_orders import (
    UpstreamOrders,
    UpstreamSums,
    add_figures,
)
from flare.http.proxy.upstreams.upstreams import Upstream, Upstreams
from flare.net.ip import IpAddr
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)

comptime ONE = "http://127.0.0.1:1"
comptime TWO = "http+unix://%2Frun%2Ftwo.sock"


def _upstreams() raises -> Upstreams:
    var upstreams = Upstreams(GroupConfig())
    upstreams.add(ONE)
    upstreams.add(TWO, 3)
    return upstreams


def test_changes_are_made() raises:
    for begins in [False, True]:
        var control = WorkerControl()
        var upstreams = _upstreams()
        var orders = UpstreamOrders(control, upstreams)
        if begins:
            control.begin()
        assert_true(orders.drain(ONE).is_complete())
        assert_true(upstreams.is_drained(ONE))
        assert_true(orders.is_drained(ONE))
        assert_false(orders.is_drained(TWO))
        assert_true(orders.add(ONE, 7).is_complete())
        assert_true(orders.set_weight(TWO, 9).is_complete())
        var figures = upstreams.figures()
        assert_equal(figures.at(0).weight, 7)
        assert_equal(figures.at(1).weight, 9)
        assert_true(orders.remove(ONE).is_complete())
        # It has no requests, so it is forgotten at once.
        assert_equal(len(upstreams.figures()), 1)
        assert_false(upstreams.drain(ONE))
        assert_true(orders.is_drained(ONE))


def _check_missing(outcome: OrderOutcome) raises:
    assert_false(outcome.is_complete())
    assert_true("it is not in the group" in outcome.problem())


def test_what_cannot_be_done_is_told() raises:
    var orders = UpstreamOrders(WorkerControl(), _upstreams())
    comptime URL = "http://127.0.0.1:9"
    _check_missing(orders.drain(URL))
    _check_missing(orders.remove(URL))
    _check_missing(orders.set_weight(URL, 1))
    with assert_raises(contains=String(URL, ": it is not in the group")):
        _ = orders.is_drained(URL)
    assert_true("it is in the group" in orders.add(ONE).problem())
    assert_true("weight" in orders.set_weight(ONE, 0).problem())


def test_figures_are_added_up() raises:
    var orders = UpstreamOrders(WorkerControl(), _upstreams())
    _ = orders.drain(TWO)
    var sums = orders.figures()
    assert_equal(len(sums), 2)
    assert_equal(sums.at(0).address, ONE)
    assert_equal(sums.at(0).worker_count, 1)
    assert_equal(sums.at(0).count_in(MemberState.UP), 1)
    assert_equal(sums.at(1).address, TWO)
    assert_equal(sums.at(1).count_in(MemberState.DRAINING), 1)
    assert_equal(sums.at(1).count_in(MemberState.UP), 0)


def test_each_address_of_a_name_has_sums() raises:
    """Each is an upstream of its own, which a worker has once."""
    comptime URL = "http://app.internal:80"
    var upstreams = Upstreams(GroupConfig())
    upstreams.add(URL)
    var ips: List[IpAddr] = [
        IpAddr.parse("10.0.0.1"),
        IpAddr.parse("10.0.0.2"),
    ]
    _ = upstreams.end_lookup(URL, ips)
    var sums = UpstreamOrders(WorkerControl(), upstreams).figures()
    assert_equal(len(sums), 2)
    for index in range(2):
        assert_equal(sums[index].address, URL)
        assert_equal(sums[index].ip, String(ips[index]))
        assert_equal(sums[index].worker_count, 1)
        assert_equal(sums[index].count_in(MemberState.UP), 1)


def test_sums_over_workers() raises:
    var counts = String("1 ") * OUTCOME_COUNT
    var sums = List[UpstreamSums]()
    add_figures(sums, String("0 2 1 ", counts, "http://a \n"))
    add_figures(
        sums,
        String("4 3 0 ", counts, "http://b \n0 5 0 ", counts, "http://a \n"),
    )
    assert_equal(len(sums), 2)
    assert_equal(sums.at(0).active_count, 7)
    assert_equal(sums.at(0).ejection_count, 1)
    assert_equal(sums.at(0).worker_count, 2)
    assert_equal(sums.at(0).count_in(MemberState.UP), 2)
    assert_equal(sums.at(0).outcome_counts.at(OUTCOME_COUNT - 1), 2)
    assert_equal(sums.at(1).active_count, 3)
    assert_equal(sums.at(1).count_in(MemberState.DRAINING), 1)


def test_two_proxies_have_names() raises:
    var control = WorkerControl()
    _ = UpstreamOrders(control, _upstreams(), name="a")
    _ = UpstreamOrders(control, _upstreams(), name="b")
    with assert_raises(contains="the topic 'upstreams a' has a receiver"):
        _ = UpstreamOrders(control, _upstreams(), name="a")


def test_an_upstream_has_visible_characters_alone() raises:
    # WHATWG's parser leaves tabs and line ends out; figures are lines.
    for url in [
        "http://127.0.\n0.1:9",
        "http://a:1 ",
        "\thttp://a:1",
        "http://a\x7f:1",
    ]:
        with assert_raises(contains="visible characters"):
            _ = Upstream(url)
