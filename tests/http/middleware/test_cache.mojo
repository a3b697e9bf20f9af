"""A cache in front of a handler (RFC 9111): table by table, without a socket."""

from flare.bytes.buffer import Buffer
from flare.http.cache.core.policy import CachePolicy
from flare.http.cache.store import CacheStore
from flare.http.client.message.request import ClientRequest
from flare.http.client.message.response import ClientResponse
from flare.http.message.body import Body, BodySource, Poll
from flare.http.message.request import Request
from flare.http.message.response import Response, ok_stream
from flare.http.middleware.cache import Cache
from flare.http.middleware.cache_metrics import CacheMetrics
from flare.http.handler.state import State
from flare.http.handler.handler import Handler
from flare.sys.clock import Deadline
from flare.testing.test_client import TestClient
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)


struct _Plan(Movable):
    """What the origin answers next, and what it was asked."""

    var status: Int
    var fields: String
    var content: String
    var fails: Bool
    var stream_len: Int
    var asked_count: Int
    var asked: String

    def __init__(out self):
        self.status = 200
        self.fields = String()
        self.content = "content"
        self.fails = False
        self.stream_len = -1
        self.asked_count = 0
        self.asked = String()


@fieldwise_init
struct _Pieces(BodySource):
    """Content in pieces of 10 octets."""

    var left_len: Int
    var fails: Bool

    def fill(mut self, mut out: Buffer) raises -> Poll:
        var count = min(self.left_len, 10)
        for _ in range(count):
            out.append("s".as_bytes())
        self.left_len -= count
        if self.left_len == 0 and self.fails:
            raise Error("the source breaks")
        return Poll.DONE if self.left_len == 0 else Poll.READY


@fieldwise_init
struct _Origin(Handler):
    """Answers by a plan."""

    var plan: State[_Plan]

    def serve(self, req: Request) raises -> Response:
        var plan = self.plan.lock()
        plan[].asked_count += 1
        plan[].asked = String(req.method_name)
        for name in ["If-None-Match", "If-Modified-Since", "Range"]:
            if name in req.headers:
                plan[].asked += String(" ", name, "=", req.header(name))
        if plan[].fails and plan[].stream_len < 0:
            raise Error("the origin is down")
        var response = Response(plan[].status, Body(plan[].content))
        if plan[].status == 304:
            response.body = Body()
        if plan[].stream_len >= 0:
            response = ok_stream(_Pieces(plan[].stream_len, plan[].fails))
        for line in plan[].fields.split("\n"):
            if line.byte_length() > 0:
                var at = line.find(":")
                response.headers.append(line[byte=:at], line[byte = at + 1 :])
        return response^


struct _Bench(Movable):
    """A client before a cache before an origin."""

    var plan: State[_Plan]
    var store: CacheStore
    var client: TestClient

    def __init__(out self, var policy: CachePolicy = CachePolicy()) raises:
        self.plan = State(_Plan())
        self.store = CacheStore()
        self.client = TestClient(Cache(_Origin(self.plan), self.store, policy^))

    def answer(
        mut self,
        fields: StringSpan,
        status: Int = 200,
        content: StringSpan = "content",
    ):
        var plan = self.plan.lock()
        plan[].fields = String(fields)
        plan[].status = status
        plan[].content = String(content)

    def ask(
        mut self,
        fields: StringSpan = "",
        method: StringSpan = "GET",
        path: StringSpan = "/",
    ) raises -> ClientResponse:
        var request = ClientRequest(String(method), String(path))
        for line in fields.split("\n"):
            if line.byte_length() > 0:
                var at = line.find(":")
                request.set_header(line[byte=:at], line[byte = at + 1 :])
        return self.client.send(request^)

    def asked(self) -> Int:
        return self.plan.lock()[].asked_count

    def asked_for(self) -> String:
        return self.plan.lock()[].asked.copy()


def _status(response: ClientResponse) raises -> String:
    """What the cache did, without the time that it holds: clocks go on."""
    var value = response.headers.get("cache-status")
    if not value:
        return "-"
    var kept = String()
    for part in value.value().split("; "):
        if not part.startswith("ttl="):
            kept += "; " if kept.byte_length() > 0 else ""
            kept += part
    return kept^


def _ttl(response: ClientResponse) raises -> Int:
    for part in response.headers["cache-status"].split("; "):
        if part.startswith("ttl="):
            return Int(part[byte=4:])
    raise Error("no ttl")


