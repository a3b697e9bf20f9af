"""Conditional requests around a handler (RFC 9110 section 13)."""

from flare.http.client.message.request import ClientRequest
from flare.http.client.message.response import ClientResponse
from flare.http.conditional.conditional import EntityTag, Validators
from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.middleware.conditional import Conditional
from flare.http.handler.handler import FnHandler, Handler
from flare.testing.test_client import TestClient
from std.memory import ArcPointer
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)

comptime _MODIFIED_S = 784_111_777
comptime _SAME = "Sun, 06 Nov 1994 08:49:37 GMT"
comptime _OLDER = "Sun, 06 Nov 1994 08:49:36 GMT"
comptime _FIELDS = [
    "If-Match",
    "If-Unmodified-Since",
    "If-None-Match",
    "If-Modified-Since",
]


def _current(req: Request) raises -> Validators:
    """What `/none` and all other paths have now."""
    if req.path == "/none":
        return Validators()
    if req.path == "/broken":
        raise Error("no connection to the database")
    return Validators(EntityTag("v1"), _MODIFIED_S, True)


@fieldwise_init
struct _Counting(Handler):
    """Counts its calls, and answers what the path says."""

    var calls: ArcPointer[Int]

    def serve(self, req: Request) raises -> Response:
        self.calls[] += 1
        if req.path == "/gone":
            return Response(404)
        var response = ok("content")
        response.headers.set("Cache-Control", "max-age=60")
        response.headers.set("Vary", "Accept")
        response.headers.set("Content-Location", "/doc.txt")
        response.headers.set("Expires", _SAME)
        response.headers.set("Content-Language", "en")
        response.headers.set("Set-Cookie", "a=b")
        if req.path == "/doc":
            response.headers.set("ETag", '"v1"')
            response.headers.set("Last-Modified", _SAME)
        elif req.path == "/weak":
            response.headers.set("ETag", 'W/"v1"')
        elif req.path == "/dated":
            response.headers.set("Last-Modified", _SAME)
        elif req.path == "/odd":
            response.headers.set("ETag", "v1")
        return response^


@fieldwise_init
struct _Row(Copyable, Movable):
    """Conditions, in the order of `_FIELDS`, and what they come to."""

    var rule: StaticString
    var request: StaticString
    var matching: StaticString
    var unmodified: StaticString
    var none_match: StaticString
    var modified: StaticString
    var status: Int

    def send(self, mut client: TestClient) raises -> ClientResponse:
        var parts = self.request.split(" ")
        var request = ClientRequest(String(parts[0]), String(parts[1]))
        var values = [
            self.matching,
            self.unmodified,
            self.none_match,
            self.modified,
        ]
        for index in range(4):
            if values[index].byte_length() > 0:
                var names = materialize[_FIELDS]()
                request.set_header(names[index], values[index])
        return client.send(request^)


def test_reading() raises:
    var rows: List[_Row] = [
        _Row("no condition", "GET /doc", "", "", "", "", 200),
        # Step 1 of section 13.2.2.
        _Row("13.1.1 any", "GET /doc", "*", "", "", "", 200),
        _Row("13.1.1 listed", "GET /doc", '"x", "v1"', "", "", "", 200),
        _Row("13.1.1 not listed", "GET /doc", '"x"', "", "", "", 412),
        _Row("13.1.1 strong only", "GET /weak", 'W/"v1"', "", "", "", 412),
        _Row("13.1.1 without a tag", "GET /dated", '"v1"', "", "", "", 412),
        # Step 2, only if step 1 had nothing.
        _Row("13.1.4 same", "GET /doc", "", _SAME, "", "", 200),
        _Row("13.1.4 changed since", "GET /doc", "", _OLDER, "", "", 412),
        _Row("13.1.4 ignored beside 1", "GET /doc", "*", _OLDER, "", "", 200),
        _Row("13.1.4 no date", "GET /doc", "", "today", "", "", 200),
        # Step 3.
        _Row("13.1.2 has it", "GET /doc", "", "", '"v1"', "", 304),
        _Row("13.1.2 weak is enough", "GET /doc", "", "", 'W/"v1"', "", 304),
        _Row("13.1.2 weak is enough", "GET /weak", "", "", '"v1"', "", 304),
        _Row("13.1.2 any", "GET /doc", "", "", "*", "", 304),
        _Row("13.1.2 has another", "GET /doc", "", "", '"v0"', "", 200),
        _Row("13.1.2 HEAD", "HEAD /doc", "", "", '"v1"', "", 304),
        _Row("13.2.2 1 goes first", "GET /doc", '"x"', "", '"v1"', "", 412),
        _Row("13.2.2 then 3", "GET /doc", '"v1"', "", '"v1"', "", 304),
        # Step 4, only if step 3 had nothing.
        _Row("13.1.3 same", "GET /doc", "", "", "", _SAME, 304),
        _Row("13.1.3 changed since", "GET /doc", "", "", "", _OLDER, 200),
        _Row("13.1.3 by date alone", "GET /dated", "", "", "", _SAME, 304),
        _Row("13.1.3 ignored beside 3", "GET /doc", "", "", '"x"', _SAME, 200),
        # What cannot be compared.
        _Row("8.8.3 no tag", "GET /odd", "", "", "v1", "", 200),
        _Row("13.2.1 not 2xx", "GET /gone", '"x"', "", "*", "", 404),
    ]
    var calls = ArcPointer(0)
    var client = TestClient(Conditional(_Counting(calls)))
    for row in rows:
        var response = row.send(client)
        assert_equal(response.status.code, row.status, row.rule)
        var has_content = response.body.as_bytes()
        if row.status == 200:
            assert_equal(response.text(), "content", row.rule)
        else:
            assert_equal(len(has_content), 0, row.rule)
    assert_equal(calls[], len(rows))


