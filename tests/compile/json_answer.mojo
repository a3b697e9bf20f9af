# An answer in JSON of a struct with a field that has no form in it.
#
# The build fails with:
#   struct Page: field 'tags' is of type Set[String], which has no form in JSON; make it a Bool, Int, Float64, String, List, Dict[String, V], Optional or a struct of such, or let its type conform to JsonWritable

from flare.http.message.request import Request
from flare.http.message.response import Response, ok_json
from flare.http.routing.router import Router
from std.collections import Set


@fieldwise_init
struct Page(Movable):
    var total: Int
    var tags: Set[String]


def page(req: Request) raises -> Response:
    return ok_json(Page(1, Set[String]()))


def main() raises:
    var router = Router()
    router.get("/items", page)
