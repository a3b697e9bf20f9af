"""Requests that are sent again: which are carried out, and who gets what
(draft-ietf-httpapi-idempotency-key-header)."""

from flare.bytes.buffer import Buffer
from flare.http.client.message.request import ClientRequest
from flare.http.message.body import Body, BodySource, Poll
from flare.http.message.extensions import ExtensionScope
from flare.http.message.owned_request import OwnedRequest
from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.message.trailers import Trailers
from flare.http.middleware.idempotency import (
    Idempotency,
    IdempotencyConfig,
    read_answer,
    write_answer,
)
from flare.http.middleware.idempotency_store import (
    AnswerTable,
    IdempotencyStore,
    KeyClaim,
    KeyRecord,
    KeyState,
    LocalIdempotency,
)
from flare.http.handler.state import State
from flare.http.handler.handler import Handler, HeadOnly, RequestPolicy
from flare.testing.test_client import TestClient
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)


@fieldwise_init
struct _Orders(Copyable, Handler):
    """Counts what it carries out; answers with the status of `?status`."""

    var count: State[Int]

    def serve(self, req: Request) raises -> Response:
        var count = self.count.lock()
        count[] += 1
        var status = req.query_param("status")
        if status == "raise":
            raise Error("no luck")
        var response = ok(String("order ", count[]))
        if status != "":
            response.status = Int(status)
        response.headers.append("Set-Cookie", "a=1")
        response.headers.append("Set-Cookie", "b=2")
        return response^


def _post(
    key: StringSpan, url: StringSpan = "/orders", content: StringSpan = "{}"
) raises -> ClientRequest:
    var request = ClientRequest("POST", String(url))
    request.set_header("Idempotency-Key", key)
    request.body = String(content)
    return request^


def _client(
    count: State[Int], var config: IdempotencyConfig
) raises -> TestClient:
    return TestClient(Idempotency(_Orders(count), LocalIdempotency(), config^))


def test_a_repeated_request_is_carried_out_once() raises:
    var count = State(0)
    var client = _client(count, IdempotencyConfig())
    var first = client.send(_post("k-1"))
    assert_equal(first.text(), "order 1")
    assert_false("idempotent-replayed" in first.headers)
    for _ in range(3):
        var again = client.send(_post("k-1"))
        assert_equal(again.status.code, 200)
        assert_equal(again.text(), "order 1")
        assert_equal(again.headers["idempotent-replayed"], "true")
        var cookies = String()
        for index in range(len(again.headers)):
            if again.headers.name(index).lower() == "set-cookie":
                cookies.write(again.headers.value(index), ";")
        assert_equal(cookies, "a=1;b=2;")
    assert_equal(client.send(_post("k-2")).text(), "order 2")
    assert_equal(count.lock()[], 2)


def test_an_answer_of_more_than_half_of_the_room_is_not_kept() raises:
    """`LocalIdempotency`: it is known that the request was carried out, though."""
    var count = State(0)
    var rows: List[Tuple[Int, Int]] = [
        (4_000, 200),
        (20, 409),
        (1, 409),
        (0, 409),
        (-1, 409),
        (Int.MAX, 200),
    ]
    for row in rows:
        var client = TestClient(
            Idempotency(_Orders(count), LocalIdempotency(octets_max=row[0]))
        )
        assert_equal(client.send(_post("k-1")).status.code, 200)
        assert_equal(
            client.send(_post("k-1")).status.code, row[1], String(row[0])
        )


def test_answers_may_be_kept_for_ever() raises:
    var count = State(0)
    var client = _client(
        count, IdempotencyConfig(keep_s=Int.MAX, lock_s=Int.MAX)
    )
    _ = client.send(_post("k"))
    assert_equal(client.send(_post("k")).text(), "order 1")


def test_who_needs_a_key() raises:
    var count = State(0)
    var client = _client(count, IdempotencyConfig(is_required=True))
    assert_equal(client.get("/orders").status.code, 200)
    var bare = ClientRequest("PATCH", "/orders")
    assert_equal(client.send(bare^).status.code, 400)
    var delete = ClientRequest("DELETE", "/orders")
    assert_equal(client.send(delete^).status.code, 200)
    assert_equal(count.lock()[], 2)
    var easy = _client(count, IdempotencyConfig())
    for _ in range(2):
        var without = ClientRequest("POST", "/orders")
        assert_equal(easy.send(without^).status.code, 200)
    assert_equal(count.lock()[], 4)


