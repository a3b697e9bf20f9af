# An endpoint with a field of a plain struct, of which nothing says where it
# comes from.
#
# The build fails with:
#   Endpoint ShowUser: field 'user' is of type User, which is no input; write `var user: Json[User], Form[User] or State[User]`, and read it as `self.user.value`; or make it `struct User(Input)`, whose `extract` fills it

from flare.http.extract.endpoint import Endpoint, Extracted
from flare.http.message.response import Response
from flare.http.routing.router import Router


@fieldwise_init
struct User(Copyable, Movable):
    var name: String


@fieldwise_init
struct ShowUser(Endpoint):
    var user: User

    def serve(self) raises -> Response:
        return Response(204)


def main() raises:
    var router = Router()
    router.get("/user", Extracted[ShowUser]())
