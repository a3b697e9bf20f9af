"""Sessions whose values are in a store: what the cookie has, when the store is
asked, and what becomes of a session that ends, is renewed, or cannot be had."""

from flare.bytes.checked import *
from flare.http.client.message.request import ClientRequest
from flare.http.client.message.response import ClientResponse
from flare.http.extract.endpoint import Endpoint, Extracted
from flare.http.message.request import Request
from flare.http.message.response import Response, conflict, no_content, ok
from flare.http.middleware.sessions import (
    CurrentSession,
    STORED_LEN_MAX,
    Sessions,
)
from flare.http.handler.handler import Handler
from flare.http.handler.state import State
from flare.http.routing.router import Router
from flare.http.session.session import SessionConfig
from flare.http.session.signing_keys import SigningKeys
from flare.http.session.store import SessionStore
from flare.sys.clock import unix_seconds
from flare.testing.test_client import TestClient
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)

comptime _KEY = "new-key-new-key-new-key-new-key-!"
comptime _OLD = "old-key-old-key-old-key-old-key-!"


struct _Table(Defaultable, Movable):
    """What a store has, and what it was asked for."""

    var ids: List[String]
    var values: List[String]
    var asked: String
    var is_away: Bool

    def find(self, id: String) -> Int:
        for index in range(len(self.ids)):
            if self.ids.at(index) == id:
                return index
        return -1

    def note(mut self, what: String) raises:
        self.asked += what
        if self.is_away:
            raise Error("the store is away")


@fieldwise_init
struct _Store(SessionStore):
    var table: State[_Table]

    def load(self, id: String) raises -> Optional[String]:
        var table = self.table.lock()
        table[].note("L")
        var index = table[].find(id)
        if index < 0:
            return None
        return table[].values.at(index)

    def save(self, id: String, values: String, max_age_s: Int) raises:
        var table = self.table.lock()
        table[].note("S")
        assert_equal(max_age_s, 3_600)
        assert_true(table[].find(id) < 0)
        table[].ids.append(id)
        table[].values.append(values)

    def replace(
        self, id: String, new_id: String, values: String, max_age_s: Int
    ) raises -> Bool:
        var table = self.table.lock()
        table[].note("P")
        assert_equal(max_age_s, 3_600)
        var index = table[].find(id)
        if index < 0:
            return False
        table[].ids.at(index) = new_id
        table[].values.at(index) = values
        return True

    def remove(self, id: String) raises:
        var table = self.table.lock()
        table[].note("R")
        var index = table[].find(id)
        if index >= 0:
            _ = table[].ids.pop(index)
            _ = table[].values.pop(index)


def _who(req: Request) raises -> Response:
    return ok(CurrentSession.of(req)[].get("user").or_else("nobody"))


def _login(req: Request) raises -> Response:
    var session = CurrentSession.of(req)
    session[].renew()
    session[].set("user", req.query_param("user"))
    return ok()


def _visit(req: Request) raises -> Response:
    CurrentSession.of(req)[].set("page", "1")
    return ok()


def _set_many(req: Request) raises -> Response:
    for index in range(Int(req.query_param("count"))):
        CurrentSession.of(req)[].set(String(index), "")
    return ok()


def _fill(req: Request) raises -> Response:
    var count = Int(req.query_param("count"))
    CurrentSession.of(req)[].set("user", "x" * count)
    return no_content()


def _logout(req: Request) raises -> Response:
    CurrentSession.of(req)[].clear()
    return ok()


def _plain(req: Request) raises -> Response:
    return ok("the same for all")


def _fail(req: Request) raises -> Response:
    CurrentSession.of(req)[].set("user", "half done")
    raise Error("no luck")


@fieldwise_init
struct _Meanwhile(Handler):
    """Has read the session when another request ends it; `?saves` wants to know."""

    var table: State[_Table]

    def serve(self, req: Request) raises -> Response:
        var current = CurrentSession.of(req)
        self.table.lock()[].ids.clear()
        self.table.lock()[].values.clear()
        var how = req.query_param("how")
        current[].set("page", "7")
        if how == "renew":
            current[].renew()
        if how == "clear":
            current[].clear()
        if how == "save":
            assert_false(current.save())
            assert_false(current.save())
            return conflict("ended")
        return ok()


def _save_now(req: Request) raises -> Response:
    var current = CurrentSession.of(req)
    current[].set("page", "1")
    assert_true(current.save())
    if req.query_param("more") != "":
        current[].set("page", "2")
    return ok()


