"""Entity tags and conditional requests (RFC 9110 sections 8.8.3 and 13)."""

from flare.http.conditional.conditional import (
    EntityTag,
    Precondition,
    TagListMatch,
    Validators,
    evaluate_preconditions,
    match_tag_list,
    range_applies,
)
from flare.http.message.method import Method
from flare.http.message.owned_request import OwnedRequest
from tests.support.assertions import assert_equal, assert_false, assert_true

comptime _NOW_S = 800_000_000
comptime _MODIFIED_S = 784_111_777
comptime _SAME = "Sun, 06 Nov 1994 08:49:37 GMT"
comptime _BEFORE = "Sun, 06 Nov 1994 08:49:36 GMT"
comptime _BEHIND = "Sun, 06 Nov 1994 08:49:38 GMT"


def test_tags() raises:
    var rows: List[StaticString] = ['""', '"a"', 'W/"a"', '"!#~W/x"', 'W/""']
    for text in rows:
        assert_equal(String(EntityTag.parse(text.as_bytes())), text)


def test_octets_of_a_tag_need_be_no_text() raises:
    # RFC 9110-8.8.3: obs-text.
    var octets: List[UInt8] = [34, 0xFF, 97, 0xC3, 34]
    var tag = EntityTag.parse(octets)
    assert_equal(tag.opaque.byte_length(), 3)


@fieldwise_init
struct _BadTag(Copyable, Movable):
    var text: StaticString
    var offset: Int


def test_refuses_tags() raises:
    var rows: List[_BadTag] = [
        _BadTag("", 0),
        _BadTag("a", 0),
        _BadTag('"a', 2),
        _BadTag('w/"a"', 0),
        _BadTag('W"a"', 1),
        _BadTag("W/a", 2),
        _BadTag('"a b"', 2),
        _BadTag('"a"b', 3),
        _BadTag('"a", "b"', 3),
        _BadTag('"\x7f"', 1),
    ]
    for row in rows:
        var offset = -1
        try:
            _ = EntityTag.parse(row.text.as_bytes())
        except error:
            offset = error.offset
            assert_true("RFC 9110" in String(error))
        assert_equal(offset, row.offset, row.text)


def test_comparison() raises:
    # The table of RFC 9110 section 8.8.3.2.
    var weak = EntityTag("1", is_weak=True)
    var other_weak = EntityTag("2", is_weak=True)
    var strong = EntityTag("1")
    assert_false(weak.matches_strongly(weak))
    assert_true(weak.matches_weakly(weak))
    assert_false(weak.matches_strongly(other_weak))
    assert_false(weak.matches_weakly(other_weak))
    assert_false(weak.matches_strongly(strong))
    assert_true(weak.matches_weakly(strong))
    assert_true(strong.matches_strongly(strong))
    assert_true(strong.matches_weakly(strong))


@fieldwise_init
struct _ListRow(Copyable, Movable):
    var text: StaticString
    var weakly: TagListMatch
    var strongly: TagListMatch


def test_lists() raises:
    comptime NONE = TagListMatch.NONE
    comptime SOME = TagListMatch.SOME
    comptime ANY = TagListMatch.ANY
    comptime MALFORMED = TagListMatch.MALFORMED
    var rows: List[_ListRow] = [
        _ListRow("*", ANY, ANY),
        _ListRow('"a"', SOME, SOME),
        _ListRow('W/"a"', SOME, NONE),
        _ListRow('"b"', NONE, NONE),
        _ListRow('"b", "a"', SOME, SOME),
        _ListRow('"b","a,"', NONE, NONE),
        _ListRow(',"b" ,\t, W/"a",', SOME, NONE),
        _ListRow("", MALFORMED, MALFORMED),
        _ListRow(",", MALFORMED, MALFORMED),
        _ListRow("a", MALFORMED, MALFORMED),
        _ListRow('"a" "b"', MALFORMED, MALFORMED),
        _ListRow('"a", b', MALFORMED, MALFORMED),
        _ListRow('"a", *', MALFORMED, MALFORMED),
        _ListRow('"a', MALFORMED, MALFORMED),
    ]
    var tag = EntityTag("a")
    for row in rows:
        var octets = row.text.as_bytes()
        var weakly = match_tag_list(octets, tag.copy(), is_strong=False)
        var strongly = match_tag_list(octets, tag.copy(), is_strong=True)
        assert_true(weakly == row.weakly, row.text)
        assert_true(strongly == row.strongly, row.text)


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var method: StaticString
    var names: List[StaticString]
    var values: List[StaticString]
    var wanted: Precondition


comptime _OK = Precondition.PROCEED
comptime _304 = Precondition.NOT_MODIFIED
comptime _412 = Precondition.FAILED


def _evaluate(row: _Row, validators: Validators) raises -> Precondition:
    var request = OwnedRequest(row.method, "/")
    for index in range(len(row.names)):
        request.add_header(row.names[index], row.values[index])
    return evaluate_preconditions(
        Method(row.method), request.view().headers, validators, _NOW_S
    )


def _here() raises -> Validators:
    return Validators(EntityTag("a"), _MODIFIED_S, True)