def _is_about(found: Int, wanted: Int) -> Bool:
    """Compares times, of which one may have gone on."""
    return found <= wanted and found >= wanted - 5


def test_hit() raises:
    var bench = _Bench()
    bench.answer("Cache-Control: max-age=60\nX-A: 1")
    var first = bench.ask()
    assert_equal(_status(first), "flare; fwd=uri-miss; stored")
    assert_false("age" in first.headers, "5.1: only where it was not asked")
    var second = bench.ask()
    assert_equal(second.text(), "content")
    assert_equal(second.headers["x-a"], "1")
    assert_true(_is_about(-Int(second.headers["age"]), 0), "5.1")
    assert_true(_is_about(_ttl(second), 60))
    assert_true("date" in second.headers, "9110-6.6.1")
    assert_equal(_status(second), "flare; hit")
    assert_equal(bench.asked(), 1)
    var other = bench.ask(path="/?other")
    assert_equal(_status(other), "flare; fwd=uri-miss; stored")
    assert_equal(bench.asked(), 2)


def test_not_stored() raises:
    var bench = _Bench()
    for fields in [
        "",
        "Cache-Control: no-store",
        "Cache-Control: private, max-age=9",
    ]:
        bench.answer(fields)
        assert_equal(_status(bench.ask()), "flare; fwd=uri-miss")
        assert_equal(_status(bench.ask()), "flare; fwd=uri-miss")
    assert_equal(bench.asked(), 6)
    assert_equal(bench.store.stats().refused_count, 6)


def test_vary() raises:
    var bench = _Bench()
    bench.answer(
        "Cache-Control: max-age=60\nVary: Accept-Language", content="en"
    )
    _ = bench.ask("Accept-Language: en")
    bench.answer(
        "Cache-Control: max-age=60\nVary: Accept-Language", content="de"
    )
    assert_equal(
        _status(bench.ask("Accept-Language: de")),
        "flare; fwd=vary-miss; stored",
    )
    assert_equal(bench.ask("Accept-Language: EN").text(), "en", "4.1")
    assert_equal(bench.ask("Accept-Language: de").text(), "de", "4.1")
    assert_equal(bench.asked(), 2)


def test_validation() raises:
    """4.3."""
    var bench = _Bench()
    bench.answer('Cache-Control: no-cache\nETag: "a"\nX-A: 1\nX-B: 1')
    _ = bench.ask()
    bench.answer('ETag: "a"\nX-A: 2\nCache-Control: max-age=60', status=304)
    var confirmed = bench.ask()
    assert_equal(bench.asked_for(), 'GET If-None-Match="a"', "4.3.1")
    assert_equal(confirmed.status, 200)
    assert_equal(confirmed.text(), "content")
    assert_equal(confirmed.headers["x-a"], "2", "3.2")
    assert_equal(confirmed.headers["x-b"], "1", "3.2")
    assert_equal(_status(confirmed), "flare; fwd=stale; fwd-status=304; stored")
    assert_equal(_status(bench.ask()), "flare; hit")
    assert_equal(bench.asked(), 2)
    assert_equal(bench.store.stats().revalidated_count, 1)


def test_validation_makes_nothing_shared_that_would_not_be_kept() raises:
    """What a 304 says is for its own client where a 200 that says so would not
    be kept: 9111-5.2.2.5 (no-store), 5.2.2.7 (private), 3.5 (Authorization), and
    cookies."""
    for row in [
        ("cookie", "Set-Cookie: id=ann", "", "Set-Cookie"),
        ("5.2.2.7", "X-For: ann\nCache-Control: private", "", "X-For"),
        ("5.2.2.5", "X-For: ann\nCache-Control: no-store", "", "X-For"),
        ("3.5", "X-For: ann", "Authorization: Basic YTpi", "X-For"),
    ]:
        for method in ["GET", "HEAD"]:
            var bench = _Bench()
            var kept = 'Cache-Control: max-age=60\nETag: "a"'
            bench.answer(String(kept, "\nAge: 100"))
            _ = bench.ask()
            # A 304 to what is kept; HEAD without one is compared with it.
            var status = 304 if method == "GET" else 200
            bench.answer(String(kept, "\n", row[1]), status=status)
            var own = bench.ask(row[2], method=method)
            assert_equal(own.status, 200, row[0])
            assert_true(row[3] in own.headers, row[0])
            bench.answer(kept)
            var other = bench.ask()
            assert_equal(other.status, 200, row[0])
            assert_false(row[3] in other.headers, row[0])


