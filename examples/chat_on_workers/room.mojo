"""A chat room over all workers of a server, or of many servers."""

from flare.backplane import Backplane, Presence
from flare.http import (
    EventHub,
    FileServer,
    Handler,
    Request,
    RequestMetrics,
    Response,
    Router,
    ServerSentEvent,
    State,
    request_id,
)
from flare.http.middleware import (
    BackplaneMetrics,
    MetricPair,
    Metrics,
    MetricsEndpoint,
)
from flare.json import json_text, parse, read_json
from flare.runtime import process_id
from flare.ws import WsConfig, WsHandler, WsHub, WsIncoming, WsSender
from std.sys import stderr

comptime HISTORY = 200
"""Messages that are kept for those who come, or come back."""

comptime NAME_LEN_MAX = 40
comptime TEXT_LEN_MAX = 2_000


@fieldwise_init
struct Said(Copyable, Movable):
    """What clients send: a text, or that one is being typed, or neither to ask
    who is there."""

    var text: Optional[String]
    var typing: Optional[Bool]


@fieldwise_init
struct Message(Copyable, Movable):
    """What all get, now or when they come back."""

    var name: String
    var text: String
    var worker: Int


@fieldwise_init
struct News(Copyable, Movable):
    """What is of this moment: `welcome`, `came`, `left`, `typing`, `who`."""

    var kind: String
    var name: String
    var worker: Int
    var names: List[String]


@fieldwise_init
struct Member(Copyable, Movable):
    """A client of this worker."""

    var name: String
    var id: String
    var said_count: Int


@fieldwise_init
struct Room(WsHandler):
    """Hears what clients say.

    What must not be missed goes to an `EventHub`, which keeps a history. What
    is of this moment goes over a `WsHub`, and is gone.
    """

    var messages: EventHub
    var news: WsHub
    var presence: Presence
    var members: State[Dict[UInt64, Member]]

    def on_open(self, req: Request, sender: WsSender) raises:
        var name = String(req.query_param("name"))
        if not 0 < name.byte_length() <= NAME_LEN_MAX:
            sender.close(4_000, String("a name has 1 to 40 bytes"))
            return
        self.members.lock()[][sender.id()] = Member(name, request_id(req), 0)
        self.news.join(sender)
        self.presence.enter("", name, sender.id())
        sender.send_text(self._news("welcome", name))
        _ = self.news.send_text(self._news("came", name))

    def on_message(self, message: WsIncoming, sender: WsSender) raises:
        var document = parse(message.as_text())
        var said = read_json[Said](document.view())
        if said.text:
            self._publish(said.text.take(), sender.id())
        elif said.typing:
            var name = self._name(sender.id())
            _ = self.news.send_text(self._news("typing", name))
        else:
            sender.send_text(self._news("who", ""))

    def on_close(self, code: Int, reason: StringSpan, sender: WsSender):
        self.news.leave(sender)
        self.presence.leave("", sender.id())
        var nobody = Member(String(), String(), 0)
        var member = self.members.lock()[].pop(sender.id(), nobody^)
        try:
            if member.name.byte_length() > 0:
                _ = self.news.send_text(self._news("left", member.name))
        except error:
            print(error, file=stderr)

    def _publish(self, var text: String, id: UInt64) raises:
        if not 0 < text.byte_length() <= TEXT_LEN_MAX:
            return
        var members = self.members.lock()
        ref member = members[][id]
        member.said_count += 1
        # No other message of any worker has it, whenever it was started.
        var event_id = String(member.id, ".", member.said_count)
        var message = Message(member.name, text^, process_id())
        deinit(members^)
        self.messages.publish(
            ServerSentEvent(json_text(message), id=event_id^, retry_ms=500)
        )

    def _name(self, id: UInt64) raises -> String:
        return self.members.lock()[][id].name

    def _news(self, kind: StringSpan, name: StringSpan) raises -> String:
        return json_text(
            News(
                String(kind),
                String(name),
                process_id(),
                self.presence.names(""),
            )
        )


@fieldwise_init
struct Messages(Handler):
    """The messages, from where the client was; all that are kept for one that
    is new."""

    var hub: EventHub

    def serve(self, req: Request) raises -> Response:
        return self.hub.subscribe(req, sends_history=True)


def chat[
    B: Backplane
](
    site: StringSpan, var messages: B, var news: B, var presence: B
) raises -> RequestMetrics[Router]:
    """Puts the room together.

    Parameters:
        B: The type of what carries messages from worker to worker.

    Args:
        site: The folder of the page.
        messages: Carries what must not be missed.
        news: Carries what is of this moment.
        presence: Carries who comes and goes.

    Returns:
        The handler; make it before the workers are forked.
    """
    var history = EventHub(messages^, history=HISTORY)
    var room = Room(
        history.copy(),
        WsHub(news^),
        Presence(presence^),
        State(Dict[UInt64, Member]()),
    )
    var metrics = Metrics()
    var hubs = BackplaneMetrics()
    hubs.add("messages", room.messages)
    hubs.add("news", room.news)
    hubs.add("presence", room.presence)
    var config = WsConfig()
    config.max_message_size = 4 * TEXT_LEN_MAX
    var router = Router()
    router.ws("/room", room^, config^)
    router.get("/messages", Messages(history^))
    router.get("/metrics", MetricsEndpoint(MetricPair(metrics, hubs^)))
    router.get("/*file", FileServer(site))
    return RequestMetrics(router^, metrics)
