# Two answers to paths without a route.
#
# The build fails with:
#   route: there are two fallbacks; keep one

from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.routing.comptime_router import ComptimeRoute
from flare.http.routing.comptime_router import ComptimeRouter


def answer(req: Request) -> Response:
    return Response(204)


comptime ROUTES: List[ComptimeRoute] = [
    ComptimeRoute.fallback(answer),
    ComptimeRoute("GET", "/", answer),
    ComptimeRoute.fallback(answer),
]


def main():
    _ = ComptimeRouter[ROUTES]()
