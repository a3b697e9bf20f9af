"""The upstreams of a reverse proxy, which all workers share and a program may change."""

from flare.bytes.checked import *
from flare.bytes.never import NEVER
from flare.http.client.connect.connection import Endpoint
from flare.http.exchange.retry_rules import (
    DECISION_COUNT,
    EndedAttempt,
    RetryDecision,
)
from flare.http.proxy.upstreams.group_config import GroupConfig
from flare.http.proxy.upstreams.looked_up_names import (
    LookedUpNames,
    LookupNews,
    pair_addresses,
)
from flare.http.proxy.upstreams.outcome import OUTCOME_COUNT, Outcome
from flare.http.proxy.upstreams.member import MemberFigures
from flare.http.proxy.upstreams.upstream_group import (
    Choice,
    MemberId,
    UpstreamGroup,
    Waiter,
)
from flare.net.ip import IpAddr, is_ip_address
from flare.runtime.event import Waker
from flare.sys.clock import coarse_monotonic_ms
from flare.sys.mutex import Mutex, MutexGuard
from flare.sys.random import process_key
from flare.url.url import Url
from std.memory import ArcPointer


struct Upstream(Copyable, Movable):
    """Where requests are sent."""

    var endpoint: Endpoint
    var authority: String
    """Host and port, as in Host."""
    var name: String
    """Where it is in the words of the configuration, with its address in brackets
    if its name may stand for several."""
    var told_as: String
    """The same by its authority, for lines of the log."""
    var addresses: List[IpAddr]
    """The address of its name at which this one is, and perhaps another one to
    reach it by; none to have the name looked up for each connection."""

    def __init__(out self, url: StringSpan) raises:
        """Reads the address of an upstream, such as `http://127.0.0.1:8080`,
        `https://host` or `http+unix://%2Frun%2Fapp.sock`, without path and
        query. Raises if it is not of that form."""
        for octet in url.as_bytes():
            # The URL parser would leave some of them out.
            if octet <= 32 or octet == 127:
                raise Error(
                    "the upstream has an octet ",
                    octet,
                    ", and URLs have visible characters alone",
                )
        var parsed = Url.parse(url)
        if parsed.username().byte_length() > 0 or (
            parsed.pathname().byte_length() > 1
            or parsed.search().byte_length() > 0
        ):
            raise Error(
                "the upstream '",
                url,
                "' must be scheme, host and port alone; ForwardingRules.paths"
                " changes what paths begin with",
            )
        try:
            self.endpoint = Endpoint.of(parsed)
        except error:
            raise Error("the upstream '", url, "': ", error.reason)
        self.addresses = []
        self.authority = String(parsed.host())
        if self.endpoint.is_unix:
            # RFC 9112 section 3.2: there is always a Host.
            self.authority = "localhost"
        self.name = String(url)
        self.told_as = self.authority

    def is_named(self) -> Bool:
        """Tells whether it has a name that stands for addresses, and is none,
        nor a Unix socket."""
        return not (self.endpoint.is_unix or is_ip_address(self.endpoint.host))

    def set_addresses(mut self, addresses: List[IpAddr]):
        """Says at which address of its name it is, and perhaps at another one."""
        self.addresses = addresses.copy()
        var address = String("(", addresses.at(0), ")")
        self.name.write(address)
        self.told_as.write(" ", address)


@fieldwise_init
struct Pick(Copyable, Movable):
    """Where a request goes, or why it goes nowhere."""

    var choice: Choice
    """Of the group; `Upstreams.finish` is owed if it is a member."""
    var upstream: Optional[ArcPointer[Upstream]]


@fieldwise_init
struct Repeated(Movable):
    """What follows on an attempt without a good end."""

    var decision: RetryDecision
    """AGAIN, or why not."""
    var pick: Pick
    """Where the request goes: an upstream if the decision is AGAIN."""


