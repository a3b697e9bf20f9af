"""A room: what one visitor says, all others hear."""

from flare.backplane import Presence, SharedMemoryBackplane
from flare.http import EventHub, Request, ServerSentEvent, State
from flare.json import json_text
from flare.runtime import process_id
from flare.ws import WsHandler, WsHub, WsIncoming, WsSender

comptime NAME_LEN_MAX = 30
"""Longest name, in characters."""
comptime EVENTS_KEPT = 100
"""How many events a listener that was gone for a while can catch up on."""


@fieldwise_init
struct Notice(Copyable, Movable):
    """What visitors and listeners are told, as JSON."""

    var kind: String
    """`join`, `say` or `leave`."""
    var name: String
    var text: String
    var present: Int
    """How many visitors there are now, at all workers."""


struct Visitors(Movable):
    """Who is at this worker: names by connection."""

    var names: Dict[UInt64, String]
    var notice_count: Int

    def __init__(out self):
        self.names = {}
        self.notice_count = 0


struct Room(WsHandler):
    """One room, whose visitors may be at any worker.

    What is said goes through memory that the worker processes share, so make it
    before they begin. For several machines, `RedisBackplane` takes its place.
    """

    var events: EventHub
    """Where notices are published, too."""
    var presence: Presence
    """Who is there, at all workers."""
    var _hub: WsHub
    var _visitors: State[Visitors]

    def __init__(out self) raises:
        """Makes an empty room."""
        self.events = EventHub(SharedMemoryBackplane(), history=EVENTS_KEPT)
        self.presence = Presence(SharedMemoryBackplane())
        self._hub = WsHub(SharedMemoryBackplane())
        self._visitors = State(Visitors())

    def on_open(self, req: Request, sender: WsSender) raises:
        var name = String(req.query_param("name").strip())
        if not 0 < name.count_codepoints() <= NAME_LEN_MAX:
            name = String("guest ", sender.id() % 1000)
        var visitors = self._visitors.lock()
        visitors[].names[sender.id()] = name
        self._hub.join(sender)
        self.presence.enter("", name, sender.id())
        self._tell(visitors[], "join", name, "")

    def on_message(self, message: WsIncoming, sender: WsSender) raises:
        var text = String(message.as_text())
        var visitors = self._visitors.lock()
        var name = visitors[].names.get(sender.id(), String("somebody"))
        self._tell(visitors[], "say", name, text)

    def on_close(self, code: Int, reason: StringSpan, sender: WsSender):
        self._hub.leave(sender)
        self.presence.leave("", sender.id())
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
        var present = len(self.presence.names(""))
        var written = json_text(Notice(kind, name, text, present))
        visitors.notice_count += 1
        # No other event has it, of whatever worker.
        var id = String(process_id(), ".", visitors.notice_count)
        _ = self._hub.send_text(written)
        self.events.publish(ServerSentEvent(written, name=kind, id=id))
