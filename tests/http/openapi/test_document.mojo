"""OpenAPI documents and the page about them."""

from flare.http.extract.content import Checked, Json
from flare.http.extract.endpoint import Endpoint, Extracted
from flare.http.extract.parameter import OptQueryInt, PathInt, QueryParam
from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.middleware.authentication import KnownUsers, RequireBasicAuth
from flare.http.openapi.document import (
    ApiInfo,
    component_names,
    openapi_document,
    template,
)
from flare.http.openapi.page import add_api_docs, openapi_page
from flare.http.openapi.page_schema import write_schema
from flare.http.handler.handler import FnHandler
from flare.http.handler.operation import (
    Input,
    InputError,
    Operation,
    SecurityScheme,
)
from flare.http.routing.router import Router
from flare.json.rules import FieldRules
from flare.json.schema import NamedSchema
from flare.json.value import parse
from flare.testing.test_client import TestClient
from tests.support.assertions import assert_equal, assert_false, assert_true


@fieldwise_init
struct _Item(Copyable, Movable):
    var name: String


@fieldwise_init
struct _Show(Endpoint):
    var id: PathInt["id"]
    var page: OptQueryInt["page"]
    var tags: QueryParam[List[String], "tag"]

    def serve(self) raises -> Response:
        return ok()

    @staticmethod
    def describe(mut operation: Operation):
        operation.id = "show"
        operation.summary = "Shows <one>"
        operation.gives[_Item]()
        operation.gives[List[Int]](206)
        operation.answers(404)
        # Said by the handler, so not what inputs would say.
        operation.answers(400)


@fieldwise_init
struct _Add(Endpoint):
    var item: Json[_Item]

    def serve(self) raises -> Response:
        return ok()


def _hello(req: Request) raises -> Response:
    return ok("hello")


def _router() raises -> Router:
    var inner = Router()
    inner.get("/:id", Extracted[_Show]())
    inner.post("/", Extracted[_Add]())
    inner.put("/", Extracted[_Add]())
    var router = Router()
    router.get("/", _hello)
    router.mount("/items", inner^)
    router.all("/any/*rest", _hello)
    router.get(
        "/private", RequireBasicAuth(FnHandler(_hello), KnownUsers("a", "b"))
    )
    return router^


@fieldwise_init
struct _Drop(Endpoint):
    var item: PathInt["item"]
    var shop: PathInt["id"]

    def serve(self) raises -> Response:
        return ok()


def test_routes_of_one_shape_share_a_template() raises:
    # OpenAPI 3.1 section 4.8.8: templates that differ in nothing but names are
    # one and the same, so the names of the first route hold for all methods.
    var router = Router()
    router.get("/shops/:id/:thing", _hello)
    router.delete("/shops/:item/:id", Extracted[_Drop]())
    router.put("/shops/:a/*b", _hello)
    router.get("/shops/:a/*b", _hello)
    router.get("/shops/all", _hello)
    var paths = parse(openapi_document(router.operations(), ApiInfo("T", "1")))[
        "paths"
    ]
    var names = String()
    for path in paths.members():
        names.write(path.name, " ")
    assert_equal(names, "/shops/{id}/{thing} /shops/all ")
    var found = String()
    for parameter in paths["/shops/{id}/{thing}"]["delete"][
        "parameters"
    ].elements():
        found.write(
            parameter["name"].string_value(),
            " ",
            parameter["schema"]["type"].string_value(),
            " ",
        )
    assert_equal(found, "id integer thing integer ")
    var page = openapi_page(router.operations(), ApiInfo("T", "1"), "/o")
    assert_true("{item}" not in page)
    assert_true('data-pattern="/shops/:id/:thing"' in page)
    assert_true('data-pattern="/shops/:id/*thing"' in page)


def test_templates() raises:
    assert_equal(template("/"), "/")
    assert_equal(template("/a/:b/*c"), "/a/{b}/{c}")
    assert_equal(template("/a/"), "/a/")


