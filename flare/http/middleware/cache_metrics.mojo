"""The figures of a cache's store as Prometheus text."""

from flare.http.cache.shared_responses import SharedStats
from flare.http.cache.store import CacheStore
from flare.http.handler.metric_source import MetricSource


@fieldwise_init
struct CacheMetrics(MetricSource):
    """The figures of a store for a `MetricsEndpoint`, of the process that is
    asked; `WorkerMetrics` around it tells of all worker processes.

    router.get("/metrics", MetricsEndpoint(CacheMetrics(store)))
    """

    var store: CacheStore
    """Whose figures."""

    def write_metrics(self, mut text: String):
        """Writes all figures in the text format of Prometheus."""
        var stats = self.store.stats()
        text.write("# HELP http_cache_requests_total Requests by outcome.\n")
        text.write("# TYPE http_cache_requests_total counter\n")
        _write_outcome("hit", stats.hit_count, text)
        _write_outcome("stale", stats.stale_count, text)
        _write_outcome("miss", stats.miss_count, text)
        text.write("# HELP http_cache_fetches_total Misses by kind.\n")
        text.write("# TYPE http_cache_fetches_total counter\n")
        text.write(
            'http_cache_fetches_total{kind="revalidated"} ',
            stats.revalidated_count,
            '\nhttp_cache_fetches_total{kind="collapsed"} ',
            stats.collapsed_count,
            '\nhttp_cache_fetches_total{kind="stale_if_error"} ',
            stats.error_count,
            "\n",
        )
        text.write("# HELP http_cache_responses_total Responses by fate.\n")
        text.write("# TYPE http_cache_responses_total counter\n")
        text.write(
            'http_cache_responses_total{fate="stored"} ',
            stats.stored_count,
            '\nhttp_cache_responses_total{fate="refused"} ',
            stats.refused_count,
            '\nhttp_cache_responses_total{fate="evicted"} ',
            stats.evicted_count,
            '\nhttp_cache_responses_total{fate="purged"} ',
            stats.purged_count,
            "\n",
        )
        text.write("# HELP http_cache_entries Responses that are kept.\n")
        text.write("# TYPE http_cache_entries gauge\n")
        text.write("http_cache_entries ", stats.entry_count, "\n")
        text.write("# HELP http_cache_bytes Memory that they take.\n")
        text.write("# TYPE http_cache_bytes gauge\n")
        text.write("http_cache_bytes ", stats.octet_count, "\n")
        var shared = self.store.shared_stats()
        if shared:
            _write_shared(shared.value(), text)


def _write_outcome(name: StaticString, count: Int, mut text: String):
    text.write('http_cache_requests_total{outcome="', name, '"} ', count, "\n")


def _write_shared(stats: SharedStats, mut text: String):
    text.write("# HELP http_cache_shared_total What became of it, in Redis.\n")
    text.write("# TYPE http_cache_shared_total counter\n")
    _write_event("found", stats.found_count, text)
    _write_event("missed", stats.missed_count, text)
    _write_event("skipped", stats.skipped_count, text)
    _write_event("failed", stats.failed_count, text)
    _write_event("malformed", stats.malformed_count, text)
    _write_event("written", stats.written_count, text)
    _write_event("outdated", stats.outdated_count, text)
    _write_event("dropped", stats.dropped_count, text)
    _write_event("removed", stats.removed_count, text)
    _write_event("heard", stats.heard_count, text)
    _write_event("reset", stats.reset_count, text)
    text.write("# HELP http_cache_shared_waiting What waits to be written.\n")
    text.write("# TYPE http_cache_shared_waiting gauge\n")
    text.write("http_cache_shared_waiting ", stats.waiting_count, "\n")
    text.write("# HELP http_cache_shared_away Whether Redis is left alone.\n")
    text.write("# TYPE http_cache_shared_away gauge\n")
    text.write("http_cache_shared_away ", Int(stats.is_away), "\n")


def _write_event(name: StaticString, count: Int, mut text: String):
    text.write('http_cache_shared_total{event="', name, '"} ', count, "\n")