@fieldwise_init
struct _Mine(Endpoint):
    var session: CurrentSession

    def serve(self) raises -> Response:
        return ok(self.session[].get("user").or_else("nobody"))


def _client(table: State[_Table]) raises -> TestClient:
    return _client(table, SigningKeys(_KEY))


def _client(table: State[_Table], var keys: SigningKeys) raises -> TestClient:
    var router = Router()
    router.get("/who", _who)
    router.get("/login", _login)
    router.get("/visit", _visit)
    router.get("/many", _set_many)
    router.get("/logout", _logout)
    router.get("/plain", _plain)
    router.get("/fail", _fail)
    router.get("/mine", Extracted[_Mine]())
    router.get("/meanwhile", _Meanwhile(table))
    router.get("/save", _save_now)
    var config = SessionConfig("sid", 3_600, is_secure=False)
    return TestClient(Sessions(router^, keys^, config^, store=_Store(table)))


def _ask(
    table: State[_Table], var request: ClientRequest, var keys: SigningKeys
) raises -> ClientResponse:
    var client = _client(table, keys^)
    return client.send(request^)


def _asked(table: State[_Table]) -> String:
    var asked = String()
    swap(asked, table.lock()[].asked)
    return asked^


def test_the_store_is_asked_only_when_needed() raises:
    var table = State(_Table())
    var client = _client(table)
    assert_equal(client.get("/plain").text(), "the same for all")
    assert_equal(client.get("/who").text(), "nobody")
    assert_equal(_asked(table), "")
    var response = client.get("/login?user=ann")
    assert_equal(response.headers["vary"], "Cookie")
    assert_true("HttpOnly" in response.headers["set-cookie"])
    # The client does not see the values.
    assert_false("ann" in response.headers["set-cookie"])
    assert_equal(_asked(table), "S")
    assert_equal(table.lock()[].ids.at(0).byte_length(), 43)
    assert_equal(client.get("/plain").text(), "the same for all")
    assert_equal(_asked(table), "")
    response = client.get("/who")
    assert_equal(response.text(), "ann")
    assert_false("set-cookie" in response.headers)
    assert_equal(_asked(table), "L")
    assert_equal(client.get("/mine").text(), "ann")


def test_more_than_a_cookie_holds() raises:
    var client = _client(State(_Table()))
    _ = client.get("/login?user=" + "x" * 5_000)
    assert_equal(client.get("/who").text(), "x" * 5_000)


def test_no_more_than_the_bound() raises:
    var table = State(_Table())
    var client = _client(table)
    # With the name and the sign between.
    var longest = STORED_LEN_MAX - 5
    _ = client.get("/login?user=" + "x" * 10)
    assert_equal(len(table.lock()[].ids), 1)
    for row in [(longest, 204), (longest + 1, 500)]:
        var router = Router()
        router.post("/fill", _fill)
        var filler = TestClient(
            Sessions(
                router^,
                SigningKeys(_KEY),
                SessionConfig("sid", 3_600, is_secure=False),
                store=_Store(table),
            )
        )
        var status = 500
        try:
            status = filler.post("/fill?count=" + String(row[0])).status.code
        except error:
            assert_true("65536" in String(error), String(error))
        assert_equal(status, row[1])
    assert_equal(len(table.lock()[].ids), 2)


def test_no_more_values_than_can_be_read_again() raises:
    var client = _client(State(_Table()))
    _ = client.get("/login?user=ann")
    with assert_raises(contains="1000 values"):
        _ = client.get("/many?count=1000")
    assert_equal(client.get("/who").text(), "ann")
    _ = client.get("/many?count=999")
    assert_equal(client.get("/who").text(), "ann")


def test_renewed_ids() raises:
    var table = State(_Table())
    var client = _client(table)
    _ = client.get("/visit")
    var before = table.lock()[].ids.at(0).copy()
    _ = client.get("/visit")
    assert_equal(table.lock()[].ids.at(0), before)
    _ = client.get("/login?user=ann")
    assert_equal(len(table.lock()[].ids), 1)
    assert_true(table.lock()[].ids.at(0) != before)
    assert_true("page=1" in table.lock()[].values.at(0))


