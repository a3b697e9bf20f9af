"""Endpoints that do not speak HTTP/2, for who could wait for their answer."""

from flare.bytes.checked import *
from flare.http.client.connection import Endpoint

comptime HTTP1_COUNT_MAX = 64
"""Most endpoints of which is remembered that they chose HTTP/1.1."""


struct Http1Endpoints(Defaultable, Movable):
    """Endpoints that were offered HTTP/2 and chose HTTP/1.1 (RFC 7301), so that
    nobody waits for a connection of others to them."""

    # The oldest first.
    var _endpoints: List[Endpoint]

    def __contains__(self, endpoint: Endpoint) -> Bool:
        return endpoint in self._endpoints

    def add(mut self, endpoint: Endpoint):
        """Notes that one has chosen HTTP/1.1; the oldest goes if there are too
        many."""
        if endpoint in self._endpoints:
            return
        if len(self._endpoints) >= HTTP1_COUNT_MAX:
            _ = self._endpoints.pop(0)
        self._endpoints.append(endpoint.copy())

    def remove(mut self, endpoint: Endpoint):
        """Notes that one has chosen HTTP/2, as a server that was renewed."""
        for index in range(len(self._endpoints)):
            if self._endpoints.at(index) == endpoint:
                _ = self._endpoints.pop(index)
                return
