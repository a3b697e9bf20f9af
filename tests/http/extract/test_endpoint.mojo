"""Endpoints: inputs of each kind, and what is said of bad ones."""

from flare.http.client.message.request import ClientRequest, RequestBody
from flare.http.client.message.response import ClientResponse
from flare.http.extract.content import Form, Json
from flare.http.extract.endpoint import Endpoint, Extracted
from flare.http.extract.parameter import (
    CookieStr,
    HeaderParam,
    HeaderStr,
    OptCookieStr,
    OptHeaderStr,
    OptQueryInt,
    OptQueryStr,
    PathInt,
    PathStr,
    Peer,
    QueryBool,
    QueryParam,
    QueryStr,
)
from flare.bytes.from_text import FromText, TextError
from flare.json.text_value import parse_int
from flare.http.message.body import Body
from flare.http.message.owned_request import OwnedRequest
from flare.http.message.request import Request
from flare.http.message.response import Response, ok, ok_json
from flare.http.middleware.timing import Timeout
from flare.http.routing.app import App
from flare.http.handler.state import State
from flare.http.handler.operation import Input, InputError, Operation
from flare.http.routing.host_router import HostRouter
from flare.http.routing.router import Router
from flare.net.socket_addr import SocketAddr
from flare.testing.test_client import TestClient
from tests.support.assertions import assert_equal, assert_raises, assert_true


@fieldwise_init
struct _Hits(Copyable, Movable):
    var count: Int


@fieldwise_init
struct _Hex(Copyable, FromText):
    """A type of one's own as a parameter."""

    var number: Int

    @staticmethod
    def from_text(text: StringSpan) raises TextError -> Self:
        try:
            return Self(atol(text, 16))
        except:
            raise TextError("is not hex")


@fieldwise_init
struct _Show(Endpoint):
    var id: PathInt["id"]
    var kind: PathStr["kind"]
    var q: QueryStr["q"]
    var full: QueryBool["full"]
    var page: OptQueryInt["page"]
    var note: OptQueryStr["note"]
    var tags: QueryParam[List[String], "tag"]
    var color: QueryParam[Optional[_Hex], "color"]
    var weight: QueryParam[Optional[Float64], "weight"]
    var peer: Peer
    var hits: State[_Hits]

    def serve(self) raises -> Response:
        self.hits.lock()[].count += 1
        var text = String(self.id.value, " ", self.kind.value, " ")
        text.write(self.q.value, " ", self.full.value, " ")
        text.write(self.page.value.or_else(-1), " ")
        text.write(self.note.value.or_else("-"), " ", len(self.tags.value))
        if self.color.value:
            text.write(" color ", self.color.value.value().number)
        if self.weight.value:
            text.write(" weight ", self.weight.value.value())
        return ok(String(text, " ", self.peer.address))


@fieldwise_init
struct _Fields(Endpoint):
    var agent: HeaderStr["user-agent"]
    var trace: OptHeaderStr["X-Trace"]
    var session: CookieStr["session"]
    var theme: OptCookieStr["theme"]

    def serve(self) raises -> Response:
        return ok(
            String(
                self.agent.value,
                " ",
                self.trace.value.or_else("-"),
                " ",
                self.session.value,
                " ",
                self.theme.value.or_else("-"),
            )
        )


@fieldwise_init
struct _Item(Copyable, Movable):
    var name: String
    var price: Float64
    var tags: Optional[List[String]]


@fieldwise_init
struct _Add(Endpoint):
    var item: Json[_Item]

    def serve(self) raises -> Response:
        return ok_json(self.item.value)


@fieldwise_init
struct _Login(Copyable, Movable):
    var user: String
    var age: Optional[Int]
    var roles: List[String]


@fieldwise_init
struct _LogIn(Endpoint):
    var form: Form[_Login]

    def serve(self) raises -> Response:
        return ok_json(self.form.value)


@fieldwise_init
struct _Broken(Endpoint):
    var other: PathInt["nope"]

    def serve(self) raises -> Response:
        return ok()