def test_a_request_without_its_content_takes_no_key() raises:
    # Section 2.4 of the draft: the fingerprint is of the request's content,
    # which is not there where a guard refuses by the head.
    var count = State(0)
    var handler = Idempotency(_Orders(count), LocalIdempotency())
    var request = OwnedRequest("POST", "/orders?status=401")
    request.add_header("Idempotency-Key", "k-1")
    var req = request.view()
    var note = HeadOnly()
    var scope = ExtensionScope(req.extensions(), note)
    assert_equal(handler.serve(req).status.code, 401)
    scope^.end()
    var whole = OwnedRequest("POST", "/orders?status=401")
    whole.add_header("Idempotency-Key", "k-1")
    whole.body.extend("{}".as_bytes())
    assert_equal(handler.serve(whole.view()).text(), "order 2")
    assert_equal(handler.serve(whole.view()).text(), "order 2")


@fieldwise_init
struct _Streams(Handler):
    """Reads content while it arrives."""

    def serve(self, req: Request) raises -> Response:
        return ok(String(len(req.body)))

    def policy_for(self, req: Request) -> RequestPolicy:
        return RequestPolicy(streams=True, defers=True)


def test_content_that_is_compared_is_waited_for() raises:
    # Section 2.4 of the draft: the fingerprint is of the request's content.
    var handler = Idempotency(_Streams(), LocalIdempotency())
    var rows: List[Tuple[String, String, Bool]] = [
        ("POST", "k-1", False),
        ("PATCH", "k-1", False),
        ("POST", "", True),
        ("PUT", "k-1", True),
    ]
    for row in rows:
        var request = OwnedRequest(row[0], "/orders")
        if row[1] != "":
            request.add_header("Idempotency-Key", row[1])
        var policy = handler.policy_for(request.view())
        assert_equal(policy.streams, row[2], row[0])
        assert_true(policy.defers)


def test_keys_that_are_taken() raises:
    var rows: List[Tuple[String, Int]] = [
        ('"8e03978e-40d5-43e8-bc93-6894a57f9324"', 200),
        ("8e03978e-40d5-43e8-bc93-6894a57f9324", 200),
        ("x" * 255, 200),
        ("x" * 256, 400),
        ("", 400),
        ('""', 400),
        ("a b", 400),
        ('"a', 400),
        ('a\\"b', 400),
        ("caf\u00e9", 400),
    ]
    for row in rows:
        var client = _client(State(0), IdempotencyConfig())
        var response = client.send(_post(row[0]))
        assert_equal(response.status.code, row[1], row[0])
    # With quotes or without, it is the same key.
    var count = State(0)
    var client = _client(count, IdempotencyConfig())
    _ = client.send(_post('"k"'))
    assert_equal(client.send(_post("k")).text(), "order 1")
    var twice = _post("k")
    twice.headers.append("Idempotency-Key", "k")
    assert_equal(client.send(twice^).status.code, 400)


def test_a_key_is_for_one_request() raises:
    var client = _client(State(0), IdempotencyConfig())
    _ = client.send(_post("k"))
    assert_equal(client.send(_post("k", "/orders?x=1")).status.code, 422)
    assert_equal(client.send(_post("k", "/orders", "[]")).status.code, 422)
    var typed = _post("k")
    typed.set_header("Content-Type", "text/x-other")
    assert_equal(client.send(typed^).status.code, 422)
    var patch = ClientRequest("PATCH", "/orders")
    patch.set_header("Idempotency-Key", "k")
    patch.body = "{}"
    assert_equal(client.send(patch^).status.code, 422)
    assert_equal(client.send(_post("k")).text(), "order 1")


def test_keys_of_others_are_other_keys() raises:
    var count = State(0)
    var client = _client(count, IdempotencyConfig())
    for user in ["Bearer a", "Bearer b"]:
        var request = _post("k")
        request.set_header("Authorization", user)
        _ = client.send(request^)
    assert_equal(count.lock()[], 2)


