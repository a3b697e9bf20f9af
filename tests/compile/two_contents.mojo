# An endpoint that reads the content twice.
#
# The build fails with:
#   Endpoint AddItem: the fields 'item' and 'note' both read the content, and one may; put all that the content has into one struct

from flare.http.extract.content import Form, Json
from flare.http.extract.endpoint import Endpoint, Extracted
from flare.http.message.response import Response
from flare.http.routing.router import Router


@fieldwise_init
struct Item:
    var name: String


@fieldwise_init
struct AddItem(Endpoint):
    var item: Json[Item]
    var note: Form[Item]

    def serve(self) raises -> Response:
        return Response(201)


def main() raises:
    var router = Router()
    router.post("/items", Extracted[AddItem]())
