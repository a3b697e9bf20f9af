# 27 OpenAPI: a document and a page, made of the routes and their inputs.
#
# Expected output:
#   3.1.0 Pets 1.0
#   /pets/{id} get: Show one pet
#     id in path, integer
#     full in query, boolean
#   content: application/json
#   a page of HTML: True

from flare.http import Endpoint, Extracted, Json, Response, Router, created
from flare.http import ok_json
from flare.http.extract import Operation, PathInt, QueryParam
from flare.http.openapi import ApiInfo, add_api_docs
from flare.testing import TestClient


@fieldwise_init
struct Pet(Copyable, Movable):
    var name: String
    var legs: Optional[Int]


@fieldwise_init
struct ShowPet(Endpoint):
    var id: PathInt["id"]
    var full: QueryParam[Optional[Bool], "full"]

    def serve(self) raises -> Response:
        return ok_json(Pet("Tom", 4))

    @staticmethod
    def describe(mut operation: Operation):
        operation.id = "showPet"
        operation.summary = "Show one pet"
        operation.gives[Pet]()


@fieldwise_init
struct AddPet(Endpoint):
    var pet: Json[Pet]

    def serve(self) raises -> Response:
        return created()


def main() raises:
    var router = Router()
    router.get("/pets/:id", Extracted[ShowPet]())
    router.post("/pets", Extracted[AddPet]())
    add_api_docs(router, ApiInfo("Pets", "1.0"))
    var client = TestClient(router^)

    var api = client.get("/openapi.json").json()
    var info = api["info"]
    print(api["openapi"].string_value(), end=" ")
    print(info["title"].string_value(), info["version"].string_value())
    var show = api["paths"]["/pets/{id}"]["get"]
    print("/pets/{id} get:", show["summary"].string_value())
    for parameter in show["parameters"].elements():
        var kind = parameter["schema"]["type"].string_value()
        var name = parameter["name"].string_value()
        print(" ", name, "in", parameter["in"].string_value() + ",", kind)
    var body = api["paths"]["/pets"]["post"]["requestBody"]
    for content in body["content"].members():
        print("content:", content.name)
    print("a page of HTML:", client.get("/docs").text().startswith("<!doctype"))
