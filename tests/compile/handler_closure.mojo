# A function that captures a variable, as a handler.
#
# The build fails with:
#   a function that captures variables is no handler; make a struct that conforms to Handler, with the variables as its fields and `def serve(self, req: Request) raises -> Response`, or take them as State[T]

from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.routing.router import Router


def main() raises:
    var greeting = String("hello")

    def hello(req: Request) raises {var greeting} -> Response:
        return ok(greeting)

    var router = Router()
    router.get("/", hello)
