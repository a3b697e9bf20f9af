# A function that does not give a response, as a handler.
#
# The build fails with:
#   this function has not the form of a handler; write `def name(req: Request) raises -> Response`, with or without `raises`, or `def name(req: Request, state: State[T]) raises -> Response`

from flare.http.message.request import Request
from flare.http.routing.router import Router


def hello(req: Request) -> String:
    return "hello"


def main() raises:
    var router = Router()
    router.get("/", hello)
