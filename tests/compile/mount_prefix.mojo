# Routes below a prefix that ends with a slash.
#
# The build fails with:
#   route: mount '/api/': write it as '/prefix'

from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.routing.comptime_router import ComptimeRoute, mounted
from flare.http.routing.comptime_router import ComptimeRouter


def answer(req: Request) -> Response:
    return Response(204)


comptime API: List[ComptimeRoute] = [ComptimeRoute("GET", "/", answer)]
comptime ROUTES: List[ComptimeRoute] = mounted("/api/", API)


def main():
    _ = ComptimeRouter[ROUTES]()