def test_what_decides_nothing() raises:
    var rows: List[Tuple[String, Int]] = [
        ("200", 1),
        ("201", 1),
        ("303", 1),
        ("400", 1),
        ("404", 1),
        # RFC 9110 sections 15.5.9 and 15.5.20, RFC 8470 section 5.2: nothing was
        # done, and the client may send the same again.
        ("408", 2),
        ("421", 2),
        ("425", 2),
        ("429", 2),
        ("500", 2),
        ("503", 2),
    ]
    for row in rows:
        var count = State(0)
        var client = _client(count, IdempotencyConfig())
        for _ in range(2):
            var url = "/orders?status=" + row[0]
            var response = client.send(_post("k", url))
            assert_equal(response.status.code, Int(row[0]))
        assert_equal(count.lock()[], row[1], row[0])
    var count = State(0)
    var client = _client(count, IdempotencyConfig())
    for _ in range(2):
        with assert_raises(contains="no luck"):
            _ = client.send(_post("k", "/orders?status=raise"))
    assert_equal(count.lock()[], 2)


def test_answers_that_are_not_kept() raises:
    var count = State(0)
    var client = _client(count, IdempotencyConfig(max_response_size=6))
    assert_equal(client.send(_post("k")).text(), "order 1")
    var again = client.send(_post("k"))
    assert_equal(again.status.code, 409)
    assert_true("was carried out" in again.text())
    assert_equal(count.lock()[], 1)


struct _Pieces(BodySource):
    """`order N` in three pieces; what follows says its way."""

    var number: Int
    var way: String
    var count: Int

    def __init__(out self, number: Int, var way: String):
        self.number = number
        self.way = way^
        self.count = 0

    def fill(mut self, mut out: Buffer) raises -> Poll:
        self.count += 1
        if self.count == 1:
            out.append("order ".as_bytes())
            return Poll.READY
        if self.way == "breaks":
            raise Error("no luck")
        if self.count == 2:
            out.write(self.number)
            return Poll.READY
        return Poll.DONE

    def trailers(mut self) raises -> Trailers:
        var trailers = Trailers()
        if self.way == "trailers":
            trailers.append("X-Sum", "7")
        return trailers^

    def is_endless(self) -> Bool:
        return self.way == "endless"


@fieldwise_init
struct _Streamed(Handler):
    """Counts what it carries out, and answers piece by piece."""

    var count: State[Int]

    def serve(self, req: Request) raises -> Response:
        var count = self.count.lock()
        count[] += 1
        var response = ok("")
        response.headers.append("X-One", "1")
        var length = Optional[Int](None)
        if req.query_param("way") == "sized":
            length = 7
        elif req.query_param("way") == "short":
            length = 8
        response.body = Body(
            _Pieces(count[], String(req.query_param("way"))), length=length
        )
        return response^


@fieldwise_init
struct _Piecewise(Copyable, Movable):
    var way: String
    var size_max: Int
    var is_kept: Bool


def test_answers_that_come_in_pieces() raises:
    """They are kept when all of them was made, as others are."""
    for row in [
        _Piecewise("plain", 7, True),
        _Piecewise("sized", 7, True),
        _Piecewise("plain", 6, False),
        _Piecewise("sized", 6, False),
        _Piecewise("trailers", 7, False),
        _Piecewise("endless", 7, False),
        _Piecewise("breaks", 7, False),
        _Piecewise("short", 8, False),
    ]:
        var count = State(0)
        var config = IdempotencyConfig(max_response_size=row.size_max)
        var client = TestClient(
            Idempotency(_Streamed(count), LocalIdempotency(), config^)
        )
        var url = String("/?way=", row.way)
        try:
            assert_equal(client.send(_post("k", url)).text(), "order 1")
        except error:
            assert_equal(row.way, "breaks", String(error))
        var again = client.send(_post("k", url))
        assert_equal(again.status.code, 200 if row.is_kept else 409, row.way)
        if row.is_kept:
            assert_equal(again.text(), "order 1")
            assert_equal(again.headers["x-one"], "1")
            assert_equal(again.headers["idempotent-replayed"], "true")
        assert_equal(count.lock()[], 1)


