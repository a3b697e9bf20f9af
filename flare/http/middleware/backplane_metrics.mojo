"""The figures of backplanes as Prometheus text."""

from flare.backplane.backplane import BackplaneCounts
from flare.backplane.channel import HasBackplane, HubChannel
from flare.bytes.checked import *
from flare.http.middleware.metrics import write_label
from flare.http.handler.metric_source import MetricSource
from std.memory import ArcPointer


struct BackplaneMetrics(Copyable, MetricSource):
    """What hubs and tables of presence sent to other processes, had from them,
    and lost: all workers of this server together, each as it was at most a
    second ago.

        var hubs = BackplaneMetrics()
        hubs.add("chat", hub)
        router.get("/metrics", MetricsEndpoint(MetricPair(metrics, hubs^)))

    A hub without a backplane has zeros.
    """

    var _names: List[String]
    var _channels: List[Optional[ArcPointer[HubChannel]]]

    def __init__(out self):
        """Tells of nothing yet."""
        self._names = []
        self._channels = []

    def add[H: HasBackplane](mut self, var name: String, hub: H):
        """Tells of a hub, too.

        Parameters:
            H: The hub's type: `WsHub`, `EventHub` or `Presence`.

        Args:
            name: The label `hub` of its figures.
            hub: The hub.
        """
        self._names.append(name^)
        self._channels.append(hub.backplane_channel())

    def write_metrics(self, mut text: String):
        """Writes all figures in the text format of Prometheus."""
        var figures = List[List[Int]]()
        for ref channel in self._channels:
            var counts = BackplaneCounts()
            if channel:
                counts = channel.held()[].totals()
            figures.append(_figures(counts))
        for kind in range(_KIND_COUNT):
            var shown = materialize[_SHOWN]().at(kind)
            text.write("# HELP ", shown.name, " ")
            text.write(shown.help, "\n# TYPE ", shown.name)
            text.write(" ", "gauge" if kind == _WAITING else "counter", "\n")
            for index in range(len(figures)):
                text.write(shown.name, '{hub="')
                write_label(self._names.at(index), text)
                text.write('"} ', figures.at(index).at(kind), "\n")


@fieldwise_init
struct _Shown(ImplicitlyCopyable):
    var name: StaticString
    var help: StaticString


comptime _KIND_COUNT = 9
comptime _WAITING = 7
comptime _SHOWN: Array[_Shown, _KIND_COUNT] = [
    _Shown("flare_backplane_sent_total", "Own messages that were sent."),
    _Shown(
        "flare_backplane_received_total",
        "Messages of other processes that came.",
    ),
    _Shown(
        "flare_backplane_lost_total",
        "Messages of other processes that never came.",
    ),
    _Shown(
        "flare_backplane_dropped_total",
        "Own messages that reached no other process.",
    ),
    _Shown("flare_backplane_refused_total", "Own messages that were too long."),
    _Shown("flare_backplane_repeated_total", "Messages that came again."),
    _Shown("flare_backplane_malformed_total", "What came and was no message."),
    _Shown("flare_backplane_waiting", "Own messages that wait for the engine."),
    _Shown("flare_backplane_gaps_total", "Times that the connection was lost."),
]


def _figures(counts: BackplaneCounts) -> List[Int]:
    """Gives the figures in the order of `_SHOWN`."""
    return [
        counts.sent,
        counts.received,
        counts.lost,
        counts.dropped,
        counts.refused,
        counts.repeated,
        counts.malformed,
        counts.waiting,
        counts.gaps,
    ]
