"""What is to be told of an answer that another server has given."""


struct UpstreamFacts(Copyable, Movable):
    """Which server has answered a request that was sent on, and how fast. It is
    known in full when there is a response; see `DeferredCall.upstream`."""

    var upstream: String
    """The last one that was asked, in the words of the configuration, with its
    address after it if the name stands for several; empty if none was."""
    var status: Int
    """The status that it has answered with; 0 if it has not."""
    var attempt_count: Int
    """How often the request was sent, or was to be."""
    var connect_us: Int
    """How long the last attempt has waited for its connection, in microseconds; 0
    if there was one."""
    var head_us: Int
    """How long it took until the head of the response, the connection included;
    -1 if there was none."""

    def __init__(out self):
        """Makes the facts of a request that was not sent on yet."""
        self.upstream = String()
        self.status = 0
        self.attempt_count = 0
        self.connect_us = 0
        self.head_us = -1
