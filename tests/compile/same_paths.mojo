# Two routes for the same method that match the same paths.
#
# The build fails with:
#   route: '/users/:name' matches the same paths as '/users/:id', which is registered for the same method

from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.routing.comptime_router import ComptimeRoute
from flare.http.routing.comptime_router import ComptimeRouter


def answer(req: Request) -> Response:
    return Response(204)


comptime ROUTES: List[ComptimeRoute] = [
    ComptimeRoute("GET", "/users/:id", answer),
    ComptimeRoute("POST", "/users/:name", answer),
    ComptimeRoute("GET", "/users/:name", answer),
]


def main():
    _ = ComptimeRouter[ROUTES]()
