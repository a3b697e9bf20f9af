# A method that is a slip of the pen.
#
# The build fails with:
#   route: '/users': unregistered method; write a registered one in its own letters, such as GET, or register `all` and ask req.method_name

from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.routing.comptime_router import ComptimeRoute
from flare.http.routing.comptime_router import ComptimeRouter


def answer(req: Request) -> Response:
    return Response(204)


comptime ROUTES: List[ComptimeRoute] = [
    ComptimeRoute("GET", "/", answer),
    ComptimeRoute("GTE", "/users", answer),
]


def main():
    _ = ComptimeRouter[ROUTES]()
