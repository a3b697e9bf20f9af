"""What a handler tells its client before the response (RFC 8297)."""

from flare.http.message.header_map import HeaderError, HeaderMap
from std.memory import OwnedPointer

comptime EARLY_HINTS = 103
"""The status of an interim response with hints (RFC 8297 section 2)."""


struct EarlyHints(Movable):
    """The fields of a 103 (Early Hints), on their way to the client.

    On a worker's own thread they wait here for the response, which follows at
    once. A handler on another thread has a way to the worker.
    """

    var fields: Optional[OwnedPointer[HeaderMap]]
    """What is to go before the response; nothing if there is nothing."""
    # SAFETY: what calls a handler on another thread sets both for the length of
    # the call.
    var _sender: OptionalPointer[NoneType, MutUntrackedOrigin]
    var _send: Optional[
        def(OpaquePointer[MutUntrackedOrigin], var HeaderMap) thin -> None
    ]

    def __init__(out self):
        """Makes what nobody has said anything to."""
        self.fields = None
        self._sender = None
        self._send = None

    def unsafe_set_sender(
        mut self,
        sender: OpaquePointer[MutUntrackedOrigin],
        send: def(
            OpaquePointer[MutUntrackedOrigin], var HeaderMap
        ) thin -> None,
    ):
        """Says how fields are sent at once; `sender`, with which `send` is
        called, outlives all calls of `add`."""
        # SAFETY: as the fields say.
        self._sender = sender
        self._send = send

    def add(mut self, links: Span[String, _]) raises HeaderError:
        """Sends links, the value of a Link field each (RFC 8288), or lets them
        wait for the response. Raises if one of them is no field value, or all
        together are larger than a header block may be."""
        var headers = HeaderMap()
        if self.fields:
            headers = self.fields.value()[].copy()
        for link in links:
            headers.append("Link", link)
        if len(headers) == 0:
            return
        if self._send:
            # SAFETY: the sender outlives the handler's call.
            self._send.value()(self._sender.value(), headers^)
            return
        self.fields = OwnedPointer(headers^)