def test_validation_by_date() raises:
    comptime DATE = "Sun, 06 Nov 1994 08:49:37 GMT"
    var bench = _Bench()
    bench.answer(String("Cache-Control: no-cache\nLast-Modified: ", DATE))
    _ = bench.ask()
    bench.answer("Cache-Control: no-cache", content="newer")
    assert_equal(bench.ask().text(), "newer", "4.3.3: 200 replaces it")
    assert_equal(
        bench.asked_for(), String("GET If-Modified-Since=", DATE), "4.3.1"
    )
    _ = bench.ask()
    assert_equal(bench.asked_for(), "GET", "nothing to validate any more")


def test_304_of_another_response() raises:
    """4.3.4: it says nothing of what is kept."""
    var bench = _Bench()
    bench.answer('Cache-Control: no-cache\nETag: "a"')
    _ = bench.ask()
    bench.answer('ETag: "b"', status=304)
    _ = bench.ask()
    assert_equal(bench.asked(), 3)
    assert_equal(bench.asked_for(), "GET", "asked again, for all of it")


def test_conditions_of_clients() raises:
    """4.3.2."""
    var bench = _Bench()
    bench.answer('Cache-Control: max-age=60\nETag: "a"')
    var first = bench.ask('If-None-Match: "a"')
    assert_equal(bench.asked_for(), "GET", "the whole is fetched, to be kept")
    assert_equal(first.status, 304)
    assert_equal(bench.ask('If-None-Match: W/"a"').status, 304)
    assert_equal(bench.ask('If-None-Match: "b"').status, 200)
    assert_equal(
        bench.ask("If-Modified-Since: Sun, 06 Nov 2094 08:49:37 GMT").status,
        304,
        "Date counts without Last-Modified",
    )
    assert_equal(
        bench.ask("If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT").status,
        200,
    )
    assert_equal(bench.asked(), 1)
    # For the origin alone.
    assert_equal(_status(bench.ask('If-Match: "a"')), "flare; fwd=bypass")
    assert_equal(bench.asked(), 2)
    # Which changes nothing of what is kept (9111-4.4).
    assert_equal(_status(bench.ask()), "flare; hit")
    assert_equal(bench.asked(), 2)


def test_ranges() raises:
    """9110-14: parts of what is complete."""
    var bench = _Bench()
    bench.answer('Cache-Control: max-age=60\nETag: "a"', content="0123456789")
    _ = bench.ask()
    var part = bench.ask("Range: bytes=2-4")
    assert_equal(part.status, 206)
    assert_equal(part.text(), "234")
    assert_equal(part.headers["content-range"], "bytes 2-4/10")
    var behind = bench.ask("Range: bytes=10-")
    assert_equal(behind.status, 416)
    assert_equal(behind.headers["content-range"], "bytes */10")
    assert_equal(bench.ask("Range: bytes=0-1,8-9").status, 206, "coalesced")
    assert_equal(bench.ask('Range: bytes=0-1\nIf-Range: "b"').status, 200)
    assert_equal(bench.ask('Range: bytes=0-1\nIf-Range: "a"').status, 206)
    assert_equal(bench.asked(), 1)


def test_validation_of_a_part() raises:
    """9110-13.2.2: conditions come before Range; 9111-4.3.3: what has changed is
    not kept, be the newer a part."""
    comptime STALE = StaticString(
        'Cache-Control: max-age=60, stale-if-error=60\nAge: 100\nETag: "a"'
    )
    comptime PART = StaticString('ETag: "b"\nContent-Range: bytes 0-1/9')
    comptime RANGE = StaticString("Range: bytes=0-1")
    var bench = _Bench()
    bench.answer(STALE)
    _ = bench.ask()
    bench.answer('ETag: "b"', status=304)
    var unchanged = bench.ask(String(RANGE, '\nIf-None-Match: "b"'))
    assert_equal(
        bench.asked_for(), 'GET If-None-Match="b" Range=bytes=0-1', "as it came"
    )
    assert_equal(unchanged.status, 304)
    bench.answer('ETag: "a"', status=304)
    var part = bench.ask(RANGE)
    assert_equal(bench.asked_for(), 'GET If-None-Match="a" Range=bytes=0-1')
    assert_equal(part.text(), "co", "a part of what is kept")
    bench = _Bench()
    bench.answer(STALE)
    _ = bench.ask()
    bench.answer(PART, status=206, content="ne")
    assert_equal(bench.ask(RANGE).text(), "ne")
    bench.answer("", status=503)
    assert_equal(bench.ask().status, 503, "the older one is gone")


