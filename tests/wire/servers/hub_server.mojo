"""A chat room and a stream of events under `serve_prefork`, over any backplane.

Options: workers, host, plane (local, shared, redis), redis (its URL), history,
queue_size, ring_size, room_history (messages that rooms keep), sentinels
(separated by commas; their master is mymaster).
"""

from flare.backplane import (
    Presence,
    PresenceChange,
    PresenceEvent,
    PresenceWatcher,
    RedisBackplane,
    SharedMemoryBackplane,
)
from flare.http import (
    EventHub,
    HttpServer,
    Request,
    Response,
    Router,
    ServerSentEvent,
    ok,
)
from flare.http.middleware import BackplaneMetrics, MetricsEndpoint
from flare.http.routing import Handler
from flare.net import SocketAddr
from flare.redis import RedisConfig
from flare.sys.mutex import Mutex
from flare.sys.signal import process_id
from flare.ws import WsHandler, WsHub, WsIncoming, WsSender
from std.sys import argv


@fieldwise_init
struct Room(WsHandler):
    """Sends on what it hears; `pid` asks which process that is, `to NAME TEXT`
    says something to a user, `close NAME` closes his connections, `keep ID`
    sends an id as a text that has it."""

    var hub: WsHub
    var presence: Presence

    def on_open(self, req: Request, sender: WsSender) raises:
        if req.query_param("last") != "":
            _ = self.hub.resume(
                sender, "room", req.query_param("last"), gap_text="gap"
            )
        else:
            self.hub.join(sender, "room")
        var name = req.query_param("name")
        if name != "":
            self.hub.set_user(sender, name)
            self.presence.enter(
                "room", name, sender.id(), req.query_param("data")
            )

    def on_message(self, message: WsIncoming, sender: WsSender) raises:
        if not message.is_text:
            _ = self.hub.send_binary(message.as_bytes(), "room")
        elif message.as_text() == "pid":
            sender.send_text(String("pid ", process_id()))
        elif message.as_text().startswith("to "):
            var words = message.as_text().split(" ", 2)
            _ = self.hub.send_to_user(words[1], words[2])
        elif message.as_text().startswith("close "):
            var words = message.as_text().split(" ", 1)
            _ = self.hub.close_user(words[1], 4_001, "out")
        elif message.as_text().startswith("keep "):
            var words = message.as_text().split(" ", 1)
            _ = self.hub.send_text(words[1], "room", id=words[1])
        else:
            _ = self.hub.send_text(message.as_text(), "room")

    def on_close(self, code: Int, reason: StringSpan, sender: WsSender):
        self.hub.leave(sender, "room")
        self.hub.unset_user(sender)
        self.presence.leave("room", sender.id())


@fieldwise_init
struct Diary(PresenceWatcher):
    """Writes down who comes and goes."""

    var lines: Mutex[String]

    def on_change(self, change: PresenceChange):
        var mark = "="
        if change.event == PresenceEvent.ENTERED:
            mark = "+"
        elif change.event == PresenceEvent.LEFT:
            mark = "-"
        self.lines.lock()[] += String(
            " ", mark, change.member.name, ":", change.member.data
        )