def test_document() raises:
    var router = _router()
    var text = openapi_document(router.operations(), ApiInfo("T", "2.0"))
    # Deterministic.
    assert_equal(
        text, openapi_document(_router().operations(), ApiInfo("T", "2.0"))
    )
    var api = parse(text)
    assert_equal(api["openapi"].string_value(), "3.1.0")
    assert_equal(api["info"]["version"].string_value(), "2.0")
    var names = String()
    for path in api["paths"].members():
        names.write(path.name, " ")
    assert_equal(names, "/ /items/{id} /items /any/{rest} /private ")
    var show = api["paths"]["/items/{id}"]["get"]
    assert_equal(show["operationId"].string_value(), "show")
    assert_equal(show["summary"].string_value(), "Shows <one>")
    var parameters = String()
    for parameter in show["parameters"].elements():
        parameters.write(parameter["name"].string_value(), " ")
        parameters.write(parameter["in"].string_value(), " ")
        parameters.write(parameter["required"].bool_value(), " ")
        parameters.write(parameter["schema"]["type"].string_value(), "; ")
    assert_equal(
        parameters,
        (
            "id path True integer; page query False integer;"
            " tag query False array; "
        ),
    )
    assert_true(show["responses"].contains("206"))
    for status in ["400", "404"]:
        assert_true(show["responses"].contains(status), status)
        assert_false(show["responses"][status].contains("content"), status)
    assert_equal(text.count('"400":'), 3)
    var given = show["responses"]["200"]["content"]["application/json"]
    assert_equal(
        given["schema"]["$ref"].string_value(), "#/components/schemas/_Item"
    )
    var item = api["components"]["schemas"]["_Item"]
    assert_equal(item["required"][0].string_value(), "name")


def test_content_and_ids() raises:
    var text = openapi_document(_router().operations(), ApiInfo("T", "1"))
    var items = parse(text)
    var post = items["paths"]["/items"]["post"]
    assert_equal(post["operationId"].string_value(), "_Add")
    var put = items["paths"]["/items"]["put"]
    assert_equal(put["operationId"].string_value(), "_Add_2")
    var taken = post["requestBody"]["content"]["application/json"]["schema"]
    assert_equal(taken["$ref"].string_value(), "#/components/schemas/_Item")
    assert_equal(text.count('"_Item":{'), 1)
    for status in ["200", "400", "413", "415", "422"]:
        assert_true(post["responses"].contains(status), status)
    # What an endpoint answers to bad inputs, as `InputError.response` does.
    for status in ["400", "415", "422"]:
        var problem = post["responses"][status]["content"]
        assert_equal(
            problem["application/problem+json"]["schema"][
                "$ref"
            ].string_value(),
            "#/components/schemas/Problem",
        )
    # The server says it, in place of the endpoint.
    assert_false(post["responses"]["413"].contains("content"))


def test_names_of_components() raises:
    var schemas: List[NamedSchema] = [
        NamedSchema("a.Item", "Item", "{}"),
        NamedSchema("b.Item", "Item", "{}"),
        NamedSchema("b.Page_b.Item", "Page", "{}"),
        NamedSchema("c.Other", "Other", "{}"),
    ]
    assert_equal(
        String(",").join(component_names(schemas)), "a.Item,b.Item,Page,Other"
    )


@fieldwise_init
struct Problem(Copyable, Movable):
    """Has the name of what bad inputs are answered with."""

    var branches: List[_Branch]


@fieldwise_init
struct _Branch(Copyable, Movable):
    var item: _Item
    var other: Optional[_Item]


@fieldwise_init
struct _Report(Endpoint):
    var problem: Json[Problem]

    def serve(self) raises -> Response:
        return ok()


def test_references_lead_to_components() raises:
    var router = _router()
    router.post("/report", Extracted[_Report]())
    var text = openapi_document(router.operations(), ApiInfo("T", "1"))
    var schemas = parse(text)
    var count = 0
    for part in text.split('"$ref":"#/components/schemas/'):
        var name = String(part.split('"')[0])
        count += 1
        if count > 1:
            assert_true(schemas["components"]["schemas"].contains(name), name)
    assert_true(count > 10)
    # The one of a program and the one of the library.
    assert_equal(text.count('Problem":{"type":"object"'), 2)
    assert_equal(text.count('"_Branch":{'), 1)


