"""The upstreams of a reverse proxy, which all workers share and a program may change."""

from flare.bytes.checked import *
from flare.http.client.pool import Endpoint
from flare.http.proxy.group_config import GroupConfig
from flare.http.proxy.outcome import OUTCOME_COUNT, Outcome
from flare.http.proxy.retry_rules import (
    DECISION_COUNT,
    Attempt,
    RetryDecision,
)
from flare.http.proxy.upstream_group import (
    Choice,
    MemberFigures,
    MemberId,
    UpstreamGroup,
)
from flare.sys.clock import coarse_monotonic_ms
from flare.sys.mutex import Mutex
from flare.sys.random import process_key
from flare.url.url import Url
from std.memory import ArcPointer


struct Upstream(Copyable, Movable):
    """Where requests are sent."""

    var endpoint: Endpoint
    """How it is reached."""
    var authority: String
    """Host and port, as in Host."""

    def __init__(out self, url: StringSpan) raises:
        """Reads the address of an upstream.

        Args:
            url: Such as `http://127.0.0.1:8080`, `https://host` or
                `http+unix://%2Frun%2Fapp.sock`, without path and query.

        Raises:
            Error: If it is not of that form.
        """
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
        self.authority = String(parsed.host())
        if self.endpoint.is_unix:
            # RFC 9112 section 3.2: there is always a Host.
            self.authority = "localhost"


struct _Table(Movable):
    """What the lock is around."""

    var group: UpstreamGroup
    # By the slots of the group's members.
    var upstreams: List[ArcPointer[Upstream]]

    def __init__(out self, var group: UpstreamGroup):
        self.group = group^
        self.upstreams = []


@fieldwise_init
struct Pick(Movable):
    """Where a request goes, or why it goes nowhere."""

    var choice: Choice
    """Of the group; `Upstreams.finish` is owed if it is a member."""
    var upstream: Optional[ArcPointer[Upstream]]
    """The upstream, if there is one."""


struct FailedCount(Copyable, Movable):
    """How many requests failed in one way."""

    var outcome: Outcome
    """How the last attempt ended."""
    var decision: RetryDecision
    """Why there was no other."""
    var count: Int
    """So many."""

    def __init__(
        out self, outcome: Outcome, decision: RetryDecision, count: Int
    ):
        """Takes the three.

        Args:
            outcome: How the last attempt ended.
            decision: Why there was no other.
            count: So many.
        """
        self.outcome = outcome
        self.decision = decision
        self.count = count


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
        var guard = self._table.lock()
        ref table = guard[]
        var member = table.group.add(
            String(url), weight, now_ms=coarse_monotonic_ms()
        )
        var slot = Int(member.slot)
        if slot == len(table.upstreams):
            table.upstreams.append(upstream)
        else:
            table.upstreams.at(slot) = upstream
        deinit(guard^)

    def set_weight(self, url: StringSpan, weight: Int) raises:
        """Changes the share of an upstream.

        Args:
            url: As it was given to `add`.
            weight: Its share, beside those of others.

        Raises:
            Error: If there is no such upstream, or the weight is none.
        """
        self._table.lock()[].group.set_weight(url, weight)

    def drain(self, url: StringSpan) -> Bool:
        """Sends an upstream no more requests; those that it has go on.

        Args:
            url: As it was given to `add`.

        Returns:
            False if there is no such upstream.
        """
        return self._table.lock()[].group.drain(url)

    def remove(self, url: StringSpan) -> Bool:
        """Drains an upstream, and forgets it when its last request has ended.

        Args:
            url: As it was given to `add`.

        Returns:
            False if there is no such upstream.
        """
        return self._table.lock()[].group.remove(url)

    def is_drained(self, url: StringSpan) -> Bool:
        """Tells whether an upstream may be stopped.

        Args:
            url: As it was given to `add`.

        Returns:
            True if it has no request from here, and gets none.
        """
        return self._table.lock()[].group.is_drained(url)

    def figures(self) -> List[MemberFigures]:
        """Copies what is to be told of each upstream.

        Returns:
            Their figures.
        """
        return self._table.lock()[].group.figures(coarse_monotonic_ms())

    def retry_count(self) -> Int:
        """Counts the attempts beyond the first of a request.

        Returns:
            So many since the start.
        """
        return self._table.lock()[].group.retry_count()

    def failed_counts(self) -> List[FailedCount]:
        """Counts the requests that failed: each once, with what happened last
        and why it was not sent again.

        Returns:
            The ways in which some did.
        """
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
        deinit(guard^)
        return found^

    def choose(self, key: UInt64, tried: UInt64) -> Pick:
        """Chooses an upstream for an attempt.

        Args:
            key: Of `RequestKey`.
            tried: The bits of those that have failed this request.

        Returns:
            Where it goes.
        """
        var guard = self._table.lock()
        ref table = guard[]
        var choice = table.group.choose(key, tried, coarse_monotonic_ms())
        var upstream = Optional[ArcPointer[Upstream]](None)
        if choice.is_member():
            upstream = table.upstreams.at(Int(choice.member.slot))
        deinit(guard^)
        return Pick(choice, upstream^)

    def finish(self, member: MemberId, outcome: Outcome):
        """Takes note of how an attempt ended.

        Args:
            member: Of the choice.
            outcome: How it ended.
        """
        self._table.lock()[].group.finish(
            member, outcome, coarse_monotonic_ms()
        )

    def may_retry(self, attempt: Attempt) -> RetryDecision:
        """Decides what follows on an attempt without a good end.

        Args:
            attempt: How it ended.

        Returns:
            AGAIN, or why not.
        """
        return self._table.lock()[].group.may_retry(
            attempt, coarse_monotonic_ms()
        )

    def next_check(self) -> Optional[Pick]:
        """Finds an upstream that is to be checked now.

        Returns:
            The upstream, for which `end_check` is owed; nothing if none is due.
        """
        var guard = self._table.lock()
        ref table = guard[]
        var member = table.group.next_check(coarse_monotonic_ms())
        var pick = Optional[Pick](None)
        if member:
            pick = Pick(
                Choice(member.held(), Outcome.ANSWERED),
                table.upstreams.at(Int(member.held().slot)),
            )
        deinit(guard^)
        return pick^

    def end_check(self, member: MemberId, is_good: Bool):
        """Takes note of a health check.

        Args:
            member: Which upstream was checked.
            is_good: True if it answered well, and in time.
        """
        self._table.lock()[].group.end_check(
            member, is_good, coarse_monotonic_ms()
        )
