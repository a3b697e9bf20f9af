"""The connections of one worker to upstreams that speak HTTP/2."""

from flare.bytes.checked import *
from flare.http.client.message.config import ClientConfig
from flare.http.proxy.http2_upstream import Http2Upstream, close_upstream
from flare.http.proxy.upstreams.proxy_config import ProxyConfig
from flare.http.proxy.upstreams.upstream_group import MemberId
from flare.sys.clock import coarse_monotonic_ms
from std.memory import ArcPointer

comptime _STREAMS_MAX = 100
"""How many requests at once an upstream is expected to take on a connection,
before it has said so (RFC 9113 section 6.5.2 wants at least as many)."""

comptime _HTTP1_MS = 60_000
"""For how long an upstream that speaks HTTP/1.1, or no WebSocket over HTTP/2, is
not asked again."""


struct _Slot(Movable):

    var generation: UInt32
    var connections: List[ArcPointer[Http2Upstream]]
    var http1_until_ms: Int
    var no_tunnels_until_ms: Int
    # How many requests at once the upstream takes on a connection.
    var streams_max: Int

    def __init__(out self, generation: UInt32):
        self.generation = generation
        self.connections = []
        self.streams_max = _STREAMS_MAX
        self.http1_until_ms = 0
        self.no_tunnels_until_ms = 0

    def drop_used_up(mut self):
        """Forgets those that take no more requests; they end when their last
        request does."""
        for index in range(len(self.connections) - 1, -1, -1):
            if not self.connections.at(index)[].is_usable():
                _ = self.connections.pop(index)


struct Http2Pool(Defaultable, Movable):
    """Which connection a request goes on, by upstream."""

    var _slots: List[_Slot]
    var _config: Optional[ArcPointer[ClientConfig]]

    def __deinit__(deinit self):
        """Closes all connections, saying goodbye: the worker ends."""
        for index in range(len(self._slots)):
            for connection in self._slots.at(index).connections:
                close_upstream(connection)

    def _index(mut self, member: MemberId) -> Int:
        """Finds the slot of an upstream, or makes it."""
        var index = Int(member.slot)
        while len(self._slots) <= index:
            self._slots.append(_Slot(member.generation))
        if self._slots.at(index).generation != member.generation:
            # Another upstream was there before.
            self._slots.at(index) = _Slot(member.generation)
        return index

    def may_ask(mut self, member: MemberId, *, is_tunnel: Bool) -> Bool:
        """Tells whether an upstream may be asked over HTTP/2, or for a
        WebSocket if `is_tunnel`: not for a while after it has said that it does
        not speak HTTP/2, or its SETTINGS have not said that it takes a
        WebSocket so."""
        ref slot = self._slots.at(self._index(member))
        var until_ms = slot.http1_until_ms
        if is_tunnel:
            until_ms = max(until_ms, slot.no_tunnels_until_ms)
        return until_ms <= coarse_monotonic_ms()

    def note_http1(mut self, member: MemberId):
        var index = self._index(member)
        self._slots.at(index).http1_until_ms = coarse_monotonic_ms() + _HTTP1_MS

    def note_no_tunnels(mut self, member: MemberId):
        """Takes note of an upstream that takes no WebSocket over HTTP/2."""
        var index = self._index(member)
        self._slots.at(index).no_tunnels_until_ms = (
            coarse_monotonic_ms() + _HTTP1_MS
        )

    def find(mut self, member: MemberId) -> Optional[ArcPointer[Http2Upstream]]:
        """Finds a connection for one more request: with room, or being opened.
        Nothing if another one is needed."""
        ref slot = self._slots.at(self._index(member))
        slot.drop_used_up()
        for connection in slot.connections:
            if connection[].knows_streams_max():
                slot.streams_max = connection[].streams_max()
            if connection[].has_room() or slot.streams_max == 0:
                return connection.copy()
        return None

    def add(
        mut self, member: MemberId, config: ProxyConfig
    ) -> ArcPointer[Http2Upstream]:
        """Makes a connection that `open_upstream` opens."""
        if not self._config:
            self._config = ArcPointer(_client_config(config))
        var index = self._index(member)
        var made = ArcPointer(
            Http2Upstream(
                self._config.held(),
                config.keep_idle_ms,
                max(self._slots.at(index).streams_max, 1),
                config.group.max_connection_age_ms,
            )
        )
        self._slots.at(index).connections.append(made.copy())
        return made^


def _client_config(config: ProxyConfig) -> ClientConfig:
    var made = ClientConfig()
    made.head_limits = config.head_limits
    made.http2_ping_after_ms = config.http2_ping_after_ms
    made.http2_ping_timeout_ms = config.http2_ping_timeout_ms
    return made^