def test_single_conditions() raises:
    var rows: List[_Row] = [
        _Row("13 none", "GET", [], [], _OK),
        _Row("13.1.1 match", "PUT", ["If-Match"], ['"a"'], _OK),
        _Row("13.1.1 other", "PUT", ["If-Match"], ['"b"'], _412),
        _Row("13.1.1 weak", "PUT", ["If-Match"], ['W/"a"'], _412),
        _Row("13.1.1 any", "PUT", ["If-Match"], ["*"], _OK),
        _Row("13.1.1 GET", "GET", ["If-Match"], ['"b"'], _412),
        _Row("13.1.1 no list", "PUT", ["If-Match"], ["a"], _412),
        _Row("13.1.2 same", "GET", ["If-None-Match"], ['"a"'], _304),
        _Row("13.1.2 HEAD", "HEAD", ["If-None-Match"], ['"a"'], _304),
        _Row("13.1.2 weak", "GET", ["If-None-Match"], ['W/"a"'], _304),
        _Row("13.1.2 list", "GET", ["If-None-Match"], ['"b", "a"'], _304),
        _Row("13.1.2 other", "GET", ["If-None-Match"], ['"b"'], _OK),
        _Row("13.1.2 any", "GET", ["If-None-Match"], ["*"], _304),
        _Row("13.1.2 PUT", "PUT", ["If-None-Match"], ["*"], _412),
        _Row("13.1.2 no list", "GET", ["If-None-Match"], ["a"], _OK),
        _Row("13.1.3 same", "GET", ["If-Modified-Since"], [_SAME], _304),
        _Row("13.1.3 behind", "GET", ["If-Modified-Since"], [_BEHIND], _304),
        _Row("13.1.3 before", "GET", ["If-Modified-Since"], [_BEFORE], _OK),
        _Row("13.1.3 PUT", "PUT", ["If-Modified-Since"], [_SAME], _OK),
        _Row("13.1.3 no date", "GET", ["If-Modified-Since"], ["0"], _OK),
        _Row("13.1.4 same", "PUT", ["If-Unmodified-Since"], [_SAME], _OK),
        _Row("13.1.4 before", "PUT", ["If-Unmodified-Since"], [_BEFORE], _412),
        _Row("13.1.4 no date", "PUT", ["If-Unmodified-Since"], ["x"], _OK),
        _Row("13.2.1 OPTIONS", "OPTIONS", ["If-Match"], ['"b"'], _OK),
    ]
    for row in rows:
        assert_true(_evaluate(row, _here()) == row.wanted, row.rule)


def test_precedence() raises:
    var rows: List[_Row] = [
        _Row(
            "13.2.2 step 1 before 2",
            "PUT",
            ["If-Unmodified-Since", "If-Match"],
            [_BEFORE, '"a"'],
            _OK,
        ),
        _Row(
            "13.2.2 step 3 before 4",
            "GET",
            ["If-Modified-Since", "If-None-Match"],
            [_SAME, '"b"'],
            _OK,
        ),
        _Row(
            "13.2.2 step 3 alone",
            "GET",
            ["If-Modified-Since", "If-None-Match"],
            [_BEFORE, '"a"'],
            _304,
        ),
        _Row(
            "13.2.2 step 1, then 3",
            "GET",
            ["If-None-Match", "If-Match"],
            ['"a"', '"a"'],
            _304,
        ),
        _Row(
            "13.2.2 step 1 fails first",
            "GET",
            ["If-None-Match", "If-Match"],
            ['"a"', '"b"'],
            _412,
        ),
        _Row(
            "5.3 lines are one list",
            "GET",
            ["If-None-Match", "If-None-Match"],
            ['"b"', '"a"'],
            _304,
        ),
        _Row(
            "13.1.2 a star stands alone",
            "GET",
            ["If-None-Match", "If-None-Match"],
            ["*", '"b"'],
            _OK,
        ),
        _Row(
            "13.1.3 one date",
            "GET",
            ["If-Modified-Since", "If-Modified-Since"],
            [_SAME, _SAME],
            _OK,
        ),
    ]
    for row in rows:
        assert_true(_evaluate(row, _here()) == row.wanted, row.rule)


def test_without_a_representation() raises:
    var rows: List[_Row] = [
        _Row("13.1.1 any", "PUT", ["If-Match"], ["*"], _412),
        _Row("13.1.1 tag", "PUT", ["If-Match"], ['"a"'], _412),
        _Row("13.1.2 create", "PUT", ["If-None-Match"], ["*"], _OK),
        _Row("13.1.4 ignored", "PUT", ["If-Unmodified-Since"], [_SAME], _OK),
    ]
    for row in rows:
        assert_true(_evaluate(row, Validators()) == row.wanted, row.rule)


@fieldwise_init
struct _RangeRow(Copyable, Movable):
    var rule: StaticString
    var value: StaticString
    var applies: Bool


def test_if_range() raises:
    var rows: List[_RangeRow] = [
        _RangeRow("13.1.5 strong", '"a"', True),
        _RangeRow("13.1.5 other", '"b"', False),
        _RangeRow("13.1.5 weak", 'W/"a"', False),
        _RangeRow("13.1.5 one tag", '"a", "b"', False),
        _RangeRow("13.1.5 no star", "*", False),
        _RangeRow("13.1.5 date", _SAME, True),
        _RangeRow("13.1.5 exact", _BEHIND, False),
        _RangeRow("13.1.5 neither", "x", False),
    ]
    for row in rows:
        var request = OwnedRequest("GET", "/")
        request.add_header("If-Range", row.value)
        var applies = range_applies(request.view().headers, _here(), _NOW_S)
        assert_equal(applies, row.applies, row.rule)
        # 8.8.2.2: within the second of the change the date is weak.
        if row.value == _SAME:
            assert_false(
                range_applies(request.view().headers, _here(), _MODIFIED_S)
            )
    var request = OwnedRequest("GET", "/")
    assert_true(range_applies(request.view().headers, _here(), _NOW_S))
