"""Content with rules of its own."""

from flare.http.client.message.request import RequestBody
from flare.http.extract.content import Checked, Form, Json
from flare.json.rules import FieldRules
from flare.http.extract.endpoint import Endpoint, Extracted
from flare.http.message.body import Body
from flare.http.message.response import Response, ok
from flare.http.handler.operation import InputError
from flare.http.routing.router import Router
from flare.testing.test_client import TestClient
from tests.support.assertions import assert_equal


@fieldwise_init
struct _Range(Checked):
    var least: Int
    var most: Int

    def check(self) raises InputError:
        if self.least > self.most:
            raise InputError.of_content("most", "must not be below 'least'")


@fieldwise_init
struct _JsonSpan(Endpoint):
    var range: Json[_Range]

    def serve(self) raises -> Response:
        return ok(String(self.range.value.most - self.range.value.least))


@fieldwise_init
struct _FormSpan(Endpoint):
    var range: Form[_Range]

    def serve(self) raises -> Response:
        return ok(String(self.range.value.most - self.range.value.least))


@fieldwise_init
struct _Row(Copyable, Movable):
    var json: String
    var form: String
    var status: Int
    var name: String
    var detail: String


@fieldwise_init
struct _Inner(Copyable, Movable):
    var list: List[Int]


@fieldwise_init
struct _Strict(Checked):
    var inner: _Inner

    def check(self) raises InputError:
        var error = InputError.of_content("inner.list[0]", "must be even")
        error.add(InputError.of_content("inner", "is bad"))
        raise error^


@fieldwise_init
struct _StrictJson(Endpoint):
    var content: Json[_Strict]

    def serve(self) raises -> Response:
        return ok()


def test_a_check_may_tell_of_several() raises:
    var router = Router()
    router.post("/", Extracted[_StrictJson]())
    var client = TestClient(router^)
    var answer = client.post("/", '{"inner":{"list":[1]}}')
    assert_equal(answer.status.code, 422)
    var problem = answer.json()
    var told = String()
    for error in problem["errors"].elements():
        told.write(error["pointer"].string_value(), " ")
        told.write(error["detail"].string_value(), "; ")
    assert_equal(told, "#/inner/list/0 must be even; #/inner is bad; ")


@fieldwise_init
struct _Bag(Copyable, Movable):
    var counts: Dict[String, Int]


@fieldwise_init
struct _BagJson(Endpoint):
    var content: Json[_Bag]

    def serve(self) raises -> Response:
        return ok()


def test_pointers_are_fragments() raises:
    """RFC 6901 section 6: names are the client's, and a fragment has neither
    spaces nor brackets (RFC 3986 section 3.5)."""
    var router = Router()
    router.post("/", Extracted[_BagJson]())
    var client = TestClient(router^)
    for name, pointer in [
        ("a", "#/counts/a"),
        ("a b", "#/counts/a%20b"),
        ("50%", "#/counts/50%25"),
        ("a/b~c", "#/counts/a~1b~0c"),
        ("[#]", "#/counts/%5B%23%5D"),
        ("größe", "#/counts/gr%C3%B6%C3%9Fe"),
        ("a:@!$&'()*+,;=?", "#/counts/a:@!$&'()*+,;=?"),
    ]:
        var answer = client.post("/", String('{"counts":{"', name, '":"x"}}'))
        assert_equal(answer.status.code, 422)
        assert_equal(
            answer.json()["errors"][0]["pointer"].string_value(), pointer
        )


def test_content_is_checked() raises:
    var router = Router()
    router.post("/json", Extracted[_JsonSpan]())
    router.post("/form", Extracted[_FormSpan]())
    var client = TestClient(router^)
    var rows: List[_Row] = [
        _Row('{"least":1,"most":3}', "least=1&most=3", 200, "", ""),
        _Row(
            '{"least":3,"most":1}',
            "least=3&most=1",
            422,
            "most",
            "must not be below 'least'",
        ),
        # What cannot be read is not checked.
        _Row('{"least":[],"most":1}', "least=&most=1", 422, "least", ""),
    ]
    for row in rows:
        var form = RequestBody(
            Body(row.form), "application/x-www-form-urlencoded"
        )
        for response in [
            client.post("/json", row.json),
            client.post("/form", form^),
        ]:
            assert_equal(response.status.code, row.status, row.json)
            if row.status == 200:
                assert_equal(response.text(), "2")
                continue
            var problem = response.json()
            assert_equal(problem["in"].string_value(), "body")
            assert_equal(problem["name"].string_value(), row.name)
            if row.detail != "":
                assert_equal(problem["detail"].string_value(), row.detail)


@fieldwise_init
struct _NewItem(Checked):
    var name: String
    var price: Int

    @staticmethod
    def rules(mut rules: FieldRules):
        rules.length("name", 1, 3)
        rules.at_least("price", 0)

    def check(self) raises InputError:
        # Asked only when the rules are kept.
        if self.name == "bad":
            raise InputError.of_content("name", "is bad")


@fieldwise_init
struct _AddJson(Endpoint):
    var item: Json[_NewItem]

    def serve(self) raises -> Response:
        return ok(self.item.value.name)


@fieldwise_init
struct _AddForm(Endpoint):
    var item: Form[_NewItem]

    def serve(self) raises -> Response:
        return ok(self.item.value.name)


def test_content_is_held_to_its_rules() raises:
    var router = Router()
    router.post("/json", Extracted[_AddJson]())
    router.post("/form", Extracted[_AddForm]())
    var client = TestClient(router^)
    assert_equal(client.post("/json", '{"name":"tea","price":0}').text(), "tea")
    var answer = client.post("/json", '{"name":"","price":-1}')
    assert_equal(answer.status.code, 422)
    var problem = answer.json()
    assert_equal(len(problem["errors"]), 2)
    var first = problem["errors"][0]
    assert_equal(first["pointer"].string_value(), "#/name")
    assert_equal(first["detail"].string_value(), "must have 1 to 3 characters")
    var second = problem["errors"][1]
    assert_equal(second["pointer"].string_value(), "#/price")
    assert_equal(second["detail"].string_value(), "must be at least 0")
    var checked = client.post("/json", '{"name":"bad","price":1}').json()
    assert_equal(checked["detail"].string_value(), "is bad")
    var form = client.post("/form", form={"name": "long", "price": "-1"})
    assert_equal(form.status.code, 422)
    assert_equal(len(form.json()["errors"]), 2)