def _asked(handler: Idempotency[_Streamed], key: StringSpan) raises -> Response:
    var request = OwnedRequest("POST", "/")
    request.add_header("Idempotency-Key", key)
    return handler.serve(request.view())


def test_copies_of_answers_under_way_are_bounded() raises:
    """`IdempotencyConfig.max_response_size`: 64 times as much in all."""
    var handler = Idempotency(
        _Streamed(State(0)),
        LocalIdempotency(),
        IdempotencyConfig(max_response_size=8),
    )
    var responses = List[Response]()
    var out = Buffer(0)
    for number in range(80):
        var response = _asked(handler, String("k", number))
        for _ in range(2):
            _ = response.body.stream()[].fill(out)
        responses.append(response^)
    for index in range(80):
        var poll = responses[index].body.stream()[].fill(out)
        assert_true(poll == Poll.DONE)
    responses.clear()
    assert_equal(_asked(handler, "k0").status.code, 200, "the first")
    assert_equal(_asked(handler, "k79").status.code, 409, "the last")
    # Where others have ended there is room again.
    var response = _asked(handler, "new")
    while response.body.stream()[].fill(out) != Poll.DONE:
        pass
    assert_equal(_asked(handler, "new").text(), "order 81")


struct _Seen(Movable):
    var record: KeyState
    var is_away: Bool
    var told: String
    var owner: String

    def __init__(out self):
        self.record = KeyState.NEW
        self.owner = String()
        self.is_away = False
        self.told = String()


@fieldwise_init
struct _Store(IdempotencyStore):
    """Says what it is told to, and notes what it is asked."""

    var seen: State[_Seen]

    def begin(self, claim: KeyClaim, lock_ms: Int) raises -> KeyRecord:
        var seen = self.seen.lock()
        if seen[].is_away:
            raise Error("no route to it")
        assert_equal(claim.key.byte_length(), 43)
        assert_true(claim.owner != seen[].owner)
        seen[].owner = claim.owner
        seen[].told += String("begin ", lock_ms, ";")
        return KeyRecord(seen[].record, [])

    def finish(self, claim: KeyClaim, answer: List[UInt8], keep_ms: Int) raises:
        assert_equal(claim.owner, self.seen.lock()[].owner)
        self.seen.lock()[].told += String("finish ", keep_ms, ";")

    def forget(self, claim: KeyClaim) raises:
        assert_equal(claim.owner, self.seen.lock()[].owner)
        self.seen.lock()[].told += "forget;"


def test_times_are_those_of_the_configuration() raises:
    var seen = State(_Seen())
    var config = IdempotencyConfig(keep_s=7, lock_s=3)
    var client = TestClient(
        Idempotency(_Orders(State(0)), _Store(seen), config^)
    )
    _ = client.send(_post("k"))
    _ = client.send(_post("k", "/?status=503"))
    assert_equal(
        seen.lock()[].told, "begin 3000;finish 7000;begin 3000;forget;"
    )


def test_one_that_is_under_way() raises:
    var seen = State(_Seen())
    seen.lock()[].record = KeyState.BUSY
    var client = TestClient(Idempotency(_Orders(State(0)), _Store(seen)))
    var response = client.send(_post("k"))
    assert_equal(response.status.code, 409)
    assert_equal(response.headers["retry-after"], "1")


def test_a_store_that_is_away() raises:
    for goes_without in [False, True]:
        var seen = State(_Seen())
        seen.lock()[].is_away = True
        var config = IdempotencyConfig(goes_without=goes_without)
        var client = TestClient(
            Idempotency(_Orders(State(0)), _Store(seen), config^)
        )
        var response = client.send(_post("k"))
        assert_equal(response.status.code, 200 if goes_without else 503)
        assert_equal(seen.lock()[].told, "")


def test_ranges() raises:
    with assert_raises(contains="keep_s is 0"):
        _ = IdempotencyConfig(keep_s=0)
    with assert_raises(contains="lock_s 0"):
        _ = IdempotencyConfig(lock_s=0)
    with assert_raises(contains="max_response_size -1"):
        _ = IdempotencyConfig(max_response_size=-1)


