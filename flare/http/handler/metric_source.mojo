"""What has figures to tell."""


trait MetricSource(Deinitable, Movable):
    """Has figures, such as counts of requests or open connections."""

    def write_metrics(self, mut text: String):
        """Writes them in the text format of Prometheus, version 0.0.4.

        Args:
            text: Where to; whole lines are appended.
        """
        ...
