"""Figures of upstreams as Prometheus text."""

from flare.bytes.checked import *
from flare.http.handler.metric_source import MetricSource
from flare.http.proxy.upstreams.durations import (
    DURATION_CLASS_COUNT,
    bound_text,
)
from flare.http.proxy.upstreams.member import MemberFigures
from flare.http.proxy.upstreams.member_health import MemberState
from flare.http.proxy.upstreams.outcome import OUTCOME_COUNT, Outcome
from flare.http.proxy.upstreams.upstreams import Upstreams


struct UpstreamMetrics(Copyable, MetricSource):
    """Tells of the upstreams of one reverse proxy, for `MetricsEndpoint`.

    They are those of the process that is asked; `WorkerMetrics` around it tells
    of all worker processes.
    """

    var _name: String
    var _upstreams: Upstreams

    def __init__(out self, var name: String, upstreams: Upstreams):
        """Takes what is to be told of.

        Args:
            name: Of the group, as the label `group`; visible ASCII without `"`
                and `\\\\`.
            upstreams: The upstreams.
        """
        self._name = name^
        self._upstreams = upstreams

    def write_metrics(self, mut text: String):
        """Writes requests, failures and states."""
        var members = self._upstreams.figures()
        _head(text, "flare_upstream_active_requests", "gauge")
        for ref member in members:
            self._begin(text, "flare_upstream_active_requests", member)
            text.write("} ", member.active_count, "\n")
        _head(text, "flare_upstream_up", "gauge")
        for ref member in members:
            self._begin(text, "flare_upstream_up", member)
            var is_up = member.state == MemberState.UP
            text.write(',state="', member.state.name(), '"} ', Int(is_up), "\n")
        _head(text, "flare_upstream_ejections_total", "counter")
        for ref member in members:
            self._begin(text, "flare_upstream_ejections_total", member)
            text.write("} ", member.ejection_count, "\n")
        _head(text, "flare_upstream_attempts_total", "counter")
        for ref member in members:
            self._write_attempts(text, member)
        _head(text, "flare_upstream_attempt_seconds", "histogram")
        for ref member in members:
            self._write_durations(text, member)
        _head(text, "flare_gateway_retries_total", "counter")
        text.write('flare_gateway_retries_total{group="', self._name, '"} ')
        text.write(self._upstreams.retry_count(), "\n")
        _head(text, "flare_gateway_queued_requests", "gauge")
        text.write('flare_gateway_queued_requests{group="', self._name, '"} ')
        text.write(self._upstreams.waiting_count(), "\n")
        self._write_failed(text)

    def _begin(
        self, mut text: String, name: StaticString, member: MemberFigures
    ):
        text.write(name, '{group="', self._name, '",upstream="')
        text.write(member.address, '"')
        if member.ip.byte_length() > 0:
            text.write(',address="', member.ip, '"')

    def _write_attempts(self, mut text: String, member: MemberFigures):
        for code in range(OUTCOME_COUNT):
            var count = member.outcome_counts.at(code)
            if count == 0:
                continue
            self._begin(text, "flare_upstream_attempts_total", member)
            text.write(
                ',outcome="', Outcome(UInt8(code)).name(), '"} ', count, "\n"
            )

    def _write_durations(self, mut text: String, member: MemberFigures):
        """Tells how long attempts have taken, up to the end of the response."""
        var count = 0
        for index in range(DURATION_CLASS_COUNT):
            count += member.durations.counts.at(index)
            self._begin(text, "flare_upstream_attempt_seconds_bucket", member)
            text.write(',le="', bound_text(index), '"} ', count, "\n")
        self._begin(text, "flare_upstream_attempt_seconds_sum", member)
        text.write("} ", member.durations.sum_us // 1_000_000, ".")
        var fraction = String(member.durations.sum_us % 1_000_000)
        for _ in range(6 - fraction.byte_length()):
            text.write("0")
        text.write(fraction, "\n")
        self._begin(text, "flare_upstream_attempt_seconds_count", member)
        text.write("} ", count, "\n")

    def _write_failed(self, mut text: String):
        """Tells of requests that had no good end, and why they were not sent
        again."""
        _head(text, "flare_gateway_failed_requests_total", "counter")
        for ref failed in self._upstreams.failed_counts():
            text.write('flare_gateway_failed_requests_total{group="')
            text.write(self._name, '",outcome="', failed.outcome.name())
            text.write('",why="', failed.decision.name(), '"} ')
            text.write(failed.count, "\n")


def _head(mut text: String, name: StaticString, kind: StaticString):
    text.write("# TYPE ", name, " ", kind, "\n")
