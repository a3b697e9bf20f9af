# An errand that keeps a part of the request it outlives.
#
# The build fails with:
#   an errand outlives the request, so it must own what it holds: copy what it needs into fields of its own, in place of a Span, a StringSpan, a Request or anything else with an origin

from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.handler.later import Completion, Errand, later
from flare.http.routing.router import Router
from std.memory import ArcPointer


@fieldwise_init
struct Borrowing[o: ImmOrigin](Errand):
    var path: StringSpan[Self.o]

    @staticmethod
    def begin(errand: ArcPointer[Self], var completion: Completion):
        completion^.finish(Response(200))

    @staticmethod
    def on_content(errand: ArcPointer[Self]):
        return

    @staticmethod
    def cancel(errand: ArcPointer[Self]):
        return


def answer(req: Request) raises -> Response:
    return later(req, ArcPointer(Borrowing(req.path)))


def main() raises:
    var router = Router()
    router.get("/", answer)
