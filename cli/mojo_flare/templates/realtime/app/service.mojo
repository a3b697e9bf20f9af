"""The whole service as one handler: a page, a room, and a feed."""

from app.room import Room
from flare.http import Compress, EventHub, FileServer, Handler, Request
from flare.http import Response, Router, SecurityHeaders
from flare.http.middleware import Health
from flare.http.routing import AnyHandler
from flare.ws import WsConfig

comptime MESSAGE_LEN_MAX = 4_096
"""Longest message of a visitor, in bytes."""


def routes() raises -> Router:
    """Gives the routes without a service; `flare routes` lists them."""
    return all_routes("site", Room())


def all_routes(site: StringSpan, var room: Room) raises -> Router:
    """Puts the routes together."""
    var events = Events(room.events.copy())
    var limits = WsConfig()
    limits.max_message_size = MESSAGE_LEN_MAX
    limits.max_frame_size = MESSAGE_LEN_MAX
    var router = Router()
    router.ws("/room", room^, limits^)
    router.get("/events", events^)
    router.get("/live", Health())
    router.get("/*file", FileServer(site))
    return router^


def service(site: StringSpan, var room: Room) raises -> AnyHandler:
    """Puts middleware around the routes, for the server and for tests alike.

    Args:
        site: The folder of the page.
        room: The room, of this server alone.
    """
    return SecurityHeaders(Compress(all_routes(site, room^)))


@fieldwise_init
struct Events(Handler):
    """Tells of all that happens in the room, for as long as the client listens.

    For dashboards and programs: curl -N http://127.0.0.1:8080/events
    """

    var hub: EventHub

    def serve(self, req: Request) raises -> Response:
        return self.hub.subscribe(req)
