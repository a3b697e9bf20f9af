# JSON content with a field that has no form in JSON.
#
# The build fails with:
#   struct Item: field 'tags' is of type Set[String], which has no form in JSON; make it a Bool, Int, Float64, String, List, Dict[String, V], Optional or a struct of such, or let its type conform to JsonReadable

from flare.http.extract.content import Json
from flare.http.extract.endpoint import Endpoint, Extracted
from flare.http.message.response import Response
from flare.http.routing.router import Router
from std.collections import Set


@fieldwise_init
struct Item:
    var name: String
    var tags: Set[String]


@fieldwise_init
struct AddItem(Endpoint):
    var item: Json[Item]

    def serve(self) raises -> Response:
        return Response(201)


def main() raises:
    var router = Router()
    router.post("/items", Extracted[AddItem]())