def _client() raises -> TestClient:
    var router = Router()
    router.get("/show/:kind/:id", Extracted[_Show]())
    router.get("/fields", Extracted[_Fields]())
    router.post("/items", Extracted[_Add]())
    router.post("/login", Extracted[_LogIn]())
    var client = TestClient(App(state=_Hits(0), handler=router^))
    client.peer = SocketAddr.parse("1.2.3.4:5")
    return client^


def _problem(response: ClientResponse) raises -> String:
    """Gives status, place, name and detail of a problem."""
    assert_equal(response.headers["content-type"], "application/problem+json")
    var problem = response.json()
    assert_equal(problem["status"].int_value(), response.status.code)
    return String(
        response.status,
        " ",
        problem["in"].string_value(),
        " ",
        problem["name"].string_value(),
        " ",
        problem["detail"].string_value(),
    )


def test_parameters() raises:
    var client = _client()
    assert_equal(
        client.get("/show/a%20b/-7?q=x+y&full=true").text(),
        "-7 a b x y True -1 - 0 1.2.3.4:5",
    )
    assert_equal(
        client.get(
            "/show/k/7?q=&full=0&page=3&note=n&tag=a&tag=b&color=ff&weight=1e1"
        ).text(),
        "7 k  False 3 n 2 color 255 weight 10.0 1.2.3.4:5",
    )


@fieldwise_init
struct _Row(Copyable, Movable):
    var target: StaticString
    var problem: StaticString


def test_bad_parameters_are_named() raises:
    comptime NO_INT = StaticString(" is no integer of 64 bits; write it as -12")
    var rows: List[_Row] = [
        _Row(
            "/show/k/x?q=a&full=1",
            "400 path id is no integer of 64 bits; write it as -12",
        ),
        _Row("/show/k/7?full=1", "400 query q is required"),
        _Row("/show/k/7?q=a", "400 query full is required"),
        _Row(
            "/show/k/7?q=a&full=yes",
            (
                "400 query full is neither true nor false; write it as true,"
                " false, 1 or 0"
            ),
        ),
        _Row(
            "/show/k/7?q=a&full=1&page=",
            "400 query page is no integer of 64 bits; write it as -12",
        ),
        _Row("/show/k/7?q=a&full=1&color=g", "400 query color is not hex"),
        _Row(
            "/show/k/7?q=a&full=1&weight=nan",
            "400 query weight is no number; write it as -1.5e3",
        ),
    ]
    var client = _client()
    for row in rows:
        assert_equal(_problem(client.get(row.target)), row.problem, row.target)


def test_a_field_that_is_no_text_is_refused() raises:
    # RFC 9110-5.5: octets from 0x80 up are opaque, and a String is UTF-8.
    var octets: List[UInt8] = [109, 0xFF]
    var request = ClientRequest("GET", "/fields")
    request.set_header("User-Agent", StringSpan(unsafe_from_utf8=octets))
    request.set_header("Cookie", "session=s")
    var client = _client()
    assert_equal(
        _problem(client.send(request^)),
        "400 header user-agent send it in UTF-8",
    )


@fieldwise_init
struct _Lists(Endpoint):
    var ids: HeaderParam[List[Int], "X-Ids"]
    var names: HeaderParam[List[String], "X-Names"]
    var one: HeaderParam[Optional[String], "X-One"]

    def serve(self) raises -> Response:
        var text = String(self.one.value.or_else("-"), ":")
        for id in self.ids.value:
            text.write(" ", id)
        for name in self.names.value:
            text.write(" [", name, "]")
        return ok(text)


