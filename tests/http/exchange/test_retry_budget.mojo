"""How many repetitions there may be: a bucket, and a share of a window."""

from flare.http.exchange.retry_rules import RESERVE_MAX, RetryBudget
from tests.support.assertions import assert_equal, assert_false, assert_true


def test_a_budget_bounds_the_share() raises:
    var budget = RetryBudget(20, 3)
    var same = budget
    for _ in range(3):
        assert_true(budget.take())
    assert_false(same.take())
    # Four requests bring less than one repetition, five bring one.
    for _ in range(4):
        same.note_request()
    assert_false(budget.take())
    budget.note_request()
    assert_equal(budget.left(), 1)
    assert_true(same.take() and not budget.take())
    # It never holds more than it began with.
    for _ in range(1_000):
        budget.note_request()
    assert_equal(budget.left(), 3)
    var none = RetryBudget(0, 0)
    none.note_request()
    assert_false(none.take())


@fieldwise_init
struct _Row(Copyable, Movable):
    """Steps, with a blank between them: `r5` for so many requests, `t5` for so
    many repetitions that there are, `x` for one that there is not, `@900` for
    the time."""

    var rule: StaticString
    var budget: RetryBudget
    var steps: StaticString


def _window(share: Int, least: Int) -> RetryBudget:
    return RetryBudget.in_window(share, least, 1_000, 0)


def _number(text: String) raises -> Int:
    return 1 if text.byte_length() == 0 else Int(text)


def _run(row: _Row) raises -> Int:
    """Does the steps; gives how many there were."""
    var now_ms = 0
    var steps = String(row.steps).split(" ")
    for index in range(len(steps)):
        var step = String(steps[index])
        var place = String(row.rule, ": step ", index, ", ", step)
        if step.startswith("@"):
            now_ms = Int(String(step.removeprefix("@")))
        elif step.startswith("r"):
            for _ in range(_number(String(step.removeprefix("r")))):
                row.budget.note_request(now_ms)
        elif step.startswith("t"):
            for _ in range(_number(String(step.removeprefix("t")))):
                assert_true(row.budget.has_left(now_ms), place)
                assert_true(row.budget.take(now_ms), place)
        else:
            assert_equal(step, "x", place)
            assert_false(row.budget.has_left(now_ms), place)
            assert_false(row.budget.take(now_ms), place)
    return len(steps)


def test_step_by_step() raises:
    var rows: List[_Row] = [
        _Row("the default", RetryBudget(), "t10 x r5 t x r4 x r t x"),
        _Row("nothing at all", RetryBudget(0, 0), "x r100 x @9000 x"),
        _Row("a reserve alone", RetryBudget(0, 2), "t t x r1000 x"),
        _Row("a share of none", RetryBudget(100, 0), "r5 x"),
        _Row("no more than its reserve", RetryBudget(20, 3), "r1000 t3 x"),
        _Row("each request one", RetryBudget(100, 2), "t2 x r t x r2 t2 x"),
        _Row("more than it holds", RetryBudget(100, 2), "t2 r3 t2 x"),
        _Row("parts add up", RetryBudget(30, 5), "t5 r3 x r t x r3 t x"),
        _Row("nor a part more", RetryBudget(30, 1), "t r4 t r3 x r t x"),
        _Row("one in a hundred", RetryBudget(1, 1), "t r99 x r t x"),
        _Row("no time passes in it", RetryBudget(0, 1), "t @1000000 x"),
        _Row("the first ones are free", _window(20, 3), "t3 x"),
        _Row("none is", _window(20, 0), "x r4 x r t x"),
        _Row("nor any share", _window(0, 0), "r100 x"),
        _Row("no share", _window(0, 2), "r100 t2 x r100 x"),
        _Row("the free ones are of the share", _window(10, 2), "t2 r50 t3 x"),
        _Row("requests before them", _window(10, 2), "r50 t5 x"),
        _Row("fewer than the free ones", _window(10, 2), "r10 t2 x"),
        _Row("as many", _window(10, 2), "r20 t2 x r9 x r t x"),
        _Row("all of them", _window(100, 0), "r3 t3 x"),
        _Row("nothing bounds what is saved", _window(20, 1), "r500 t100 x"),
        _Row("the window before counts", _window(0, 2), "t2 @1000 x @1999 x"),
        _Row(
            "and the one before that does not",
            _window(0, 2),
            "t2 @1000 x @2000 t2 x",
        ),
        _Row(
            "after a long time nothing counts", _window(0, 2), "t2 @4000 t2 x"
        ),
        _Row(
            "nor requests", _window(10, 0), "r50 @999 t @1000 t @2000 x @4000 x"
        ),
        _Row(
            "requests of both windows",
            _window(50, 0),
            "r4 @1000 r4 t4 x @2000 x r4 @2100 x",
        ),
        _Row(
            "a window begins with what happens",
            _window(0, 1),
            "@1500 t @2499 x @2500 x @3499 x @3500 t",
        ),
        _Row(
            "what the free ones had goes with its window",
            _window(10, 1),
            "t @1000 r10 x @2000 r10 t2 x",
        ),
        _Row("a window that was empty", _window(50, 0), "r8 @1000 @2000 x"),
    ]
    var count = 0
    for row in rows:
        count += _run(row)
    assert_true(count >= 100)


