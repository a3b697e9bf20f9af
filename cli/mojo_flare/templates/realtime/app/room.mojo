"""A room: what one visitor says, all others hear."""

from flare.http import EventHub, Request, ServerSentEvent, State
from flare.json import json_text
from flare.ws import WsHandler, WsHub, WsIncoming, WsSender

comptime NAME_LEN_MAX = 30
"""Longest name, in characters."""


@fieldwise_init
struct Notice(Copyable, Movable):
    """What visitors and listeners are told, as JSON."""

    var kind: String
    """`join`, `say` or `leave`."""
    var name: String
    var text: String
    var present: Int
    """How many visitors there are now."""


struct Visitors(Movable):
    """Who is there: names by connection."""

    var names: Dict[UInt64, String]
    var notice_count: Int

    def __init__(out self):
        self.names = {}
        self.notice_count = 0


struct Room(WsHandler):
    """Serves all connections of all workers.

    A notice is made and sent under the lock, so that everybody hears the same
    in the same order.
    """

    var _hub: WsHub
    var _events: EventHub
    var _visitors: State[Visitors]

    def __init__(out self, var events: EventHub) raises:
        """Makes an empty room.

        Args:
            events: Where its notices are published, too.
        """
        self._hub = WsHub()
        self._events = events^
        self._visitors = State(Visitors())

    def on_open(self, req: Request, sender: WsSender) raises:
        var name = String(req.query_param("name").strip())
        if not 0 < name.count_codepoints() <= NAME_LEN_MAX:
            name = String("guest ", sender.id() % 1000)
        var visitors = self._visitors.lock()
        visitors[].names[sender.id()] = name
        self._hub.join(sender)
        self._tell(visitors[], "join", name, "")

    def on_message(self, message: WsIncoming, sender: WsSender) raises:
        var text = String(message.as_text())
        var visitors = self._visitors.lock()
        var name = visitors[].names.get(sender.id(), String("somebody"))
        self._tell(visitors[], "say", name, text)

    def on_close(self, code: Int, reason: StringSpan, sender: WsSender):
        self._hub.leave(sender)
        var visitors = self._visitors.lock()
        var name = visitors[].names.pop(sender.id(), String())
        try:
            self._tell(visitors[], "leave", name, "")
        except:
            # Only JSON that cannot be written raises, and names can be.
            pass

    def _tell(
        self, mut visitors: Visitors, kind: String, name: String, text: String
    ) raises:
        """Sends a notice to visitors and listeners."""
        var notice = Notice(kind, name, text, len(visitors.names))
        var written = json_text(notice)
        visitors.notice_count += 1
        _ = self._hub.send_text(written)
        self._events.publish(
            ServerSentEvent(
                written, name=kind, id=String(visitors.notice_count)
            )
        )