def test_plain_functions_and_guards() raises:
    var text = openapi_document(_router().operations(), ApiInfo("T", "1"))
    var api = parse(text)
    var every = api["paths"]["/any/{rest}"]
    for method in ["get", "post", "put", "patch", "delete"]:
        assert_equal(
            every[method]["parameters"][0]["name"].string_value(), "rest"
        )
    var guarded = api["paths"]["/private"]["get"]
    assert_true(guarded["security"][0].contains("basic"))
    assert_true(guarded["responses"].contains("401"))
    var schemes = api["components"]["securitySchemes"]
    assert_equal(schemes["basic"]["scheme"].string_value(), "basic")
    assert_true(not schemes.contains("bearer"))


@fieldwise_init
struct _Keyed(Input):
    """A guard of a program's own: a key in a field of its own."""

    @staticmethod
    def extract(req: Request) raises InputError -> Self:
        return Self()

    @staticmethod
    def describe(mut operation: Operation):
        operation.wants(SecurityScheme.header("X-Api-Key", "from <the> desk"))


@fieldwise_init
struct _Locked(Endpoint):
    var key: _Keyed
    var again: _Keyed
    var item: Json[_Ruled]

    def serve(self) raises -> Response:
        return ok()


@fieldwise_init
struct _Ruled(Checked):
    var title: String
    var item: _Item
    var hours: Optional[UInt8]

    @staticmethod
    def rules(mut rules: FieldRules):
        rules.length("title", 1, 20)
        rules.at_most("hours", 40)


@fieldwise_init
struct _Session(Endpoint):
    var id: PathInt["id"]

    def serve(self) raises -> Response:
        return ok()

    @staticmethod
    def describe(mut operation: Operation):
        operation.wants(SecurityScheme.cookie("sid"))
        operation.wants(SecurityScheme.query("token"))
        operation.wants(SecurityScheme.bearer("from POST /login"))


def test_guards_of_ones_own_are_declared() raises:
    # OpenAPI 3.1, Security Scheme Object and Security Requirement Object: what
    # is required has to be declared, under the same name.
    var router = Router()
    router.post("/locked", Extracted[_Locked]())
    router.get("/session/:id", Extracted[_Session]())
    var api = parse(openapi_document(router.operations(), ApiInfo("T", "1")))
    var schemes = api["components"]["securitySchemes"]
    assert_equal(len(schemes), 4)
    var key = schemes["X-Api-Key"]
    assert_equal(key["type"].string_value(), "apiKey")
    assert_equal(key["in"].string_value(), "header")
    assert_equal(key["name"].string_value(), "X-Api-Key")
    assert_equal(key["description"].string_value(), "from <the> desk")
    assert_equal(schemes["sid"]["in"].string_value(), "cookie")
    assert_equal(schemes["token"]["in"].string_value(), "query")
    assert_equal(schemes["bearer"]["type"].string_value(), "http")
    assert_equal(schemes["bearer"]["scheme"].string_value(), "bearer")
    # Two inputs that want the same want it once.
    var locked = api["paths"]["/locked"]["post"]
    assert_equal(len(locked["security"]), 1)
    assert_equal(len(locked["security"][0]), 1)
    assert_true(locked["security"][0].contains("X-Api-Key"))
    assert_true(locked["responses"].contains("401"))
    var session = api["paths"]["/session/{id}"]["get"]["security"][0]
    assert_equal(len(session), 3)
    # Rules of the content stand in its schema.
    var ruled = api["components"]["schemas"]["_Ruled"]["properties"]
    assert_equal(ruled["title"]["maxLength"].int_value(), 20)
    assert_equal(ruled["hours"]["maximum"].int_value(), 40)