def test_ended_sessions() raises:
    var table = State(_Table())
    var client = _client(table)
    _ = client.get("/login?user=ann")
    var cookie = client.cookies.to_request_header()
    assert_true("Max-Age=0" in client.get("/logout").headers["set-cookie"])
    assert_equal(len(table.lock()[].ids), 0)
    # Whoever has kept the cookie gains nothing, nor chooses an id by it.
    var again = ClientRequest("GET", "/who")
    again.set_header("Cookie", cookie)
    assert_equal(_ask(table, again^, SigningKeys(_KEY)).text(), "nobody")
    var planted = ClientRequest("GET", "/visit")
    planted.set_header("Cookie", cookie)
    _ = _ask(table, planted^, SigningKeys(_KEY))
    assert_false(table.lock()[].ids.at(0) in cookie)


def test_what_has_ended_meanwhile_does_not_come_back() raises:
    for how in ["set", "renew", "clear", "save"]:
        var table = State(_Table())
        var client = _client(table)
        _ = client.get("/login?user=ann")
        var response = client.get("/meanwhile?how=" + how)
        assert_equal(response.status.code, 409 if how == "save" else 200, how)
        assert_equal(len(table.lock()[].ids), 0, how)
        # The client may have the cookie of the renewed one by now.
        var is_told = "set-cookie" in response.headers
        assert_equal(is_told, how == "clear", how)
        assert_equal(response.headers["vary"], "Cookie", how)
        assert_equal(client.get("/who").text(), "nobody", how)


def test_what_is_saved_at_once() raises:
    var table = State(_Table())
    var client = _client(table)
    # The first one makes the session, the others change it.
    for row in [("/save", "S", "1"), ("/save", "LP", "1")]:
        var response = client.get(row[0])
        assert_true("set-cookie" in response.headers)
        assert_equal(_asked(table), row[1])
        assert_true("page=" + row[2] in table.lock()[].values.at(0))
    assert_true("set-cookie" in client.get("/save?more=1").headers)
    assert_equal(_asked(table), "LPP")
    assert_true("page=2" in table.lock()[].values.at(0))
    assert_equal(len(table.lock()[].ids), 1)
    table.lock()[].is_away = True
    assert_equal(client.get("/save").status.code, 503)


def test_which_ids_are_believed() raises:
    var table = State(_Table())
    table.lock()[].ids.append("7")
    table.lock()[].values.append("user=ann")
    var now_s = unix_seconds()
    var keys = SigningKeys(_KEY)
    var strange = SigningKeys("x" * 32)
    var rows: List[Tuple[String, String]] = [
        (keys.sign("sid id", "7", now_s), "ann"),
        (keys.sign("sid id", "8", now_s), "nobody"),
        (keys.sign("sid", "7", now_s), "nobody"),
        (keys.sign("sid id", "7", now_s - 3_610), "nobody"),
        (strange.sign("sid id", "7", now_s), "nobody"),
        ("7", "nobody"),
        ("", "nobody"),
    ]
    for row in rows:
        var request = ClientRequest("GET", "/who")
        request.set_header("Cookie", "sid=" + row[0])
        assert_equal(
            _ask(table, request^, SigningKeys(_KEY)).text(), row[1], row[0]
        )


def test_an_older_key_is_replaced() raises:
    var table = State(_Table())
    var client = _client(table, SigningKeys(_OLD))
    _ = client.get("/login?user=ann")
    var request = ClientRequest("GET", "/who")
    request.set_header("Cookie", client.cookies.to_request_header())
    var response = _ask(table, request^, SigningKeys(_KEY, _OLD))
    assert_equal(response.text(), "ann")
    var next = ClientRequest("GET", "/who")
    next.set_header(
        "Cookie", String(response.headers["set-cookie"].split(";").at(0))
    )
    assert_equal(_ask(table, next^, SigningKeys(_KEY)).text(), "ann")


def test_a_store_that_is_away() raises:
    var table = State(_Table())
    var client = _client(table)
    _ = client.get("/login?user=ann")
    table.lock()[].is_away = True
    for path in ["/who", "/mine", "/visit", "/logout"]:
        var response = client.get(path)
        assert_equal(response.status.code, 503, path)
        assert_true("retry-after" in response.headers, path)
        assert_false("set-cookie" in response.headers, path)
    # Others do not notice.
    assert_equal(client.get("/plain").status.code, 200)
    table.lock()[].is_away = False
    assert_equal(client.get("/who").text(), "ann")


def test_an_error_saves_nothing() raises:
    var table = State(_Table())
    var client = _client(table)
    with assert_raises(contains="no luck"):
        _ = client.get("/fail")
    assert_equal(_asked(table), "")