def test_fields_of_304() raises:
    var client = TestClient(Conditional(_Counting(ArcPointer(0))))
    var request = ClientRequest("GET", "/doc")
    request.set_header("If-None-Match", '"v1"')
    var response = client.send(request^)
    assert_equal(response.status.code, 304)
    # Section 15.4.5: those that a 200 would have had. Date is the server's.
    assert_equal(response.headers["etag"], '"v1"')
    assert_equal(response.headers["cache-control"], "max-age=60")
    assert_equal(response.headers["vary"], "Accept")
    assert_equal(response.headers["content-location"], "/doc.txt")
    assert_equal(response.headers["expires"], _SAME)
    assert_equal(response.headers["last-modified"], _SAME)
    assert_equal(response.headers["set-cookie"], "a=b")
    assert_false("content-type" in response.headers)
    assert_false("content-language" in response.headers)


def test_changing() raises:
    var rows: List[_Row] = [
        _Row("no condition", "PUT /doc", "", "", "", "", 200),
        _Row("13.1.1 current", "PUT /doc", '"v1"', "", "", "", 200),
        _Row("13.1.1 lost update", "PUT /doc", '"v0"', "", "", "", 412),
        _Row("13.1.1 any", "DELETE /doc", "*", "", "", "", 200),
        _Row("13.1.1 any of none", "DELETE /none", "*", "", "", "", 412),
        _Row("13.1.4 same", "PATCH /doc", "", _SAME, "", "", 200),
        _Row("13.1.4 changed since", "PATCH /doc", "", _OLDER, "", "", 412),
        _Row("13.1.2 only if new", "PUT /none", "", "", "*", "", 200),
        _Row("13.1.2 not new", "PUT /doc", "", "", "*", "", 412),
        _Row("13.1.2 412, not 304", "POST /doc", "", "", '"v1"', "", 412),
        _Row("13.1.3 reading only", "PUT /doc", "", "", "", _SAME, 200),
        _Row("13.2.1 OPTIONS", "OPTIONS /doc", '"v0"', "", "", "", 200),
    ]
    for row in rows:
        var calls = ArcPointer(0)
        var client = TestClient(Conditional(_Counting(calls), _current))
        assert_equal(row.send(client).status.code, row.status, row.rule)
        assert_equal(calls[], 1 if row.status == 200 else 0, row.rule)
        # Without a hook conditions on changes are the handler's.
        var bare = TestClient(Conditional(_Counting(calls)))
        assert_equal(row.send(bare).status.code, 200, row.rule)


def test_hook() raises:
    var calls = ArcPointer(0)
    var client = TestClient(Conditional(_Counting(calls), _current))
    # What it tells goes with content that has no validators of its own.
    var response = client.get("/bare")
    assert_equal(response.headers["etag"], '"v1"')
    assert_equal(response.headers["last-modified"], _SAME)
    response = client.get("/weak")
    assert_equal(response.headers["etag"], 'W/"v1"')
    assert_false("last-modified" in response.headers)
    var known = ClientRequest("GET", "/bare")
    known.set_header("If-None-Match", '"v1"')
    assert_equal(client.send(known^).status.code, 304)
    calls[] = 0
    var unsure = ClientRequest("PUT", "/broken")
    unsure.set_header("If-Match", '"v1"')
    with assert_raises(contains="no connection"):
        _ = client.send(unsure^)
    assert_equal(calls[], 0)


def _page(req: Request) raises -> Response:
    if req.path == "/empty" or (
        req.path == "/bodyless" and req.method == "HEAD"
    ):
        return ok()
    if req.path == "/made":
        return Response(201, "made")
    return ok("page of " + req.query_param("who"))


def test_made_tags() raises:
    var client = TestClient(Conditional(FnHandler(_page), makes_tags=True))
    var ann = String(client.get("/?who=ann").headers["etag"])
    assert_equal(ann, client.get("/?who=ann").headers["etag"])
    assert_equal(ann, client.head("/?who=ann").headers["etag"])
    assert_true(ann != client.get("/?who=bob").headers["etag"])
    assert_false(ann.startswith("W/"))
    assert_equal(ann.byte_length(), 24)
    var request = ClientRequest("GET", "/?who=ann")
    request.set_header("If-None-Match", ann)
    var response = client.send(request^)
    assert_equal(response.status.code, 304)
    assert_equal(response.headers["etag"], ann)
    assert_true("etag" in client.get("/empty").headers)
    assert_false("etag" in client.head("/bodyless").headers)
    assert_false("etag" in client.get("/made").headers)
    var bare = TestClient(Conditional(FnHandler(_page)))
    assert_false("etag" in bare.get("/?who=ann").headers)