def test_the_page_lays_schemas_out() raises:
    var router = Router()
    router.post("/locked", Extracted[_Locked]())
    router.get("/session/:id", Extracted[_Session]())
    router.get("/items/:id", Extracted[_Show]())
    var page = openapi_page(router.operations(), ApiInfo("T", "1"), "/o")
    # A reference leads to where its schema stands.
    assert_true('<a href="#schema-_Ruled">_Ruled</a>' in page)
    assert_true('id="schema-_Ruled"' in page)
    assert_true('<a href="#schema-_Item">_Item</a>' in page)
    assert_true('id="schema-_Item"' in page)
    assert_true("$ref" not in String(page.split("<script")[0]))
    assert_true("string, 1 to 20 characters" in page)
    assert_true("integer or null, at least 0, at most 40" in page)
    assert_true("list of integer" in page)
    # What bad inputs are answered with is named, and laid out.
    assert_true("<code>422</code><td>Unprocessable" in page)
    assert_true(
        'application/problem+json<td><a href="#schema-Problem">Problem</a>'
        in page
    )
    assert_true("What is wrong with a request (RFC 9457)" in page)
    # Credentials of guards, also of a program's own.
    assert_true('<a href="#credentials-X-Api-Key">X-Api-Key</a>' in page)
    assert_true('<tr id="credentials-X-Api-Key">' in page)
    assert_true("from &lt;the&gt; desk" in page)
    # Its own parts and those of the browser follow the reader's choice.
    assert_true("color-scheme:light dark" in page)


def test_schemas_that_describe_themselves() raises:
    comptime ROWS: List[_Shown] = [
        _Shown("{}", "anything"),
        _Shown("true", "<code>true</code>"),
        _Shown('{"enum":["a",1]}', "<code>&quot;a&quot;</code> or <code>1</"),
        _Shown('{"type":"string","format":"binary"}', "string (binary)"),
        _Shown('{"type":"string","pattern":"<a>"}', "<code>&lt;a&gt;</code>"),
        _Shown('{"oneOf":[]}', "<code>{&quot;oneOf&quot;:[]}</code>"),
        _Shown('{"type":["string","null"]}', "<code>[&quot;string&quot;"),
        _Shown('{"type":"number","minimum":0.5}', "number, at least 0.5"),
        _Shown('{"type":"array","items":{},"minItems":1}', "list of anything"),
        _Shown(
            '{"type":"object","additionalProperties":{"type":"boolean"}}',
            "object of any names, each boolean",
        ),
        _Shown('{"type":"object","properties":{}}', "object without members"),
        # No schema at all, and no JSON.
        _Shown('{"$ref":7}', "<code>{&quot;$ref&quot;:7}</code>"),
        _Shown("<b>", "<code>&lt;b&gt;</code>"),
    ]
    for row in materialize[ROWS]():
        var page = String()
        write_schema(row.schema, page)
        assert_true(row.html in page, page)


@fieldwise_init
struct _Shown(Copyable, Movable):
    var schema: StaticString
    var html: StaticString


def test_page_and_routes() raises:
    var router = _router()
    add_api_docs(router, ApiInfo("<script>", "1"))
    var client = TestClient(router^)
    var document = client.get("/openapi.json")
    assert_equal(document.headers["content-type"], "application/json")
    assert_true(not document.json()["paths"].contains("/docs"))
    var page = client.get("/docs")
    assert_true("html" in page.headers["content-type"])
    assert_true("default-src 'none'" in String(page.headers))
    var text = page.text()
    assert_true("<title><script" not in text, text)
    assert_true("&lt;script&gt;" in text)
    assert_true("Shows &lt;one&gt;" in text)
    assert_true("/items/{id}" in text)
    assert_true("http" not in text.replace("&#39;", ""), text)


def test_empty_api() raises:
    var router = Router()
    var text = openapi_document(router.operations(), ApiInfo("T", "1"))
    assert_equal(
        text,
        '{"openapi":"3.1.0","info":{"title":"T","version":"1"},"paths":{}}',
    )
    assert_true(
        "<h1>T" in openapi_page(router.operations(), ApiInfo("T", "1"), "/")
    )
