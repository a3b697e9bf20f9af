# An endpoint with a field that is no input.
#
# The build fails with:
#   Endpoint ShowUser: field 'id' is of type Int, which is no input; write `var id: PathInt["id"], QueryInt["id"] or OptQueryInt["id"]`, and read it as `self.id.value`

from flare.http.extract.endpoint import Endpoint, Extracted
from flare.http.message.response import Response
from flare.http.routing.router import Router


@fieldwise_init
struct ShowUser(Endpoint):
    var id: Int

    def serve(self) raises -> Response:
        return Response(204)


def main() raises:
    var router = Router()
    router.get("/users/:id", Extracted[ShowUser]())