struct _Model:
    """What happened, in two windows that are counted again each time."""

    var requests: List[Int]
    var retries: List[Int]
    var number: Int
    var start_ms: Int

    def __init__(out self):
        self.requests = []
        self.retries = []
        self.number = 1
        self.start_ms = 0

    def turn(mut self, now_ms: Int):
        var elapsed_ms = now_ms - self.start_ms
        if elapsed_ms >= 1_000:
            self.number += 1 if elapsed_ms < 2_000 else 2
            self.start_ms = now_ms

    def may(self, share: Int, least: Int) -> Bool:
        var request_count = 0
        var retry_count = 0
        for number in self.requests:
            request_count += Int(number >= self.number - 1)
        for number in self.retries:
            retry_count += Int(number >= self.number - 1)
        return retry_count < max(least, request_count * share // 100)


def test_walks_beside_a_model() raises:
    """In a window: the free ones, or the share of the requests, if that is
    more."""
    var random = UInt32(7)
    for walk in range(60):
        var share = [0, 1, 10, 20, 33, 50, 100][walk % 7]
        var least = walk % 4
        var budget = _window(share, least)
        var model = _Model()
        var now_ms = 0
        for _ in range(150):
            random = random * 1_664_525 + 1_013_904_223
            var drawn = Int(random >> 8)
            if drawn % 8 == 0:
                now_ms += [1, 300, 999, 1_000, 2_500][(drawn >> 4) % 5]
            model.turn(now_ms)
            if drawn % 3 > 0:
                budget.note_request(now_ms)
                model.requests.append(model.number)
                continue
            var may = model.may(share, least)
            assert_equal(budget.take(now_ms), may)
            if may:
                model.retries.append(model.number)


def test_a_bucket_keeps_to_its_promise() raises:
    """Of N requests in turn at most the reserve and the share are repeated."""
    var random = UInt32(11)
    for walk in range(40):
        var share = [0, 7, 20, 33, 100][walk % 5]
        var reserve = walk % 6
        var budget = RetryBudget(share, reserve)
        var level = reserve * 100
        for _ in range(200):
            random = random * 1_664_525 + 1_013_904_223
            if (random >> 9) % 3 > 0:
                budget.note_request()
                level = min(level + share, reserve * 100)
            else:
                assert_equal(budget.take(), level >= 100)
                level -= 100 if level >= 100 else 0
            assert_equal(budget.left(), level // 100)


def test_numbers_that_cannot_work() raises:
    assert_equal(RetryBudget().problem(), "")
    assert_equal(RetryBudget(0, 0).problem(), "")
    assert_equal(RetryBudget(100, RESERVE_MAX).problem(), "")
    for share in [-1, 101]:
        assert_true("share" in RetryBudget(share).problem())
    for reserve in [-1, RESERVE_MAX + 1]:
        assert_true("reserve" in RetryBudget(1, reserve).problem())