def test_a_range_that_is_refused_is_no_answer_to_others() raises:
    """9110-15.5.17: 416 is about the Range of its request alone."""
    var bench = _Bench()
    bench.answer("Cache-Control: max-age=60", status=416, content="no")
    assert_equal(bench.ask("Range: bytes=99-").status, 416)
    bench.answer("Cache-Control: max-age=60")
    assert_equal(bench.ask().status, 200)
    assert_equal(_status(bench.ask()), "flare; hit")


def test_no_parts_are_kept() raises:
    """3.3."""
    var bench = _Bench()
    bench.answer(
        "Cache-Control: max-age=60\nContent-Range: bytes 0-1/9", status=206
    )
    _ = bench.ask("Range: bytes=0-1")
    assert_equal(bench.asked_for(), "GET Range=bytes=0-1")
    bench.answer("Cache-Control: max-age=60")
    assert_equal(bench.ask().status, 200)
    assert_equal(bench.asked(), 2)


def test_head() raises:
    var bench = _Bench()
    bench.answer("Cache-Control: max-age=60")
    assert_equal(_status(bench.ask(method="HEAD")), "flare; fwd=uri-miss")
    assert_equal(bench.asked_for(), "HEAD")
    _ = bench.ask()
    assert_equal(_status(bench.ask(method="HEAD")), "flare; hit")
    assert_equal(bench.asked(), 2)


def test_head_updates() raises:
    """4.3.5."""
    var bench = _Bench()
    bench.answer('Cache-Control: no-cache\nETag: "a"')
    _ = bench.ask()
    bench.answer('Cache-Control: max-age=60\nETag: "a"')
    _ = bench.ask(method="HEAD")
    assert_equal(_status(bench.ask()), "flare; hit")
    bench.answer('Cache-Control: max-age=60\nETag: "b"')
    _ = bench.ask("Cache-Control: no-cache", method="HEAD")
    assert_equal(_status(bench.ask()), "flare; fwd=stale; stored")


def test_requests_that_ask() raises:
    """5.2.1."""
    var bench = _Bench()
    bench.answer("Cache-Control: max-age=60")
    var none = bench.ask("Cache-Control: only-if-cached")
    assert_equal(none.status, 504)
    # It is made here, of nothing that is stored (RFC 9211 section 2).
    assert_false("Cache-Status" in none.headers)
    # What is for the origin alone, and what has content: the cache has nothing.
    for field in ['If-Match: "a"', "Content-Length: 0", "Upgrade: x"]:
        assert_equal(
            bench.ask(String("Cache-Control: only-if-cached\n", field)).status,
            504,
            field,
        )
    assert_equal(bench.asked(), 0)
    _ = bench.ask()
    assert_equal(bench.ask("Cache-Control: only-if-cached").status, 200)
    assert_equal(
        _status(bench.ask("Cache-Control: no-cache")),
        "flare; fwd=request; stored",
    )
    assert_equal(
        _status(bench.ask("Pragma: no-cache")), "flare; fwd=request; stored"
    )
    assert_equal(bench.asked(), 3)
    var deaf = _Bench(CachePolicy(obeys_clients=False))
    deaf.answer("Cache-Control: max-age=60")
    _ = deaf.ask()
    assert_equal(_status(deaf.ask("Cache-Control: no-cache")), "flare; hit")


def test_unsafe_methods() raises:
    """4.4."""
    for row in [
        ("POST", 200, "", "/", True),
        ("PUT", 303, "", "/", True),
        ("BREW", 200, "", "/", True),
        ("POST", 404, "", "/", False),
        ("OPTIONS", 200, "", "/", False),
        ("POST", 201, "Location: /", "/other", True),
        ("POST", 200, "Content-Location: http://testserver/", "/other", True),
        ("POST", 200, "Location: http://elsewhere/", "/other", False),
    ]:
        var bench = _Bench()
        bench.answer("Cache-Control: max-age=60")
        _ = bench.ask()
        bench.answer(row[2], status=row[1])
        var changed = bench.ask(method=row[0], path=row[3])
        assert_equal(_status(changed), "flare; fwd=method", row[0])
        bench.answer("Cache-Control: max-age=60")
        var is_hit = _status(bench.ask()) == "flare; hit"
        assert_equal(is_hit, not row[4], row[0])


