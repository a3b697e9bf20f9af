# A pattern that goes on behind what takes all that is left.
#
# The build fails with:
#   route: '/files/*path/size': nothing may follow '*name'

from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.routing.comptime_router import ComptimeRoute
from flare.http.routing.comptime_router import ComptimeRouter


def answer(req: Request) -> Response:
    return Response(204)


comptime ROUTES: List[ComptimeRoute] = [
    ComptimeRoute("GET", "/", answer),
    ComptimeRoute("GET", "/files/*path/size", answer),
]


def main():
    _ = ComptimeRouter[ROUTES]()