def test_answers_are_read_as_written() raises:
    var response = Response(201, "line one\n\nline: two\n")
    response.headers.set("Location", "/orders/7")
    response.headers.set("X-Colon", "a:b: c")
    response.headers.set("X-Empty", "")
    var octets = write_answer(response)
    var read = read_answer(octets)
    assert_equal(read.status.code, 201)
    assert_equal(read.text(), "line one\n\nline: two\n")
    assert_equal(len(read.headers), 3)
    assert_equal(read.headers["x-colon"], "a:b: c")
    assert_equal(read.headers["x-empty"], "")
    # What a store has lost a part of is no answer, or the same with less
    # content; never a crash.
    var head_len = len(octets) - len(response.body)
    for length in range(head_len):
        with assert_raises():
            _ = read_answer(Span(octets)[:length])
    for wrong in [
        "",
        "abc\n\n",
        "99\n\n",
        "200\nno colon\n\n",
        "200\na b:c\n\n",
    ]:
        with assert_raises():
            _ = read_answer(wrong.as_bytes())


def _claim(
    key: String, fingerprint: String = "p", owner: String = "a"
) -> KeyClaim:
    return KeyClaim(key, fingerprint, owner)


def test_table() raises:
    # Section 2.6 of the draft: keys end.
    var table = AnswerTable(1_000, 8)
    assert_true(table.begin(_claim("k", "p"), 60, 0).state == KeyState.NEW)
    assert_true(table.begin(_claim("k", "p"), 61, 1).state == KeyState.BUSY)
    assert_true(table.begin(_claim("k", "q"), 61, 1).state == KeyState.OTHER)
    # Whoever held it is lost.
    assert_true(table.begin(_claim("k", "p"), 120, 60).state == KeyState.NEW)
    table.finish(_claim("k"), [1, 2, 3], 1_000, 61)
    var known = table.begin(_claim("k"), 999, 999)
    assert_true(known.state == KeyState.DONE)
    assert_equal(len(known.answer), 3)
    assert_true(
        table.begin(_claim("k", "p"), 2_000, 1_000).state == KeyState.NEW
    )
    table.forget(_claim("k"), 1_000)
    assert_true(
        table.begin(_claim("k", "q"), 2_000, 1_000).state == KeyState.NEW
    )


def test_a_key_is_let_go_by_who_holds_it_alone() raises:
    var table = AnswerTable(1_000, 8)
    var slow = _claim("k", owner="slow")
    var next = _claim("k", owner="next")
    assert_true(table.begin(slow, 60, 0).state == KeyState.NEW)
    assert_true(table.begin(next, 160, 60).state == KeyState.NEW)
    # What the slow one says comes too late.
    table.forget(slow, 70)
    assert_true(table.begin(slow, 170, 70).state == KeyState.BUSY)
    table.finish(slow, [1], 1_000, 80)
    assert_true(table.begin(slow, 180, 80).state == KeyState.BUSY)
    table.finish(next, [1, 2], 1_000, 90)
    table.finish(slow, [1], 1_000, 100)
    assert_equal(len(table.begin(slow, 200, 100).answer), 2)
    # Nobody has taken it meanwhile: it is better known than done twice.
    var late = _claim("l", owner="late")
    assert_true(table.begin(late, 60, 0).state == KeyState.NEW)
    table.finish(late, [1], 1_000, 70)
    assert_true(table.begin(late, 170, 80).state == KeyState.DONE)


def test_memory_is_bounded() raises:
    var table = AnswerTable(1_000, 8)
    for index in range(100):
        var key = String("k", index)
        _ = table.begin(_claim(key), 1_000, 0)
        table.finish(_claim(key), List[UInt8](length=100, fill=7), 1_000, 0)
        assert_true(len(table) <= 8)
        # The last ones are there.
        assert_true(table.begin(_claim(key), 1_000, 1).state == KeyState.DONE)
    assert_true(table.begin(_claim("k0"), 1_000, 1).state == KeyState.NEW)
    var small = AnswerTable(1_000, 1_000)
    for index in range(100):
        var key = String("k", index)
        small.finish(_claim(key), List[UInt8](length=100, fill=7), 1_000, 0)
        assert_true(len(small) <= 10)
