"""Extension lists, and what both sides agree on about compression."""

from flare.ws.core.deflate import (
    DeflateAgreement,
    EXTENSION_COUNT_MAX,
    Extension,
    choose_deflate,
    parse_extensions,
    read_deflate_answer,
)
from tests.support.assertions import assert_equal, assert_false, assert_true


def _parsed(value: StringSpan) -> String:
    """Writes what was read, or `!` if it is malformed."""
    var extensions = List[Extension]()
    if not parse_extensions(value.as_bytes(), extensions):
        return "!"
    var text = String()
    for extension in extensions:
        text.write("[", extension.name)
        for parameter in extension.parameters:
            text.write(" ", parameter.name)
            if parameter.has_value:
                text.write("=", parameter.value)
        text.write("]")
    return text^


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var value: StaticString
    var read: StaticString


def test_extension_lists() raises:
    var rows: List[_Row] = [
        _Row("6455-9.1 empty", "", ""),
        _Row("6455-9.1 one", "foo", "[foo]"),
        _Row("6455-9.1 two", "foo, bar", "[foo][bar]"),
        _Row(
            "6455-9.1 parameters",
            "foo; a; b=1 ,bar;c=d",
            "[foo a b=1][bar c=d]",
        ),
        _Row("6455-9.1 no space", "foo;a;b=1,bar", "[foo a b=1][bar]"),
        _Row("6455-9.1 all space", "\t foo \t;\t a = 1 ", "[foo a=1]"),
        _Row("6455-9.1 quoted", 'foo; a="b1"', "[foo a=b1]"),
        _Row("9110-5.6.4 escaped", 'foo; a="b\\1"', "[foo a=b1]"),
        _Row("6455-9.1 a quoted token", 'foo; a="b c"', "!"),
        _Row("6455-9.1 a quoted nothing", 'foo; a=""', "!"),
        _Row("9110-5.6.4 not closed", 'foo; a="b', "!"),
        _Row("9110-5.6.4 ends in an escape", 'foo; a="b\\', "!"),
        _Row("9110-5.6.1 empty elements", ", foo, ,bar,", "[foo][bar]"),
        _Row("6455-9.1 no name", "; a", "!"),
        _Row("6455-9.1 no parameter", "foo;", "!"),
        _Row("6455-9.1 no value", "foo; a=", "!"),
        _Row("6455-9.1 two words", "foo bar", "!"),
        _Row("6455-9.1 no separator", "foo a=1", "!"),
        _Row("6455-9.1 not a token", "f@o", "!"),
        _Row("6455-9.1 high octets", "f\u00e4o", "!"),
    ]
    for row in rows:
        assert_equal(_parsed(row.value), row.read, row.rule)
    assert_equal(
        _parsed("a," * EXTENSION_COUNT_MAX), "[a]" * EXTENSION_COUNT_MAX
    )
    assert_equal(_parsed("a," * (EXTENSION_COUNT_MAX + 1)), "!")
    assert_equal(_parsed("a" + ";b" * (EXTENSION_COUNT_MAX + 1)), "!")


def _answer(offer: StringSpan, wish: DeflateAgreement) raises -> String:
    var offers = List[Extension]()
    assert_true(parse_extensions(offer.as_bytes(), offers))
    var chosen = choose_deflate(offers, wish)
    return String(chosen.value()) if chosen else "-"


def test_a_server_takes_the_first_good_offer() raises:
    comptime P = StaticString("permessage-deflate")
    var rows: List[_Row] = [
        _Row("7692-7 plain", "permessage-deflate", P),
        _Row("7692-5.1 unknown extension", "x-webkit-deflate-frame", "-"),
        _Row("7692-5.1 a later one", "foo, permessage-deflate", P),
        _Row("7692-7.1 unknown parameter", "permessage-deflate; foo", "-"),
        _Row(
            "7692-7.1 unknown parameter, then good",
            "permessage-deflate; foo, permessage-deflate",
            P,
        ),
        _Row(
            "7692-7.1.1.1",
            "permessage-deflate; server_no_context_takeover",
            "permessage-deflate; server_no_context_takeover",
        ),
        _Row(
            "7692-7.1.1.1 has no value",
            "permessage-deflate; server_no_context_takeover=1",
            "-",
        ),
        _Row(
            "7692-7.1.1.2",
            "permessage-deflate; client_no_context_takeover",
            "permessage-deflate; client_no_context_takeover",
        ),
        _Row(
            "7692-7.1.2.1",
            "permessage-deflate; server_max_window_bits=10",
            "permessage-deflate; server_max_window_bits=10",
        ),
        _Row(
            "7692-7.1.2.1 needs a value",
            "permessage-deflate; server_max_window_bits",
            "-",
        ),
        _Row(
            "7692-7.1.2.1 8 is the least",
            "permessage-deflate; server_max_window_bits=8",
            "permessage-deflate; server_max_window_bits=8",
        ),
        _Row(
            "7692-7.1.2.1 7 is none",
            "permessage-deflate; server_max_window_bits=7",
            "-",
        ),
        _Row(
            "7692-7.1.2.1 16 is none",
            "permessage-deflate; server_max_window_bits=16",
            "-",
        ),
        _Row(
            "7692-7.1.2.1 no leading zero",
            "permessage-deflate; server_max_window_bits=09",
            "-",
        ),
        _Row(
            "7692-7.1.2.1 15 is answered",
            "permessage-deflate; server_max_window_bits=15",
            "permessage-deflate; server_max_window_bits=15",
        ),
        _Row(
            "7692-7.1.2.2 a hint",
            "permessage-deflate; client_max_window_bits",
            P,
        ),
        _Row(
            "7692-7.1.2.2 a value",
            "permessage-deflate; client_max_window_bits=9",
            "permessage-deflate; client_max_window_bits=9",
        ),
        _Row(
            "7692-7.1 twice",
            "permessage-deflate; client_max_window_bits; client_max_window_bits",
            "-",
        ),
    ]
    for row in rows:
        var answer = _answer(row.value, DeflateAgreement.widest())
        assert_equal(answer, row.read, row.rule)