def test_a_list_is_one_over_all_lines_and_commas() raises:
    """RFC 9110 sections 5.3 and 5.6.1; OpenAPI 3.1 style `simple`."""
    var router = Router()
    router.get("/", Extracted[_Lists]())
    var client = TestClient(router^)
    var rows: List[Tuple[String, String, String, String]] = [
        ("X-Ids", "1,2, 3", "", "-: 1 2 3"),
        ("X-Ids", "1", "2 ,\t3", "-: 1 2 3"),
        ("X-Ids", "", ",, 4 ,", "-: 4"),
        ("X-Names", "a, b c", "", "-: [a] [b c]"),
        ("X-Names", '"a, b",c', "", '-: ["a, b"] [c]'),
        ("X-Names", '"a\\", b", c', "", '-: ["a\\", b"] [c]'),
        ("X-Names", '"a, b', "c", '-: ["a, b] [c]'),
        ("X-Names", 'a, "b\\', "", '-: [a] ["b\\]'),
        # What is no list stays whole.
        ("X-One", "a, b", "", "a, b:"),
    ]
    for row in rows:
        var request = ClientRequest("GET", "/")
        request.headers.append(row[0], row[1])
        if row[2] != "":
            request.headers.append(row[0], row[2])
        assert_equal(client.send(request^).text(), row[3], row[1])
    var bad = ClientRequest("GET", "/")
    bad.set_header("X-Ids", "1, x")
    assert_equal(
        _problem(client.send(bad^)),
        "400 header X-Ids is no integer of 64 bits; write it as -12",
    )


def test_content_in_a_coding_is_refused() raises:
    """RFC 9110 section 15.5.16."""
    for coding, status in [
        ("gzip", 415),
        ("identity, br", 415),
        ("unknown", 415),
        ("Identity", 200),
        ("", 200),
    ]:
        var client = _client()
        var request = ClientRequest("POST", "/items")
        request.body = '{"name":"tea","price":2}'
        request.headers.append("Content-Encoding", "identity")
        request.headers.append("Content-Encoding", coding)
        var response = client.send(request^)
        assert_equal(response.status.code, status, coding)
        if status == 415:
            assert_equal(
                _problem(response),
                "415 body  send it without a Content-Encoding",
            )


def test_fields_and_cookies() raises:
    var client = _client()
    assert_equal(
        _problem(client.get("/fields")), "400 header user-agent is required"
    )
    var request = ClientRequest("GET", "/fields")
    request.set_header("User-Agent", "me")
    assert_equal(
        _problem(client.send(request.copy())), "400 cookie session is required"
    )
    request.set_header("Cookie", "theme=dark; session=abc")
    assert_equal(client.send(request.copy()).text(), "me - abc dark")
    request.set_header("X-Trace", "t")
    request.set_header("Cookie", "session=abc")
    assert_equal(client.send(request^).text(), "me t abc -")


def test_json_content() raises:
    var client = _client()
    assert_equal(
        client.post("/items", '{"name":"tea","price":2,"x":0}').text(),
        '{"name":"tea","price":2.0,"tags":null}',
    )
    var rows: List[_Row] = [
        _Row('{"name":"tea"}', "422 body price is required"),
        _Row(
            '{"name":"tea","price":"2"}',
            "422 body price found a string, expected a float",
        ),
        _Row(
            '{"name":"tea","price":2,"tags":["a",1]}',
            "422 body tags[1] found an integer, expected a string",
        ),
        _Row("[]", "422 body  found an array, expected an object"),
    ]
    for row in rows:
        assert_equal(
            _problem(client.post("/items", String(row.target))),
            row.problem,
            row.target,
        )
    var cut = client.post("/items", '{"name":')
    assert_equal(cut.status.code, 400)
    assert_true("byte 8" in cut.text(), cut.text())


def _errors(response: ClientResponse) raises -> String:
    """Gives status, and place, name and detail of each bad input."""
    assert_equal(response.headers["content-type"], "application/problem+json")
    var problem = response.json()
    var text = String(response.status)
    var errors = problem["errors"]
    for error in errors.elements():
        text.write("; ", error["in"].string_value(), " ")
        text.write(error["name"].string_value())
        if error.contains("pointer"):
            text.write(" ", error["pointer"].string_value())
        text.write(" ", error["detail"].string_value())
    # The first one's place, name and detail stand outside, too.
    for name in ["in", "name", "detail"]:
        assert_equal(
            problem[name].string_value(), errors[0][name].string_value()
        )
    return text


@fieldwise_init
struct _Order(Copyable, Movable):
    var items: List[_Item]
    var note: Optional[String]
    var by_name: Dict[String, Int]


