"""Changes of upstreams in all worker processes, and what all of them know of each."""

from flare.backplane.worker_control import (
    ORDER_TIMEOUT_MS,
    OrderOutcome,
    OrderReceiver,
    WorkerControl,
)
from flare.bytes.checked import *
from flare.http.proxy.upstreams.member_health import MemberState
from flare.http.proxy.upstreams.outcome import OUTCOME_COUNT
from flare.http.proxy.upstreams.upstreams import Upstreams

comptime _ADD = StaticString("add")
comptime _DRAIN = StaticString("drain")
comptime _REMOVE = StaticString("remove")
comptime _WEIGHT = StaticString("weight")
comptime _DRAINED = StaticString("drained")
comptime _FIGURES = StaticString("figures")
comptime _STATE_COUNT = 5


struct UpstreamSums(Copyable, Movable):
    """What all worker processes know of one upstream."""

    var address: String
    """Where it is."""
    var ip: String
    """The address of its name, each of which is an upstream of its own; empty
    before its first look-up, and where there is no name."""
    var worker_count: Int
    """How many workers have it."""
    var active_count: Int
    """How many requests it has from all of them."""
    var ejection_count: Int
    """How often it was ejected, in all."""
    var outcome_counts: List[Int]
    """How many attempts have ended in each way, by `Outcome.code`."""
    var _state_counts: List[Int]

    def __init__(out self, address: StringSpan, ip: StringSpan = ""):
        """Makes sums of nothing."""
        self.address = String(address)
        self.ip = String(ip)
        self.worker_count = 0
        self.active_count = 0
        self.ejection_count = 0
        self.outcome_counts = List[Int](length=OUTCOME_COUNT, fill=0)
        self._state_counts = List[Int](length=_STATE_COUNT, fill=0)

    def count_in(self, state: MemberState) -> Int:
        """Counts the workers for which the upstream is in a state.

        Args:
            state: The state.
        """
        return self._state_counts.at(Int(state.code))


struct UpstreamOrders(Copyable, Movable):
    """Changes the upstreams of a `ReverseProxy` in all worker processes.

        var control = WorkerControl()
        var proxy = ReverseProxy(["http://10.0.0.1:80", "http://10.0.0.2:80"])
        var orders = UpstreamOrders(control, proxy.upstreams())
        ...
        var outcome = orders.drain("http://10.0.0.1:80")

    Each call waits until all workers have made the change, and those that are
    started later make it, too, before they serve. Make it before the workers
    are forked.
    """

    var _control: WorkerControl
    var _topic: String

    def __init__(
        out self,
        control: WorkerControl,
        upstreams: Upstreams,
        *,
        name: StringSpan = "upstreams",
    ) raises:
        """Makes it, and says what carries the orders out.

        Args:
            control: Brings them to all workers.
            upstreams: Those of the proxy, in each process.
            name: Distinct for each proxy of the program.

        Raises:
            Error: If another one has the name.
        """
        self._control = control
        self._topic = String("upstreams ", name)
        control.add(self._topic, _Changer(upstreams))

    def add(
        self,
        url: StringSpan,
        weight: Int = 1,
        *,
        timeout_ms: Int = ORDER_TIMEOUT_MS,
    ) raises -> OrderOutcome:
        """Adds an upstream; one that is draining comes back.

        Args:
            url: As for `Upstreams.add`.
            weight: Its share, beside those of others.
            timeout_ms: How long to wait for answers.

        Returns:
            What became of it.

        Raises:
            Error: As `WorkerControl.order` does.
        """
        return self._change(String(_ADD, " ", weight, " ", url), timeout_ms)

    def set_weight(
        self,
        url: StringSpan,
        weight: Int,
        *,
        timeout_ms: Int = ORDER_TIMEOUT_MS,
    ) raises -> OrderOutcome:
        """Changes the share of an upstream; the rest is as for `add`."""
        return self._change(String(_WEIGHT, " ", weight, " ", url), timeout_ms)

    def drain(
        self, url: StringSpan, *, timeout_ms: Int = ORDER_TIMEOUT_MS
    ) raises -> OrderOutcome:
        """Sends an upstream no more requests, and gives what became of the
        order, which has failed where there is none; the rest is as for `add`.
        Requests that it has go on."""
        return self._change(String(_DRAIN, " 0 ", url), timeout_ms)

    def remove(
        self, url: StringSpan, *, timeout_ms: Int = ORDER_TIMEOUT_MS
    ) raises -> OrderOutcome:
        """Drains an upstream, forgets it when its last request has ended, and
        gives what became of the order, which has failed where there is none;
        the rest is as for `add`."""
        return self._change(String(_REMOVE, " 0 ", url), timeout_ms)

    def _change(
        self, var order: String, timeout_ms: Int
    ) raises -> OrderOutcome:
        return self._control.order(
            self._topic, order, keeps=True, timeout_ms=timeout_ms
        )

    def is_drained(
        self, url: StringSpan, *, timeout_ms: Int = ORDER_TIMEOUT_MS
    ) raises -> Bool:
        """Tells whether an upstream may be stopped: it has no request from any
        worker, and gets none; False also if one did not answer in time.

        Raises:
            Error: As `WorkerControl.order` and `Upstreams.is_drained` do.
        """
        var outcome = self._control.order(
            self._topic, String(_DRAINED, " 0 ", url), timeout_ms=timeout_ms
        )
        for ref answer in outcome.answers:
            if not answer.is_done:
                raise Error(outcome.problem())
        return outcome.is_complete() and outcome.total() == outcome.asked_count

    def figures(
        self, *, timeout_ms: Int = ORDER_TIMEOUT_MS
    ) raises -> List[UpstreamSums]:
        """Gives what the workers know of each upstream, summed over those that
        answered in time, whose number is the `worker_count` of each.

        Raises:
            Error: As `WorkerControl.order` does.
        """
        var outcome = self._control.order(
            self._topic, String(_FIGURES, " 0 "), timeout_ms=timeout_ms
        )
        var sums = List[UpstreamSums]()
        for ref answer in outcome.answers:
            if answer.is_done:
                add_figures(sums, answer.text)
        return sums^