def test_a_server_asks_for_less() raises:
    var wish = DeflateAgreement(True, True, 12, 11)
    assert_equal(
        _answer("permessage-deflate; client_max_window_bits", wish),
        "permessage-deflate; server_no_context_takeover;"
        " client_no_context_takeover; server_max_window_bits=12;"
        " client_max_window_bits=11",
    )
    # RFC 7692 section 7.1.2.1: with the same or a smaller value.
    assert_equal(
        _answer("permessage-deflate; server_max_window_bits=15", wish),
        "permessage-deflate; server_no_context_takeover;"
        " client_no_context_takeover; server_max_window_bits=12",
    )
    # RFC 7692 section 7.1.2.2: not of a client that did not offer it.
    assert_equal(
        _answer("permessage-deflate", wish),
        "permessage-deflate; server_no_context_takeover;"
        " client_no_context_takeover; server_max_window_bits=12",
    )


def _read(answer: StringSpan, offered: Optional[DeflateAgreement]) -> String:
    """Writes what a client makes of an answer; `!` for a refusal."""
    var extensions = List[Extension]()
    if not parse_extensions(answer.as_bytes(), extensions):
        return "!"
    var read = read_deflate_answer(extensions, offered)
    if not read[0]:
        return "!"
    return String(read[1].value()) if read[1] else "-"


def test_a_client_takes_only_what_it_may_be_given() raises:
    comptime P = StaticString("permessage-deflate")
    var rows: List[_Row] = [
        _Row("7692-5.1 declined", "", "-"),
        _Row("7692-5.1 plain", "permessage-deflate", P),
        _Row("6455-4.1 another one", "foo", "!"),
        _Row("7692-5.1 twice", "permessage-deflate, permessage-deflate", "!"),
        _Row("7692-7.1 unknown parameter", "permessage-deflate; foo=1", "!"),
        _Row(
            "7692-7.1.1.1 unasked",
            "permessage-deflate; server_no_context_takeover",
            "permessage-deflate; server_no_context_takeover",
        ),
        _Row(
            "7692-7.1.1.2",
            "permessage-deflate; client_no_context_takeover",
            "permessage-deflate; client_no_context_takeover",
        ),
        _Row(
            "7692-7.1.2.2",
            "permessage-deflate; client_max_window_bits=8",
            "permessage-deflate; client_max_window_bits=8",
        ),
        _Row(
            "7692-7.1.2.2 needs a value",
            "permessage-deflate; client_max_window_bits",
            "!",
        ),
        _Row(
            "7692-7.1.2.1 bad value",
            "permessage-deflate; server_max_window_bits=99",
            "!",
        ),
        _Row(
            "7692-7.1 twice",
            "permessage-deflate; server_max_window_bits=9; server_max_window_bits=9",
            "!",
        ),
    ]
    var widest = Optional(DeflateAgreement.widest())
    for row in rows:
        assert_equal(_read(row.value, widest), row.read, row.rule)
    assert_equal(_read("permessage-deflate", None), "!")
    assert_equal(_read("", None), "-")
    # What was asked for has to be granted.
    var strict = Optional(DeflateAgreement(True, False, 10, 15))
    assert_equal(_read("permessage-deflate", strict), "!")
    assert_equal(
        _read("permessage-deflate; server_no_context_takeover", strict), "!"
    )
    assert_equal(
        _read(
            "permessage-deflate; server_no_context_takeover;"
            " server_max_window_bits=9",
            strict,
        ),
        "permessage-deflate; server_no_context_takeover;"
        " server_max_window_bits=9",
    )


def test_a_named_window_has_to_be_answered() raises:
    """RFC 7692 section 7.1.2.1, also if it is the widest."""
    var named = DeflateAgreement(False, False, 15, 15, names_server_window=True)
    assert_equal(
        named.offer(),
        "permessage-deflate; server_max_window_bits=15; client_max_window_bits",
    )
    var answer = "permessage-deflate; server_max_window_bits=15"
    assert_equal(_read(answer, named), answer)
    assert_equal(_read("permessage-deflate", named), "!")


def test_offers() raises:
    assert_equal(
        DeflateAgreement.widest().offer(),
        "permessage-deflate; client_max_window_bits",
    )
    assert_equal(
        DeflateAgreement(True, True, 10, 9).offer(),
        "permessage-deflate; server_no_context_takeover;"
        " client_no_context_takeover; server_max_window_bits=10;"
        " client_max_window_bits=9",
    )
    assert_false(
        DeflateAgreement.widest() == DeflateAgreement(True, True, 9, 9)
    )