@fieldwise_init
struct _Place(Endpoint):
    var shop: PathInt["shop"]
    var urgent: QueryBool["urgent"]
    var agent: HeaderStr["user-agent"]
    var session: CookieStr["session"]
    var order: Json[_Order]

    def serve(self) raises -> Response:
        return ok(String(len(self.order.value.items)))


def _placing() raises -> TestClient:
    var router = Router()
    router.post("/shops/:shop", Extracted[_Place]())
    router.post("/guarded", Extracted[_Guarded]())
    return TestClient(router^)


def test_all_bad_inputs_are_told_at_once() raises:
    # RFC 9457-3: `errors` with JSON Pointers (RFC 6901) as in its example.
    var client = _placing()
    assert_equal(
        _errors(
            client.post(
                "/shops/x?urgent=maybe",
                (
                    '{"items":[{"name":"tea","price":2},{"price":"3"},7],'
                    '"note":1,"by_name":{"a/b~c[0]":"x"}}'
                ),
            )
        ),
        (
            "400; path shop is no integer of 64 bits; write it as -12"
            "; query urgent is neither true nor false; write it as true,"
            " false, 1 or 0"
            "; header user-agent is required"
            "; cookie session is required"
            "; body items[1].name #/items/1/name is required"
            "; body items[1].price #/items/1/price found a string, expected a"
            " float"
            "; body items[2] #/items/2 found an integer, expected an object"
            "; body note #/note found an integer, expected a string"
            "; body by_name.a/b~c[0] #/by_name/a~1b~0c%5B0%5D found a string,"
            " expected an integer"
        ),
    )
    # The content as a whole, beside a parameter.
    var found = _errors(client.post("/shops/1?urgent=1", "{"))
    assert_true("400; header user-agent is required; " in found, found)
    assert_true("; body  JSON text, line 1" in found, found)


def test_the_number_of_errors_is_bounded() raises:
    var client = _placing()
    var text = String('{"items":[', "1," * 100, '1],"by_name":{}}')
    var answer = client.post("/shops/1?urgent=1", text)
    assert_equal(len(answer.json()["errors"]), 32)


@fieldwise_init
struct _Nobody(Input):
    """An input that is no matter of how a request is written."""

    @staticmethod
    def extract(req: Request) raises InputError -> Self:
        raise InputError(401, "header", "authorization", "sign in")

    @staticmethod
    def describe(mut operation: Operation):
        _ = operation


@fieldwise_init
struct _Guarded(Endpoint):
    var page: QueryBool["page"]
    var user: _Nobody
    var order: Json[_Order]

    def serve(self) raises -> Response:
        return ok()


def test_other_statuses_are_told_alone() raises:
    var client = _placing()
    assert_equal(
        _errors(client.post("/guarded", "{}")),
        "401; header authorization sign in",
    )


def test_media_types() raises:
    comptime TEXT = StaticString('{"name":"tea","price":2}')
    var client = _client()
    for media_type in [
        "application/json; charset=utf-8",
        "Application/JSON",
        "application/vnd.tea+json",
    ]:
        var body = RequestBody(Body(String(TEXT)), String(media_type))
        assert_equal(client.post("/items", body^).status.code, 200, media_type)
    for media_type in ["text/plain", "application/jsonx", "json", ""]:
        var body = RequestBody(Body(String(TEXT)), String(media_type))
        var response = client.post("/items", body^)
        assert_equal(
            _problem(response),
            "415 body  send it with Content-Type: application/json",
            media_type,
        )


def _form(text: StringSpan) -> RequestBody:
    return RequestBody(Body(String(text)), "application/x-www-form-urlencoded")


def test_form_content() raises:
    var client = _client()
    assert_equal(
        client.post("/login", _form("user=ann+b&roles=a&roles=b&x=1")).text(),
        '{"user":"ann b","age":null,"roles":["a","b"]}',
    )
    assert_equal(
        client.post("/login", _form("user=ann&age=7")).text(),
        '{"user":"ann","age":7,"roles":[]}',
    )
    assert_equal(
        _problem(client.post("/login", _form("age=7"))),
        "422 body user is required",
    )
    assert_equal(
        _problem(client.post("/login", _form("user=a&age=x"))),
        "422 body age is no integer of 64 bits; write it as -12",
    )
    assert_equal(client.post("/login", '{"user":"a"}').status.code, 415)
    assert_equal(client.post("/login", _form("a&" * 1_001)).status.code, 400)