@fieldwise_init
struct Arrived(Movable):
    """A request of a worker that waits for an upstream no longer."""

    var token: UInt64
    """By what the worker knows it."""
    var pick: Pick


struct _Line(Movable):
    """Requests of one worker that have waited."""

    # Nothing once the worker has ended.
    var waker: Optional[Waker]
    var arrived: List[Arrived]

    def __init__(out self, waker: Waker):
        self.waker = waker.copy()
        self.arrived = []

    def take(mut self, token: UInt64) -> Optional[Pick]:
        """Takes out what a request gets, if that is here already."""
        for index in range(len(self.arrived)):
            if self.arrived.at(index).token == token:
                return self.arrived.pop(index).pick.copy()
        return None


struct _Table(Movable):
    """What the lock is around."""

    var group: UpstreamGroup
    # By the slots of the group's members.
    var upstreams: List[ArcPointer[Upstream]]
    var lines: List[_Line]
    # When time may place what waits, and the line that has been told.
    var alarm_ms: Int
    var alarm_line: Int
    var names: LookedUpNames

    def __init__(out self, var group: UpstreamGroup):
        self.names = LookedUpNames(group.config.lookup_interval_ms)
        self.group = group^
        self.upstreams = []
        self.lines = []
        self.alarm_ms = NEVER
        self.alarm_line = -1

    def pick(self, choice: Choice) -> Pick:
        var upstream = Optional[ArcPointer[Upstream]](None)
        if choice.is_member():
            upstream = self.upstreams.at(Int(choice.member.slot))
        return Pick(choice, upstream^)

    def put(mut self, slot: Int, upstream: ArcPointer[Upstream]):
        """Says where a member is."""
        while len(self.upstreams) <= slot:
            self.upstreams.append(upstream)
        self.upstreams.at(slot) = upstream

    @always_inline
    def deliver(mut self, now_ms: Int):
        """Tells the workers of requests that wait no longer, and one of them when
        to look after those that still do."""
        if self.group.has_placed() or self.group.waiting_count() > 0:
            self._deliver(now_ms)

    @no_inline
    def _deliver(mut self, now_ms: Int):
        while self.group.has_placed():
            for placed in self.group.take_placed():
                var number = placed.waiter.line
                if not self.lines.at(number).waker:
                    self.give_back(placed.choice, now_ms)
                    continue
                var pick = self.pick(placed.choice)
                ref line = self.lines.at(number)
                line.arrived.append(Arrived(placed.waiter.token, pick^))
                line.waker.held().wake()
        var next_ms = self.group.next_place_ms(now_ms)
        if next_ms < self.alarm_ms:
            self.alarm_ms = next_ms
            self.alarm_line = self.group.first_line()
            self.lines.at(self.alarm_line).waker.held().wake()

    def give_back(mut self, choice: Choice, now_ms: Int):
        """Lets go an upstream that nobody wants any more."""
        if choice.is_member():
            self.group.finish(choice.member, Outcome.CANCELLED, now_ms)


struct _Change[o: ImmOrigin](Movable):
    """The table under its lock for a change; at its end the workers are told what
    has come of it for those that wait."""

    var now_ms: Int
    var _guard: MutexGuard[_Table, Self.o]

    @always_inline
    def __init__(out self, ref[Self.o] table: Mutex[_Table]):
        self._guard = table.lock()
        self.now_ms = coarse_monotonic_ms()

    @always_inline
    def __deinit__(deinit self):
        self._guard[].deliver(self.now_ms)

    @always_inline
    def __getitem__[
        g: ImmOrigin
    ](ref[g] self) -> ref[g.unsafe_mut_cast[True]()] _Table:
        # SAFETY: what the reference keeps alive is the guard, too.
        return Pointer(to=self._guard[]).unsafe_origin_cast[
            g.unsafe_mut_cast[True]()
        ]()[]


