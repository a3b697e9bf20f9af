# A continuation that keeps a part of the request it outlives.
#
# The build fails with:
#   a continuation outlives the request, so it must own what it holds: copy what it needs into fields of its own, in place of a Span, a StringSpan, a Request or anything else with an origin

from flare.http.client.message.request import ClientRequest
from flare.http.client.message.response import SendResult
from flare.http.client.shared_client import SharedClient
from flare.http.fetch.fetch_later import Continuation, NextStep, fetch_later
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.handler.later import Deferred
from flare.http.routing.router import Router


@fieldwise_init
struct Borrowing[o: ImmOrigin](Continuation):
    var path: StringSpan[Self.o]

    def go_on(mut self, var results: List[SendResult]) raises -> NextStep:
        return Response(200)


def answer(req: Request) raises -> Response:
    return fetch_later(
        req,
        SharedClient(),
        [ClientRequest("GET", "http://localhost/")],
        Borrowing(req.path),
    )


def main() raises:
    var router = Router()
    router.get("/", Deferred(answer))
