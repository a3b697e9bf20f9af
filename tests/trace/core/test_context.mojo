"""W3C Trace Context: traceparent and tracestate."""

from flare.trace.core.context import TraceContext, parse_traceparent
from flare.trace.core.trace_state import TRACESTATE_LEN_MAX, TraceStateReader
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.guard_page import GuardedBytes

comptime _TRACE = StaticString("0af7651916cd43dd8448eb211c80319c")
comptime _SPAN = StaticString("b7ad6b7169203331")


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var value: String
    # What goes on from there; empty if the value is refused.
    var written: String


def _join(
    version: StringSpan,
    flags: StringSpan,
    *,
    trace: StringSpan = _TRACE,
    span: StringSpan = _SPAN,
) -> String:
    return String(version, "-", trace, "-", span, "-", flags)


def _parent_rows() -> List[_Row]:
    return [
        _Row("TC-3.2.2 version 00", _join("00", "01"), _join("00", "01")),
        _Row("TC-3.2.2.5 not sampled", _join("00", "00"), _join("00", "00")),
        _Row("TC2-3.2.2.5 random", _join("00", "03"), _join("00", "03")),
        _Row("TC-3.2.2.5 unknown flags", _join("00", "fd"), _join("00", "01")),
        _Row("TC-4.3 version 01", _join("01", "01"), _join("00", "01")),
        _Row("TC-4.3 version fe", _join("fe", "00"), _join("00", "00")),
        _Row(
            "TC-4.3 more behind a dash",
            _join("cc", "01") + "-what-the-future-brings",
            _join("00", "01"),
        ),
        _Row("TC-4.3 dash alone", _join("cc", "01") + "-", _join("00", "01")),
        _Row("TC-4.3 more without a dash", _join("cc", "01") + ".what", ""),
        _Row("TC-3.2.2 more in version 00", _join("00", "01") + "-", ""),
        _Row("TC-3.2.2 much more", _join("00", "01") + "-what", ""),
        _Row("TC-3.2.2.1 version ff", _join("ff", "01"), ""),
        _Row("TC-3.2.2.1 not hex", _join("0g", "01"), ""),
        _Row("TC-3.2.2.1 upper case", _join("CC", "01"), ""),
        _Row(
            "TC-3.2.2.3 all zero",
            _join("00", "01", trace="00000000000000000000000000000000"),
            "",
        ),
        _Row(
            "TC-3.2.2.3 first half zero",
            _join("00", "01", trace="00000000000000008448eb211c80319c"),
            _join("00", "01", trace="00000000000000008448eb211c80319c"),
        ),
        _Row(
            "TC-3.2.2.3 second half zero",
            _join("00", "01", trace="0af7651916cd43dd0000000000000000"),
            _join("00", "01", trace="0af7651916cd43dd0000000000000000"),
        ),
        _Row(
            "TC-3.2.2.3 upper case",
            _join("00", "01", trace="0AF7651916CD43DD8448EB211C80319C"),
            "",
        ),
        _Row(
            "TC-3.2.2.3 not hex",
            _join("00", "01", trace=".af7651916cd43dd8448eb211c80319c"),
            "",
        ),
        _Row(
            "TC-3.2.2.3 too short",
            _join("00", "01", trace="af7651916cd43dd8448eb211c80319c"),
            "",
        ),
        _Row(
            "TC-3.2.2.3 too long",
            _join("00", "01", trace="00af7651916cd43dd8448eb211c80319c"),
            "",
        ),
        _Row(
            "TC-3.2.2.4 all zero",
            _join("00", "01", span="0000000000000000"),
            "",
        ),
        _Row(
            "TC-3.2.2.4 upper case",
            _join("00", "01", span="B7AD6B7169203331"),
            "",
        ),
        _Row(
            "TC-3.2.2.4 not hex",
            _join("00", "01", span="b7ad6b716920333`"),
            "",
        ),
        _Row("TC-3.2.2.5 not hex", _join("00", "0."), ""),
        _Row("TC-3.2.2.5 upper case", _join("00", "0A"), ""),
        _Row("TC-3.2.2.5 too short", _join("00", "1"), ""),
        _Row("TC-3.2.2 spaces", " " + _join("00", "01"), ""),
        _Row("TC-3.2.2 underscores", _join("00", "01").replace("-", "_"), ""),
        _Row("TC-3.2.2 nothing", "", ""),
    ]