@fieldwise_init
struct FailedCount(Copyable, Movable):
    """How many requests failed in one way."""

    var outcome: Outcome
    """How the last attempt ended."""
    var decision: RetryDecision
    """Why there was no other."""
    var count: Int
    """So many."""


struct Upstreams(ImplicitlyCopyable, Movable):
    """The upstreams of one reverse proxy; copies mean the same ones.

        var proxy = ReverseProxy(["http://10.0.0.1:80", "http://10.0.0.2:80"])
        var upstreams = proxy.upstreams()
        ...
        upstreams.drain("http://10.0.0.1:80")

    Any thread may call it. Each worker process has its own.
    """

    var _table: Mutex[_Table]

    def __init__(out self, var config: GroupConfig) raises:
        """Makes a group without upstreams.

        Args:
            config: The rules.

        Raises:
            Error: If they contradict themselves.
        """
        var group = UpstreamGroup(
            config^,
            seed=process_key().low,
            now_ms=coarse_monotonic_ms(),
        )
        self._table = Mutex(_Table(group^))

    def add(self, url: StringSpan, weight: Int = 1) raises:
        """Adds an upstream; one that is draining comes back.

        Args:
            url: Where it is, such as `http://127.0.0.1:8080`.
            weight: Its share, beside those of others.

        Raises:
            Error: If the URL or the weight is none, or the upstream is there.
        """
        var upstream = ArcPointer(Upstream(url))
        var change = _Change(self._table)
        ref table = change[]
        # One that comes back is still where it was.
        var is_new = not table.group.has(url)
        var member = table.group.add(String(url), weight, now_ms=change.now_ms)
        if is_new:
            table.put(Int(member.slot), upstream)
        if upstream[].is_named():
            table.names.add(url, change.now_ms)

    def set_weight(self, url: StringSpan, weight: Int) raises:
        """Changes the share of an upstream; the rest is as for
        `UpstreamGroup.set_weight`."""
        self._table.lock()[].group.set_weight(url, weight)

    def drain(self, url: StringSpan) -> Bool:
        """Sends an upstream no more requests, and gives False if there is no
        such upstream; those that it has go on. Requests that wait go to others,
        and are refused at once if there is no other."""
        var change = _Change(self._table)
        return change[].group.drain(url, now_ms=change.now_ms)

    def remove(self, url: StringSpan) -> Bool:
        """Drains an upstream, and forgets it when its last request has ended;
        gives False if there is no such upstream."""
        var change = _Change(self._table)
        ref table = change[]
        table.names.remove(url)
        return table.group.remove(url, now_ms=change.now_ms)

    def is_drained(self, url: StringSpan) raises -> Bool:
        """Tells whether an upstream may be stopped: it has no request from
        here, and gets none; so, too, of one of the last 64 that were removed;
        the rest is as for `UpstreamGroup.is_drained`."""
        return self._table.lock()[].group.is_drained(url)

    def figures(self) -> List[MemberFigures]:
        """Copies what is to be told of each upstream."""
        return self._table.lock()[].group.figures(coarse_monotonic_ms())

    def retry_count(self) -> Int:
        """Counts the attempts beyond the first of a request since the start."""
        return self._table.lock()[].group.retry_count()

    def failed_counts(self) -> List[FailedCount]:
        """Counts the requests that failed: each once, with what happened last
        and why it was not sent again; ways in which none did are left out."""
        var found = List[FailedCount]()
        var guard = self._table.lock()
        ref group = guard[].group
        for outcome in range(OUTCOME_COUNT):
            for decision in range(DECISION_COUNT):
                var failed = FailedCount(
                    Outcome(UInt8(outcome)), RetryDecision(UInt8(decision)), 0
                )
                failed.count = group.failed_count(
                    failed.outcome, failed.decision
                )
                if failed.count > 0:
                    found.append(failed^)
        return found^

    def choose(self, key: UInt64, tried: UInt64) -> Pick:
        """Chooses an upstream for an attempt, and gives where it goes.

        Args:
            key: Of `RequestKey`.
            tried: The bits of those that have failed this request.
        """
        var change = _Change(self._table)
        ref table = change[]
        return table.pick(table.group.choose(key, tried, change.now_ms))

    def open_line(self, waker: Waker) -> Int:
        """Has requests of a worker wait for upstreams, and gives its number,
        for `wait`.

        Args:
            waker: Rings when some of them wait no longer.
        """
        var guard = self._table.lock()
        ref lines = guard[].lines
        lines.append(_Line(waker))
        return len(lines) - 1

    def close_line(self, line: Int):
        """Ends that: the worker has no more requests.

        Args:
            line: The worker's number.
        """
        var change = _Change(self._table)
        ref table = change[]
        table.lines.at(line).waker = None
        table.group.stop_line(line)
        while len(table.lines.at(line).arrived) > 0:
            var arrived = table.lines.at(line).arrived.pop()
            table.give_back(arrived.pick.choice, change.now_ms)
        if table.alarm_line == line:
            # Another one looks after those that wait.
            table.alarm_ms = NEVER

    def wait(self, waiter: Waiter) -> Bool:
        """Has a request wait that was refused with FULL, and gives False if it
        may not; else `take_arrived` gives it some time, unless `stop_waiting`
        takes it out.

        Args:
            waiter: The request.
        """
        var change = _Change(self._table)
        return change[].group.wait(waiter, change.now_ms)

    def stop_waiting(self, line: Int, token: UInt64):
        """Takes out a request that waits no longer, with the upstream that it
        may have got meanwhile.

        Args:
            token: By what the worker knows the request.
        """
        var change = _Change(self._table)
        ref table = change[]
        if not table.group.stop_waiting(line, token):
            var pick = table.lines.at(line).take(token)
            if pick:
                table.give_back(pick.take().choice, change.now_ms)

    def end_wait(self, line: Int, token: UInt64) -> Pick:
        """Ends the wait of a request whose time is over, with a last try to
        place it and those that have waited longer; gives where it goes, which
        may be nowhere."""
        var change = _Change(self._table)
        ref table = change[]
        table.group.place_waiting(change.now_ms)
        table.deliver(change.now_ms)
        _ = table.group.stop_waiting(line, token)
        var pick = table.lines.at(line).take(token)
        if pick:
            return pick.take()
        return Pick(Choice(MemberId(0, False, 0), Outcome.FULL), None)

    def place_waiting(self):
        """Places what waits, as far as time has made room; see `alarm_ms`."""
        var change = _Change(self._table)
        ref table = change[]
        if table.alarm_ms <= change.now_ms:
            table.alarm_ms = NEVER
        table.group.place_waiting(change.now_ms)

    def alarm_ms(self, line: Int) -> Int:
        """Tells a worker when to call `place_waiting`, by a clock in
        milliseconds; `NEVER` if another one does, or nobody needs to. It is
        rung for when that changes."""
        var guard = self._table.lock()
        ref table = guard[]
        return table.alarm_ms if table.alarm_line == line else NEVER

    def take_arrived(self, line: Int) -> List[Arrived]:
        """Takes requests that wait no longer, the first one first; `finish` is
        owed for each that has an upstream."""
        var arrived = List[Arrived]()
        var guard = self._table.lock()
        swap(arrived, guard[].lines.at(line).arrived)
        return arrived^

    def waiting_count(self) -> Int:
        """Counts the requests that wait until an upstream has room."""
        return self._table.lock()[].group.waiting_count()

    def finish(self, member: MemberId, outcome: Outcome, elapsed_us: Int):
        """Takes note of how an attempt ended.

        Args:
            member: Of the choice.
            outcome: How it ended.
            elapsed_us: How long it took, in microseconds.
        """
        var change = _Change(self._table)
        change[].group.finish(
            member, outcome, change.now_ms, elapsed_us=elapsed_us
        )

    def repeat(
        self, outcome: Outcome, ended: EndedAttempt, key: UInt64, tried: UInt64
    ) -> Repeated:
        """Sends a request once more whose attempt has ended without an answer,
        if that may be and there is an upstream for it; gives where it goes, or
        why nowhere.

        Args:
            outcome: How it ended, as `finish` was told.
            ended: What is known of it.
        """
        var change = _Change(self._table)
        ref table = change[]
        var found = table.group.repeat(
            outcome, ended, key, tried, change.now_ms
        )
        return Repeated(found.decision, table.pick(found.choice))

    def replace(
        self,
        member: MemberId,
        outcome: Outcome,
        ended: EndedAttempt,
        key: UInt64,
        tried: UInt64,
        elapsed_us: Int,
    ) -> Repeated:
        """Sends a request once more whose attempt has an answer, which ends the
        attempt, if that may be and there is an upstream for it; gives where it
        goes, or why the answer is to be passed on. Then `finish` is still owed.

        Args:
            member: Which upstream has answered.
            outcome: What it has answered.
            ended: What is known of the attempt.
            tried: The bits of those that have failed this request, and of this
                one.
        """
        var change = _Change(self._table)
        ref table = change[]
        var found = table.group.replace(
            member,
            outcome,
            ended,
            key,
            tried,
            change.now_ms,
            elapsed_us=elapsed_us,
        )
        return Repeated(found.decision, table.pick(found.choice))

    def count_failed(self, outcome: Outcome, decision: RetryDecision):
        """Counts a request that has failed.

        Args:
            decision: Why there is no other.
        """
        self._table.lock()[].group.count_failed(outcome, decision)

    def next_check(self) -> Optional[Pick]:
        """Finds an upstream that is to be checked now, for which `end_check` is
        owed; nothing if none is due."""
        var guard = self._table.lock()
        ref table = guard[]
        var member = table.group.next_check(coarse_monotonic_ms())
        if not member:
            return None
        return table.pick(Choice(member.held(), Outcome.ANSWERED))

    def next_lookup(self) -> Optional[String]:
        """Finds the upstream, as it was given to `add`, whose name is to be
        looked up now, and for which `end_lookup` is owed; nothing if none is
        due."""
        return self._table.lock()[].names.next(coarse_monotonic_ms())

    def next_lookup_ms(self) -> Int:
        """Tells when to ask `next_lookup` again."""
        return self._table.lock()[].names.next_ms(coarse_monotonic_ms())

    def end_lookup(
        self, url: StringSpan, addresses: Span[IpAddr, _]
    ) -> LookupNews:
        """Takes note of a look-up: each address is an upstream from now on, as
        far as there are places in the group; gives what is worth a line in the
        log.

        Args:
            url: Which upstream was looked up.
            addresses: Its addresses, best first; without any it keeps those that
                it has had.
        """
        var pairs = pair_addresses(addresses)
        var ips = List[String]()
        for index in range(len(pairs)):
            ips.append(String(pairs.at(index).at(0)))
        var change = _Change(self._table)
        ref table = change[]
        var slots = table.group.set_addresses(url, ips, now_ms=change.now_ms)
        var used_count = 0
        for index in range(len(slots)):
            if slots.at(index) < 0:
                continue
            used_count += 1
            try:
                var upstream = Upstream(url)
                upstream.set_addresses(pairs.at(index))
                table.put(slots.at(index), ArcPointer(upstream^))
            except:
                # It was read before.
                pass
        return table.names.end(url, len(pairs), used_count, change.now_ms)

    def end_check(self, member: MemberId, is_good: Bool):
        """Takes note of a health check; the rest is as for
        `UpstreamGroup.end_check`."""
        var change = _Change(self._table)
        change[].group.end_check(member, is_good, change.now_ms)