def add_figures(mut sums: List[UpstreamSums], text: String) raises:
    """Adds what one worker knows: a line for each upstream, with state,
    requests, ejections, the counts of outcomes, where it is, and the address of
    its name. Raises if the text has another form."""
    for line in text.split("\n"):
        if line.byte_length() == 0:
            continue
        var parts = line.split(" ", OUTCOME_COUNT + 4)
        if len(parts) < OUTCOME_COUNT + 5:
            raise Error("figures of an upstream have ", len(parts), " parts")
        var address = parts[OUTCOME_COUNT + 3]
        var ip = parts[OUTCOME_COUNT + 4]
        var index = 0
        while index < len(sums) and not (
            StringSpan(sums[index].address) == address
            and StringSpan(sums[index].ip) == ip
        ):
            index += 1
        if index == len(sums):
            sums.append(UpstreamSums(address, ip))
        ref sum = sums[index]
        sum.worker_count += 1
        sum._state_counts.at(Int(parts.at(0))) += 1
        sum.active_count += Int(parts.at(1))
        sum.ejection_count += Int(parts.at(2))
        for code in range(OUTCOME_COUNT):
            sum.outcome_counts.at(code) += Int(parts.at(3 + code))


@fieldwise_init
struct _Changer(OrderReceiver):
    """Changes the upstreams of its process."""

    var upstreams: Upstreams

    def carry_out(mut self, order: String) raises -> String:
        var parts = order.split(" ", 2)
        var what = parts.at(0)
        var weight = Int(parts.at(1))
        var url = String(parts.at(2))
        if what == _FIGURES:
            return self._figures()
        if what == _DRAINED:
            return String(Int(self.upstreams.is_drained(url)))
        if what == _ADD:
            self.upstreams.add(url, weight)
        elif what == _WEIGHT:
            self.upstreams.set_weight(url, weight)
        else:
            var found = self.upstreams.drain(
                url
            ) if what == _DRAIN else self.upstreams.remove(url)
            if not found:
                raise Error("upstream ", url, ": it is not in the group")
        return String()

    def _figures(self) -> String:
        var text = String()
        for ref member in self.upstreams.figures():
            text.write(member.state.code, " ", member.active_count, " ")
            text.write(member.ejection_count, " ")
            for count in member.outcome_counts:
                text.write(count, " ")
            text.write(member.address, " ", member.ip, "\n")
        return text^
