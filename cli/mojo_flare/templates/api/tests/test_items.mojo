"""The items: added, listed, changed, removed, and refused."""

from flare.testing import TestClient
from std.testing import assert_equal, assert_true
from .client import new_client, signed_in_client


def add(mut client: TestClient, name: String, tag: String) raises -> Int:
    var text = String(
        '{"name": "', name, '", "price_cents": 250, "tags": ["', tag, '"]}'
    )
    var answer = client.post("/api/items", text)
    assert_equal(answer.status, 201)
    return answer.json()["id"].int_value()


def test_an_item_is_added_and_shown() raises:
    var client = signed_in_client()
    var answer = client.post(
        "/api/items", '{"name": " tea ", "price_cents": 250}'
    )
    assert_equal(answer.status, 201)
    assert_equal(answer.headers.get("Location").value(), "/api/items/1")
    var shown = client.get("/api/items/1")
    assert_equal(
        shown.text(), '{"id":1,"name":"tea","price_cents":250,"tags":[]}'
    )


def test_items_are_listed_by_tag_and_page() raises:
    var client = signed_in_client()
    _ = add(client, "tea", "hot")
    _ = add(client, "coffee", "hot")
    _ = add(client, "water", "cold")
    var hot = client.get("/api/items?tag=hot").json()
    assert_equal(hot["total"].int_value(), 2)
    var second = client.get("/api/items?offset=1&limit=1").json()
    assert_equal(second["total"].int_value(), 3)
    assert_equal(len(second["items"]), 1)
    assert_equal(second["items"][0]["name"].string_value(), "coffee")


def test_an_item_is_replaced_and_removed() raises:
    var client = signed_in_client()
    var path = String("/api/items/", add(client, "tea", "hot"))
    var changed = client.put(path, '{"name": "green tea", "price_cents": 300}')
    assert_equal(changed.json()["name"].string_value(), "green tea")
    assert_equal(client.delete(path).status, 204)
    assert_equal(client.get(path).status, 404)
    assert_equal(client.delete(path).status, 404)


def test_all_that_is_wrong_is_told_at_once() raises:
    var client = signed_in_client()
    var answer = client.post("/api/items", '{"name": "", "price_cents": -1}')
    assert_equal(answer.status, 422)
    var problem = answer.json()
    var errors = problem["errors"]
    assert_equal(len(errors), 2)
    assert_equal(errors[0]["pointer"].string_value(), "#/name")
    assert_equal(errors[1]["pointer"].string_value(), "#/price_cents")
    var blank = client.post("/api/items", '{"name": " ", "price_cents": 1}')
    assert_equal(blank.status, 422)


def test_pages_have_bounds() raises:
    var client = new_client()
    assert_equal(client.get("/api/items?limit=0").status, 400)
    assert_equal(client.get("/api/items?limit=501").status, 400)
    assert_equal(client.get("/api/items?offset=-1").status, 400)
    assert_equal(client.get("/api/items?offset=many").status, 400)


def test_the_api_describes_itself() raises:
    var client = new_client()
    var paths = client.get("/openapi.json").json()["paths"]
    assert_equal(
        paths["/api/items"]["post"]["operationId"].string_value(), "addItem"
    )
    assert_true(client.get("/docs").text().startswith("<!doctype html>"))


def test_the_description_tells_of_rules_and_credentials() raises:
    var client = new_client()
    var api = client.get("/openapi.json").json()
    var item = api["components"]["schemas"]["NewItem"]["properties"]
    assert_equal(item["price_cents"]["minimum"].int_value(), 0)
    assert_equal(item["name"]["maxLength"].int_value(), 100)
    var add = api["paths"]["/api/items"]["post"]
    assert_true(add["security"][0].contains("session"))
    var session = api["components"]["securitySchemes"]["session"]
    assert_equal(session["in"].string_value(), "cookie")
