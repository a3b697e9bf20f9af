"""Priorities of RFC 9218, and the abuse budget."""

from flare.http.h2.priority import AbuseBudget, AbuseLimits, Priority
from tests.support.assertions import assert_equal, assert_false, assert_true


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var value: StaticString
    var urgency: Int
    var is_incremental: Bool


def test_priority_fields() raises:
    var rows: List[_Row] = [
        _Row("9218-4 nothing", "", 3, False),
        _Row("9218-4.1 urgency", "u=0", 0, False),
        _Row("9218-4.1 the lowest", "u=7", 7, False),
        _Row("9218-4.1 out of range", "u=8", 3, False),
        _Row("9218-4.1 negative", "u=-1", 3, False),
        _Row("9218-4.1 no number", "u=?1", 3, False),
        _Row("9218-4.2 incremental", "i", 3, True),
        _Row("8941-3.2 a boolean", "i=?1", 3, True),
        _Row("8941-3.2 not", "i=?0", 3, False),
        _Row("8941-3.2 the last counts", "i,i=?0,u=1,u=2", 2, False),
        _Row("8941-3.2 also if it is of no use", "u=1, u=9, i, i=1", 3, False),
        _Row("8941-3.3.1 zeros before", "u=05", 5, False),
        _Row("8941-3.3.1 a sign before 0", "u=-0", 0, False),
        _Row("8941-3.3.2 a decimal", "u=1.0, i", 3, True),
        _Row("8941-3.3.3 a comma in a text", 'u=5, x="a,u=0,\\"i"', 5, False),
        _Row("8941-3.3.4 a token", "u=2, x=*a/b:c, i", 2, True),
        _Row("8941-3.3.5 octets", "u=2, x=:YWI=:;y, i", 2, True),
        _Row("8941-3.1.1 a list", 'u=2, x=(1 "a,b";c  d );e, i', 2, True),
        _Row("8941-3.1.1 an empty list", "u=(), i", 3, True),
        _Row("8941-3.2 white space", " u=5 ,\ti", 5, True),
        _Row("8941-3.1.2 parameters are skipped", "u=5;x=1, i;y", 5, True),
        _Row("9218-4 unknown members", "a=1, u=2, bb", 2, False),
        _Row("9218-4 names that begin alike", "u1=1, ii, *u=2", 3, False),
    ]
    for row in rows:
        var priority = Priority.parse(row.value.as_bytes())
        assert_equal(Int(priority.urgency), row.urgency, row.rule)
        assert_equal(priority.is_incremental, row.is_incremental, row.rule)


def test_malformed_fields_are_ignored_whole() raises:
    # 8941-4.2: what does not parse counts as if it had not been sent.
    var values: List[StaticString] = [
        ",,;,=",
        "u=1, i,",
        "u=1,, i",
        "u=1 i",
        "u=1, U=2",
        "u=1, i=?2",
        "u=1, i=?",
        "u=1, i=",
        "u=1, i;",
        "u=1, i;A",
        "u=1, i;a=",
        "u=1, 1",
        "u=1, x=(1",
        "u=1, x=(1,2)",
        "u=1, x=(1)2",
        'u=1, x="a',
        'u=1, x="a\\b"',
        'u=1, x="\t"',
        'u=1, x="a\\',
        "u=1, x=:a",
        "u=1, x=:_:",
        "u=1, x=-",
        "u=1, x=1.",
        "u=1, x=1.2345",
        "u=1, x=1234567890123.5",
        "u=1, x=1234567890123456",
        "u=1, x=@1",
        "u=1, x=ä",
        "\tu=1",
        "u=1;\ta",
    ]
    for value in values:
        var priority = Priority.parse(value.as_bytes())
        assert_true(priority == Priority(), value)


def test_the_budget_refills() raises:
    var budget = AbuseBudget(AbuseLimits(2, 10), 1_000)
    assert_true(budget.spend(1_000))
    assert_true(budget.spend(1_000))
    assert_false(budget.spend(1_000))
    # A token is there after 100 ms, also when it was asked for in between.
    assert_false(budget.spend(1_050))
    assert_false(budget.spend(1_099))
    assert_true(budget.spend(1_100))
    assert_false(budget.spend(1_100))
    # Never more than the bucket holds.
    for _ in range(2):
        assert_true(budget.spend(100_000))
    assert_false(budget.spend(100_000))
