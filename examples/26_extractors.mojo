# 26 Extractors: what a handler takes from a request are fields of a struct.
#
# Expected output:
#   user 7, page 1
#   user 7, page 3
#   400 path id is no integer of 64 bits; write it as -12
#   {"name":"tea","price":2.5,"tags":["hot"],"id":1}
#   422 body price found a string, expected a float

from flare.http import (
    App,
    ClientResponse,
    Endpoint,
    Extracted,
    Json,
    Response,
    Router,
    State,
    ok,
    ok_json,
)
from flare.http.extract import OptQueryInt, PathInt
from flare.testing import TestClient


@fieldwise_init
struct Show(Endpoint):
    var id: PathInt["id"]
    var page: OptQueryInt["page"]

    def serve(self) raises -> Response:
        var page = self.page.value.or_else(1)
        return ok(String("user ", self.id.value, ", page ", page))


@fieldwise_init
struct Item(Copyable, Movable):
    var name: String
    var price: Float64
    var tags: List[String]
    var id: Optional[Int]


@fieldwise_init
struct Create(Endpoint):
    var item: Json[Item]
    var items: State[List[Item]]

    def serve(self) raises -> Response:
        var items = self.items.lock()
        var item = self.item.value.copy()
        item.id = len(items[]) + 1
        items[].append(item.copy())
        return ok_json(item)


def show_problem(response: ClientResponse) raises:
    var problem = response.json()
    var place = problem["in"].string_value()
    var name = problem["name"].string_value()
    print(response.status, place, name, problem["detail"].string_value())


def main() raises:
    var router = Router()
    router.get("/users/:id", Extracted[Show]())
    router.post("/items", Extracted[Create]())
    var client = TestClient(App(state=List[Item](), handler=router^))

    print(client.get("/users/7").text())
    print(client.get("/users/7?page=3").text())
    show_problem(client.get("/users/seven"))
    var tea = '{"name": "tea", "price": 2.5, "tags": ["hot"]}'
    print(client.post("/items", tea).text())
    var bad = '{"name": "tea", "price": "2.5", "tags": []}'
    show_problem(client.post("/items", bad))