@fieldwise_init
struct Events(Copyable, Handler):
    """Subscribes, publishes, and tells figures."""

    var events: EventHub
    var hub: WsHub
    var presence: Presence
    var diary: Mutex[String]

    def serve(self, req: Request) raises -> Response:
        if req.path == "/events":
            var response = self.events.subscribe(
                req, user=req.query_param("user")
            )
            response.headers.set("Process", String(process_id()))
            return response^
        if req.path == "/publish":
            var event = ServerSentEvent(
                String(req.query_param("text")),
                id=String(req.query_param("id")),
            )
            var user = req.query_param("user")
            if user == "":
                self.events.publish(event)
            else:
                _ = self.events.publish_to_user(user, event)
            return ok(String(process_id()))
        if req.path == "/end":
            _ = self.events.close_user(req.query_param("user"))
            return ok(String(process_id()))
        if req.path == "/say":
            return ok(
                String(self.hub.send_text(req.query_param("text"), "room"))
            )
        if req.path == "/names":
            var text = String(process_id(), ":")
            for name in self.presence.names("room"):
                text += " " + name
            return ok(text)
        if req.path == "/members":
            var members = List[String]()
            for ref member in self.presence.members("room"):
                members.append(member.name + "=" + member.data)
            sort(Span(members))
            var text = String(
                process_id(), ": ", self.presence.count("room"), " "
            )
            return ok(text + String(" ").join(members))
        if req.path == "/changes":
            self.presence.open()
            return ok(String(process_id(), ":", self.diary.lock()[]))
        var of_room = self.hub.backplane_counts()
        var of_events = self.events.backplane_counts()
        var text = String(
            '{"pid": ',
            process_id(),
            ', "sent": ',
            of_room.sent,
            ', "received": ',
            of_room.received,
            ', "dropped": ',
            of_room.dropped,
            ', "refused": ',
            of_room.refused,
            ', "lost": ',
            of_room.lost,
        )
        return ok(
            String(
                text,
                ', "waiting": ',
                of_room.waiting,
                ', "gaps": ',
                of_room.gaps,
                ', "repeated": ',
                of_room.repeated,
                ', "malformed": ',
                of_room.malformed,
                ', "events_dropped": ',
                of_events.dropped,
                ', "events_lost": ',
                of_events.lost,
                ', "events_waiting": ',
                of_events.waiting,
                "}",
            )
        )


def _redis(url: String, sentinels: List[String]) raises -> RedisConfig:
    var config = RedisConfig()
    if url != "":
        config = RedisConfig.from_url(url)
    config.sentinels = sentinels.copy()
    config.master_name = String("mymaster")
    return config^


def main() raises:
    var workers = 3
    var plane = String("shared")
    var url = String()
    var history = 0
    var room_history = 0
    var ring_size = 4 << 20
    var queue_size = 4 << 20
    var host = String("127.0.0.1")
    var sentinels = List[String]()
    for index in range(2, len(argv())):
        var parts = String(argv()[index]).split("=", 1)
        var value = String(parts[1])
        if parts[0] == "workers":
            workers = Int(value)
        elif parts[0] == "plane":
            plane = value
        elif parts[0] == "redis":
            url = value
        elif parts[0] == "history":
            history = Int(value)
        elif parts[0] == "room_history":
            room_history = Int(value)
        elif parts[0] == "ring_size":
            ring_size = Int(value)
        elif parts[0] == "queue_size":
            queue_size = Int(value)
        elif parts[0] == "host":
            host = value
        elif parts[0] == "sentinels":
            for address in value.split(","):
                sentinels.append(String(address))
        else:
            raise Error("there is no option '", parts[0], "'")
    var hub = WsHub(history=room_history)
    var events = EventHub(history=100)
    var presence = Presence()
    if plane == "shared":
        hub = WsHub(SharedMemoryBackplane(ring_size), history=room_history)
        events = EventHub(SharedMemoryBackplane(ring_size), history=100)
        presence = Presence(SharedMemoryBackplane(ring_size))
    elif plane == "redis":
        var config = _redis(url, sentinels)
        hub = WsHub(
            RedisBackplane(
                config.copy(), "room", history=history, queue_size=queue_size
            ),
            history=room_history,
        )
        events = EventHub(
            RedisBackplane(
                config.copy(), "news", history=1_000, queue_size=queue_size
            ),
            history=100,
        )
        presence = Presence(RedisBackplane(config^, "presence"))
    var diary = Mutex(String())
    presence.watch(Diary(diary))
    var router = Router()
    router.ws("/ws", Room(hub.copy(), presence.copy()))
    var hubs = BackplaneMetrics()
    hubs.add("room", hub)
    hubs.add("news", events)
    hubs.add("who", presence)
    router.get("/metrics", MetricsEndpoint(hubs^))
    router.get("/*rest", Events(events.copy(), hub.copy(), presence^, diary))
    var server = HttpServer.bind(SocketAddr.parse(String(host, ":", argv()[1])))
    print("listening on", server.local_addr(), flush=True)
    server.serve_prefork(router^, workers=workers)
