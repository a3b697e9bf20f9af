"""Forms and queries (URL Standard section 5)."""

from flare.http.message.form import (
    FORM_PAIR_COUNT_MAX,
    FormData,
    find_query_value,
)
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.guard_page import GuardedBytes


@fieldwise_init
struct _Row(Copyable, Movable):
    """A form, and how it is written back."""

    var rule: StaticString
    var text: StaticString
    var written: StaticString


def test_form_reads_and_writes_back() raises:
    var rows: List[_Row] = [
        _Row("5.1 empty", "", ""),
        _Row("5.1 pairs", "a=1&b=2", "a=1&b=2"),
        _Row("5.1 no value", "a&b=", "a=&b="),
        _Row("5.1 no name", "=1", "=1"),
        _Row("5.1 nothing between", "&&a=1&&", "a=1"),
        _Row("5.1 the first = counts", "a=b=c", "a=b%3Dc"),
        _Row("5.1 plus is a space", "a+b=c+d", "a+b=c+d"),
        _Row("5.1 escapes", "%61=%2B%26", "a=%2B%26"),
        _Row("5.1 broken escapes", "a=%zz%4", "a=%25zz%254"),
        _Row("5.1 no UTF-8", "a=%ff", "a=%EF%BF%BD"),
        _Row("5.1 names twice", "a=1&a=2", "a=1&a=2"),
        _Row("5.2 set", "a=*-._~!'()", "a=*-._%7E%21%27%28%29"),
    ]
    for row in rows:
        var form = FormData.parse(row.text)
        assert_equal(String(form), row.written, row.rule)
        assert_equal(FormData.parse(String(form)), form, row.rule)


def test_form_finds_fields() raises:
    var form = FormData.parse("a=1&b=%202&a=3&c")
    assert_equal(len(form), 4)
    assert_equal(form.get("a").value(), "1")
    assert_equal(form.get("b").value(), " 2")
    assert_equal(form.get("c").value(), "")
    assert_false(Bool(form.get("d")))
    assert_equal(form.get_all("a"), [String("1"), String("3")])
    assert_equal(len(form.get_all("d")), 0)


def test_form_escapes_what_is_added() raises:
    var form = FormData()
    form.add("a&b", "c=d e\r\n")
    form.add("ü", "")
    assert_equal(String(form), "a%26b=c%3Dd+e%0D%0A&%C3%BC=")
    assert_equal(FormData.parse(String(form)), form)


def test_form_has_a_limit() raises:
    var full = "a&" * FORM_PAIR_COUNT_MAX
    assert_equal(len(FormData.parse(full)), FORM_PAIR_COUNT_MAX)
    var is_refused = False
    try:
        _ = FormData.parse(String(full, "a"))
    except error:
        is_refused = True
        assert_equal(error.offset, 2 * FORM_PAIR_COUNT_MAX)
    assert_true(is_refused)


def test_query_values_are_found_without_a_form() raises:
    comptime QUERY = StaticString("a=1&b+c=%32&%64=x&a=2&e&f=%zz&=n")
    var query = QUERY.as_bytes()
    assert_equal(find_query_value(query, "a").value(), "1")
    assert_equal(find_query_value(query, "b c").value(), "2")
    assert_equal(find_query_value(query, "d").value(), "x")
    assert_equal(find_query_value(query, "e").value(), "")
    assert_equal(find_query_value(query, "f").value(), "%zz")
    assert_equal(find_query_value(query, "").value(), "n")
    assert_false(Bool(find_query_value(query, "ab")))
    assert_false(Bool(find_query_value(query, "b")))


def test_form_reads_nothing_behind_the_text() raises:
    comptime TEXT = StaticString("a=%41&b+=%4&%&c")
    for length in range(TEXT.byte_length() + 1):
        var text = TEXT.as_bytes()[0:length]
        var guarded = GuardedBytes(text)
        assert_equal(
            String(FormData.parse(guarded.span())), String(FormData.parse(text))
        )
        assert_equal(
            Bool(find_query_value(guarded.span(), "c")),
            length == TEXT.byte_length(),
        )
        _ = guarded^
