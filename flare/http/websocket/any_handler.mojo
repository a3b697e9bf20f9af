"""WebSocket handlers of any type behind one, so that a session knows none."""

from flare.bytes.erased import Erased, ErasedBox
from flare.http.message.request import Request
from flare.http.websocket.handler import WsHandler, WsIncoming
from flare.http.websocket.outbox import WsSender
from std.memory import ArcPointer

comptime _OpenCall = def[o: ImmOrigin](
    Erased, Request[o], WsSender
) raises thin -> None
comptime _MessageCall = def[o: ImmOrigin](
    Erased, WsIncoming[o], WsSender
) raises thin -> None
comptime _CloseCall = def[o: ImmOrigin](
    Erased, Int, StringSpan[o], WsSender
) thin -> None


def _open[
    H: WsHandler, o: ImmOrigin
](handler: Erased, req: Request[o], sender: WsSender) raises:
    # SAFETY: the pointer was made from an H, and who keeps it keeps the handler.
    handler.unsafe_bitcast[H]()[].on_open(req, sender)


def _message[
    H: WsHandler, o: ImmOrigin
](handler: Erased, message: WsIncoming[o], sender: WsSender) raises:
    # SAFETY: as for `_open`.
    handler.unsafe_bitcast[H]()[].on_message(message, sender)


def _close[
    H: WsHandler, o: ImmOrigin
](handler: Erased, code: Int, reason: StringSpan[o], sender: WsSender):
    # SAFETY: as for `_open`.
    handler.unsafe_bitcast[H]()[].on_close(code, reason, sender)


struct AnyWsHandler(WsHandler):
    """Owns a WebSocket handler of any type, and calls it through pointers."""

    # SAFETY: the functions were made for the type of the handler.
    var _handler: ErasedBox
    var _open: _OpenCall
    var _message: _MessageCall
    var _close: _CloseCall

    def __init__[H: WsHandler](out self, var handler: H):
        self._handler = ErasedBox(handler^)
        self._open = _open[H, ...]
        self._message = _message[H, ...]
        self._close = _close[H, ...]

    def on_open(self, req: Request, sender: WsSender) raises:
        """Lets the handler hear of a new connection."""
        self._open(self._handler.at, req, sender)

    @always_inline
    def on_message(self, message: WsIncoming, sender: WsSender) raises:
        self._message(self._handler.at, message, sender)

    def on_close(self, code: Int, reason: StringSpan, sender: WsSender):
        """Lets the handler hear of the end; the sender cannot send any more."""
        self._close(self._handler.at, code, reason, sender)


comptime SharedWsHandler = ArcPointer[AnyWsHandler]
"""A handler that several connections call; it ends with the last of them."""