def test_traceparent() raises:
    for row in _parent_rows():
        var context = parse_traceparent(row.value.as_bytes())
        assert_equal(context.is_valid(), row.written != "", row.rule)
        if context.is_valid():
            assert_equal(String(context), row.written, row.rule)
            assert_true(
                parse_traceparent(row.written.as_bytes()) == context, row.rule
            )
        else:
            assert_true(context == TraceContext(), row.rule)


def test_every_cut_is_refused() raises:
    # TC-3.2.2: 55 octets, none of which may be missing.
    var whole = _join("00", "01")
    for length in range(whole.byte_length()):
        assert_false(
            parse_traceparent(whole.as_bytes()[:length]).is_valid(),
            String(length, " octets"),
        )


def test_ids_are_told_apart() raises:
    var context = parse_traceparent(_join("00", "01").as_bytes())
    assert_equal(context.trace_id(), String(_TRACE))
    assert_equal(context.span_id_text(), String(_SPAN))
    assert_true(context.is_sampled())
    var low = TraceContext(0, 1, 0x00000000000000AF, 0)
    assert_equal(
        String(low), "00-00000000000000000000000000000001-00000000000000af-00"
    )


def _read(*values: String) -> String:
    var reader = TraceStateReader()
    for value in values:
        reader.add(value.as_bytes())
    return reader.text()


def _members(count: Int, text: String = "v") -> String:
    var list = String()
    for index in range(count):
        if index > 0:
            list += ","
        list.write("k", index, "=", text)
    return list^


def _state_rows() -> List[_Row]:
    var longest_key = "z" * 256
    var longest_tenant = String("t" * 241, "@", "v" * 14)
    return [
        _Row(
            "TC-3.3.1.2 one", "rojo=00f067aa0ba902b7", "rojo=00f067aa0ba902b7"
        ),
        _Row("TC-3.3.1.1 list", "foo=1,bar=2", "foo=1,bar=2"),
        _Row(
            "TC-3.3.1.1 OWS",
            "foo=1 \t , \t bar=2, \t baz=3 ",
            "foo=1,bar=2,baz=3",
        ),
        _Row("TC-3.3.1.1 empty members", ",foo=1,, ,bar=2,", "foo=1,bar=2"),
        _Row("TC-3.3.1.1 nothing", "", ""),
        _Row("TC-3.3.1.3 key twice", "foo=1,bar=2,foo=3", "foo=1,bar=2"),
        _Row("TC-3.3.1.3 a prefix is another key", "fo=1,foo=2", "fo=1,foo=2"),
        _Row("TC-3.3.1.3.1 all characters", "az09_-*/=1", "az09_-*/=1"),
        _Row("TC-3.3.1.3.1 tenant", "0t@v=1", "0t@v=1"),
        _Row(
            "TC-3.3.1.3.1 longest key", longest_key + "=1", longest_key + "=1"
        ),
        _Row("TC-3.3.1.3.1 key too long", longest_key + "z=1", ""),
        _Row(
            "TC-3.3.1.3.1 longest tenant",
            longest_tenant + "=1",
            longest_tenant + "=1",
        ),
        _Row("TC-3.3.1.3.1 system too long", longest_tenant + "v=1", ""),
        _Row("TC-3.3.1.3.1 tenant too long", "t" + longest_tenant + "=1", ""),
        _Row("TC-3.3.1.3.1 digit first", "0foo=1", ""),
        _Row("TC-3.3.1.3.1 upper case", "FOO=1", ""),
        _Row("TC-3.3.1.3.1 dot", "foo.bar=1", ""),
        _Row("TC-3.3.1.3.1 space", "foo =1", ""),
        _Row("TC-3.3.1.3.1 no key", "=1", ""),
        _Row("TC-3.3.1.3.1 no system", "foo@=1", ""),
        _Row("TC-3.3.1.3.1 no tenant", "@foo=1", ""),
        _Row("TC-3.3.1.3.1 two at", "foo@@bar=1", ""),
        _Row("TC-3.3.1.3.1 three parts", "foo@bar@baz=1", ""),
        _Row("TC-3.3.1.3.1 system with a digit first", "foo@1=1", ""),
        _Row("TC-3.3.1.3.2 no value", "foo=", ""),
        _Row("TC-3.3.1.3.2 no =", "foo", ""),
        _Row("TC-3.3.1.3.2 two =", "foo=bar=baz", ""),
        _Row("TC-3.3.1.3.2 blank within", "foo= b r", "foo= b r"),
        _Row("TC-3.3.1.3.2 longest", "foo=" + "v" * 256, "foo=" + "v" * 256),
        _Row("TC-3.3.1.3.2 too long", "foo=" + "v" * 257, ""),
        _Row("TC-3.3.1.3.2 tab within", "foo=b\tr", ""),
        _Row("TC-3.3.1.3.2 not ASCII", "foo=é", ""),
        _Row("TC-3.3.1 one bad member spoils all", "foo=1,B=2,baz=3", ""),
        _Row("TC-3.3.1.1 as many as may be", _members(32), _members(32)),
        _Row("TC-3.3.1.1 too many", _members(33), ""),
    ]