def test_all_bad_fields_of_a_form_are_told() raises:
    var client = _client()
    assert_equal(
        _errors(client.post("/login", _form("age=x"))),
        (
            "422; body user is required; body age is no integer of 64 bits;"
            " write it as -12"
        ),
    )


def test_errors_of_ours_are_not_told() raises:
    var router = Router()
    router.get("/show/:kind/:id", Extracted[_Show]())
    var owned = OwnedRequest("GET", "/show/k/7?q=a&full=1")
    with assert_raises(contains="_Hits"):
        _ = router.serve(owned.view())


def _refused(var router: Router) raises -> String:
    """Gives why nobody serves a router."""
    try:
        _ = TestClient(router^)
        return String()
    except error:
        return String(error)


def test_a_path_parameter_that_the_route_does_not_have() raises:
    var router = Router()
    router.get("/good/:nope", Extracted[_Broken]())
    router.get("/broken/:id/:other", Extracted[_Broken]())
    comptime REFUSED = StaticString(
        "route: GET '/broken/:id/:other': _Broken takes the path parameter"
        " 'nope', and the pattern has 'id', 'other'; give both the same name"
    )
    assert_equal(_refused(router^), REFUSED)
    var plain = Router()
    plain.all("/", Timeout(Extracted[_Broken](), timeout_ms=5))
    assert_equal(
        _refused(plain^),
        (
            "route: * '/': _Broken takes the path parameter 'nope', and the"
            " pattern has none; give both the same name"
        ),
    )


def test_a_path_parameter_of_a_prefix() raises:
    """A router that is mounted, or stands in a route, has those around it."""
    var inner = Router()
    inner.get("/x", Extracted[_Broken]())
    var outer = Router()
    outer.mount("/:nope", inner^)
    assert_equal(_refused(outer^), "")
    inner = Router()
    inner.get("/*rest", Extracted[_Broken]())
    outer = Router()
    outer.get("/:nope/*all", inner^)
    assert_equal(_refused(outer^), "")
    inner = Router()
    inner.get("/x", Extracted[_Broken]())
    outer = Router()
    outer.fallback(inner^)
    assert_true("takes the path parameter 'nope'" in _refused(outer^))
    inner = Router()
    inner.get("/x", Extracted[_Broken]())
    var hosts = HostRouter()
    hosts.add("a.example", inner^)
    outer = Router()
    outer.fallback(hosts^)
    assert_true("takes the path parameter 'nope'" in _refused(outer^))


def test_an_endpoint_is_a_struct_in_tests() raises:
    var endpoint = _Add(Json(_Item("tea", 1, None)))
    assert_equal(
        endpoint.serve().text(), '{"name":"tea","price":1.0,"tags":null}'
    )


@fieldwise_init
struct _Number(Copyable, Movable):
    var text: StaticString
    var number: Optional[Int]


def test_integers() raises:
    var rows: List[_Number] = [
        _Number("0", 0),
        _Number("-0", 0),
        _Number("007", 7),
        _Number("9223372036854775807", Int.MAX),
        _Number("-9223372036854775808", Int.MIN),
        _Number("9223372036854775808", None),
        _Number("-9223372036854775809", None),
        _Number("9999999999999999999", None),
        _Number("10000000000000000000", None),
        _Number("", None),
        _Number("-", None),
        _Number("+1", None),
        _Number("1_000", None),
        _Number(" 1", None),
        _Number("1.0", None),
        _Number("0x1", None),
        _Number("--1", None),
    ]
    for row in rows:
        var read: Optional[Int] = None
        try:
            read = parse_int(row.text)
        except:
            assert_true(not row.number, row.text)
            continue
        assert_true(Bool(row.number), row.text)
        assert_equal(read.value(), row.number.value(), row.text)