def test_stale_if_error() raises:
    """5861-4."""
    var bench = _Bench()
    bench.answer("Cache-Control: max-age=0, stale-if-error=60")
    _ = bench.ask()
    bench.answer("", status=503, content="no")
    var stale = bench.ask()
    assert_equal(stale.text(), "content")
    assert_equal(_status(stale), "flare; fwd=stale; fwd-status=503")
    bench.answer("", status=404, content="no")
    assert_equal(bench.ask().status, 404, "no error of the server")
    bench.plan.lock()[].fails = True
    assert_equal(bench.ask().text(), "content")
    assert_equal(bench.store.stats().error_count, 2)
    with assert_raises(contains="the origin is down"):
        _ = bench.ask(path="/other")


def test_stale_while_revalidate() raises:
    """5861-3."""
    var bench = _Bench()
    bench.answer("Cache-Control: max-age=0, stale-while-revalidate=60")
    _ = bench.ask()
    bench.answer("Cache-Control: max-age=60", content="newer")
    var stale = bench.ask()
    assert_equal(stale.text(), "content")
    assert_equal(_status(stale), "flare; hit")
    var deadline = Deadline(5_000)
    while bench.store.stats().stored_count < 2:
        assert_true(deadline.left_ms() > 0, "nothing was fetched meanwhile")
    var newer = bench.ask()
    assert_equal(newer.text(), "newer")
    assert_equal(bench.asked(), 2)
    assert_equal(bench.store.stats().stale_count, 1)


def test_why_it_went_on_is_told_whatever_comes_back() raises:
    """9211-2.2: `request` where what is kept is fresh, and the request does not
    allow it."""
    comptime ASKED = StaticString("Cache-Control: no-cache")
    var bench = _Bench()
    bench.answer('Cache-Control: max-age=60, stale-if-error=60\nETag: "a"')
    _ = bench.ask()
    bench.answer('ETag: "a"', status=304)
    assert_equal(
        _status(bench.ask(ASKED)),
        "flare; fwd=request; fwd-status=304; stored",
    )
    bench.answer("", status=503)
    assert_equal(
        _status(bench.ask(ASKED)), "flare; fwd=request; fwd-status=503"
    )


def test_the_whole_is_fetched_while_a_stale_part_is_given() raises:
    """5861-3: what is fetched meanwhile takes the place of what is stale, which a
    part of it could not (9111-3.3)."""
    var bench = _Bench()
    bench.answer("Cache-Control: max-age=0, stale-while-revalidate=60")
    _ = bench.ask()
    bench.answer("Cache-Control: max-age=60", content="newer")
    assert_equal(bench.ask("Range: bytes=0-2\nIf-Range: x").text(), "content")
    assert_equal(bench.ask("Range: bytes=0-2").status, 206)
    var deadline = Deadline(5_000)
    while bench.store.stats().stored_count < 2:
        assert_true(deadline.left_ms() > 0, "nothing was fetched meanwhile")
    assert_equal(bench.ask("Range: bytes=0-2").text(), "new")
    assert_equal(bench.asked_for(), "GET")


def test_streams() raises:
    var bench = _Bench(CachePolicy(content_len_max=100))
    bench.answer("Cache-Control: max-age=60")
    bench.plan.lock()[].stream_len = 95
    assert_equal(bench.ask().text().byte_length(), 95)
    var kept = bench.ask()
    assert_equal(kept.text(), String("s") * 95)
    assert_equal(bench.asked(), 1)
    bench.plan.lock()[].stream_len = 101
    assert_equal(bench.ask(path="/long").text().byte_length(), 101)
    assert_equal(bench.ask(path="/long").text().byte_length(), 101)
    assert_equal(bench.asked(), 3, "too long to be kept")


def test_conditions_of_what_is_not_kept() raises:
    """RFC 9110 section 13.2.2: what the client has is not sent again, whether
    or not the cache has left its condition out."""
    comptime KNOWN = StaticString('If-None-Match:"a"')
    # Asked for by HEAD.
    var head = _Bench()
    head.answer('Cache-Control: max-age=60\nETag: "a"')
    assert_equal(head.ask(KNOWN, "HEAD").status, 304)
    assert_equal(head.ask('If-None-Match:"b"', "HEAD").status, 200)
    # A stream that is not kept; one that is has to pass.
    for is_kept in [False, True]:
        var bench = _Bench()
        bench.answer(
            String(
                'ETag: "a"\nCache-Control: ',
                "max-age=60" if is_kept else "no-store",
            )
        )
        bench.plan.lock()[].stream_len = 95
        assert_equal(bench.ask(KNOWN).status, 200 if is_kept else 304)
    # What came last was of no use: the origin may answer by itself.
    var useless = _Bench()
    useless.answer('ETag: "a"\nCache-Control: private')
    assert_equal(useless.ask(KNOWN).status, 304)
    assert_equal(useless.asked_for(), "GET")
    assert_equal(useless.ask('If-None-Match:"b"').text(), "content")
    assert_equal(useless.asked_for(), 'GET If-None-Match="b"')
    useless.answer('ETag: "a"\nCache-Control: private', status=304)
    assert_equal(useless.ask(KNOWN).status, 304)
    assert_equal(useless.asked_for(), 'GET If-None-Match="a"')