def test_tracestate() raises:
    for row in _state_rows():
        assert_equal(_read(row.value), row.written, row.rule)


def test_tracestate_fields_are_one_list() raises:
    # RFC 9110 section 5.3, and Trace Context section 3.3.1: the split at any
    # comma has no say, and what is written is read back.
    for row in _state_rows():
        var commas = row.value.split(",")
        for cut in range(1, len(commas)):
            var first = String()
            var second = String()
            for index in range(len(commas)):
                if index < cut:
                    first.write("," if index > 0 else "", commas[index])
                else:
                    second.write("," if index > cut else "", commas[index])
            assert_equal(_read(first, second), row.written, row.rule)
        assert_equal(_read(row.written), row.written, row.rule)


def test_long_tracestate_is_cut_by_members() raises:
    # Trace Context section 3.3.1.5: long members first, then the last ones.
    var long = "long=" + "v" * 124
    var text = String("a=", "1" * 100, ",", long, ",", _members(30, "v" * 10))
    var kept = _read(text)
    assert_true(kept.byte_length() <= TRACESTATE_LEN_MAX)
    assert_false("long=" in kept)
    assert_true(kept.startswith(String("a=", "1" * 100, ",k0=vvvvvvvvvv,k1=")))
    assert_true(text.find(kept[byte=103:]) > 0, "members are whole")
    assert_true(
        kept.byte_length() + 16 > TRACESTATE_LEN_MAX, "and all that fit"
    )
    # One octet less than too much stays as it is.
    var fits = String("a=", "1" * 254, ",b=", "2" * 253)
    assert_equal(fits.byte_length(), TRACESTATE_LEN_MAX)
    assert_equal(_read(fits), fits)
    assert_equal(_read(fits + "2"), String("a=", "1" * 254))


def test_nothing_is_read_behind_the_end() raises:
    for row in _parent_rows():
        var page = GuardedBytes(row.value.as_bytes())
        var context = parse_traceparent(page.span())
        assert_equal(context.is_valid(), row.written != "", row.rule)
    for row in _state_rows():
        var page = GuardedBytes(row.value.as_bytes())
        var reader = TraceStateReader()
        reader.add(page.span())
        assert_equal(reader.text(), row.written, row.rule)
