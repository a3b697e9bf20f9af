# An endpoint that takes a path parameter which its route does not have.
#
# The build fails with:
#   route: GET '/users/:id': ShowUser takes the path parameter 'idd', and the pattern has 'id'; give both the same name

from flare.http.extract.endpoint import Endpoint, Extracted
from flare.http.extract.parameter import PathInt, QueryStr
from flare.http.message.response import Response
from flare.http.routing.comptime_router import ComptimeRoute
from flare.http.routing.comptime_router import ComptimeRouter


@fieldwise_init
struct ShowUser(Endpoint):
    var full: QueryStr["full"]
    var id: PathInt["idd"]

    def serve(self) raises -> Response:
        return Response(204)


comptime ROUTES: List[ComptimeRoute] = [
    ComptimeRoute.of[Extracted[ShowUser]()]("GET", "/users/:id"),
]


def main():
    _ = ComptimeRouter[ROUTES]()