def test_broken_streams() raises:
    """3.3: what is not complete is not kept."""
    var bench = _Bench()
    bench.answer("Cache-Control: max-age=60")
    bench.plan.lock()[].stream_len = 25
    bench.plan.lock()[].fails = True
    with assert_raises(contains="the source breaks"):
        _ = bench.ask()
    bench.plan.lock()[].fails = False
    assert_equal(bench.ask().text().byte_length(), 25)
    assert_equal(bench.asked(), 2)
    _ = bench.ask()
    assert_equal(bench.asked(), 2)


def test_options() raises:
    """Each option of a policy changes something."""
    var timed = _Bench(CachePolicy(default_ttl_s=30, cache_name=""))
    timed.answer("")
    _ = timed.ask()
    assert_equal(_status(timed.ask()), "-", "no name, no field")
    assert_equal(timed.asked(), 1)
    var guessing = _Bench(CachePolicy(heuristic_percent=10, heuristic_max_s=7))
    guessing.answer("Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT")
    _ = guessing.ask()
    assert_true(_is_about(_ttl(guessing.ask()), 7))
    var lenient = _Bench(CachePolicy(stale_while_revalidate_s=60))
    lenient.answer('Cache-Control: max-age=0\nETag: "a"')
    _ = lenient.ask()
    assert_equal(_status(lenient.ask()), "flare; hit")
    var standing = _Bench(CachePolicy(stale_if_error_s=60))
    standing.answer('Cache-Control: max-age=0\nETag: "a"')
    _ = standing.ask()
    standing.answer("", status=500)
    assert_equal(standing.ask().status, 200)
    var cookies = _Bench(CachePolicy(keeps_cookies=True))
    cookies.answer("Cache-Control: max-age=60\nSet-Cookie: a=b")
    _ = cookies.ask()
    _ = cookies.ask()
    assert_equal(cookies.asked(), 1)
    var own = _Bench(CachePolicy(is_shared=False))
    own.answer("Cache-Control: private, max-age=60")
    _ = own.ask()
    _ = own.ask()
    assert_equal(own.asked(), 1)
    with assert_raises(contains="default_ttl_s"):
        _ = _Bench(CachePolicy(default_ttl_s=-1))


def test_purge() raises:
    var bench = _Bench()
    bench.answer('Cache-Control: max-age=60\nETag: "a"')
    _ = bench.ask()
    assert_equal(bench.store.invalidate("http://testserver/"), 1)
    bench.answer("", status=304)
    _ = bench.ask()
    assert_equal(bench.asked_for(), 'GET If-None-Match="a"')
    assert_equal(bench.store.purge("http://testserver/"), 1)
    bench.answer("Cache-Control: max-age=60")
    assert_equal(_status(bench.ask()), "flare; fwd=uri-miss; stored")


def test_figures() raises:
    var bench = _Bench()
    bench.answer("Cache-Control: max-age=60")
    _ = bench.ask()
    _ = bench.ask()
    var text = String()
    CacheMetrics(bench.store).write_metrics(text)
    for line in [
        'http_cache_requests_total{outcome="hit"} 1\n',
        'http_cache_requests_total{outcome="miss"} 1\n',
        'http_cache_responses_total{fate="stored"} 1\n',
        "http_cache_entries 1\n",
    ]:
        assert_true(line in text, line)


def test_requests_with_content_pass_by() raises:
    var bench = _Bench()
    bench.answer("Cache-Control: max-age=60")
    _ = bench.ask()
    var request = ClientRequest("GET", "/")
    request.set_header("Content-Length", "0")
    assert_equal(_status(bench.client.send(request^)), "flare; fwd=bypass")
    assert_equal(bench.asked(), 2)
