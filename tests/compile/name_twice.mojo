# A pattern in which a parameter's name says two things.
#
# The build fails with:
#   route: '/users/:id/posts/:id': a name stands once in a pattern

from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.routing.comptime_router import ComptimeRoute
from flare.http.routing.comptime_router import ComptimeRouter


def answer(req: Request) -> Response:
    return Response(204)


comptime ROUTES: List[ComptimeRoute] = [
    ComptimeRoute("GET", "/", answer),
    ComptimeRoute("GET", "/users/:id/posts/:id", answer),
]


def main():
    _ = ComptimeRouter[ROUTES]()
