# Two answers to paths without a route below the same prefix.
#
# The build fails with:
#   route: there are two fallbacks below '/:b' and '/:a', which match the same paths; keep one

from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.routing.comptime_router import ComptimeRoute, mounted
from flare.http.routing.comptime_router import ComptimeRouter


def answer(req: Request) -> Response:
    return Response(204)


comptime PART: List[ComptimeRoute] = [ComptimeRoute.fallback(answer)]
comptime ROUTES: List[ComptimeRoute] = mounted("/:a", PART) + mounted(
    "/:b", PART
)


def main():
    _ = ComptimeRouter[ROUTES]()
