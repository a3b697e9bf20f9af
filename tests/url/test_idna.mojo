"""The ASCII form of domains: a table by script, and what has none.

The names are examples of what each rule is for; the whole of Unicode's own
table is run by `tests/vectors/run_vectors.py` where it is at hand.
"""

from flare.url.idna import (
    IdnaError,
    domain_to_ascii,
    punycode_decode,
    punycode_encode,
)
from flare.url.url import Url
from tests.support.assertions import assert_equal, assert_false, assert_true


@fieldwise_init
struct _Row(Copyable, Movable):
    """A domain and its ASCII form."""

    var rule: StaticString
    var text: StaticString
    var ascii: StaticString


@fieldwise_init
struct _Bad(Copyable, Movable):
    """A domain without one, and what is said about it."""

    var rule: StaticString
    var text: StaticString
    var reason: StaticString


def _refusal(domain: StringSpan) raises -> IdnaError:
    try:
        _ = domain_to_ascii(domain.as_bytes())
    except error:
        return error.copy()
    raise Error("accepted: ", domain)


def test_idna_by_script() raises:
    var rows: List[_Row] = [
        _Row("Latin, Turkish", "Yağız.com", "xn--yaz-isa4g.com"),
        _Row("Latin, dotted capital I", "İstanbul.com", "xn--istanbul-o0e.com"),
        _Row("Latin, dotless i", "ısı.com", "xn--s-ekab.com"),
        _Row(
            "Latin, sharp s is a letter of its own",
            "Straße.de",
            "xn--strae-oqa.de",
        ),
        _Row("Latin, capital sharp s", "STRAẞE.de", "xn--strae-oqa.de"),
        _Row("Latin, long s", "ſtadt.de", "stadt.de"),
        _Row("Latin, ligature", "oﬃce.com", "office.com"),
        _Row("Latin, French", "Élysée.fr", "xn--lyse-9oad.fr"),
        _Row("Latin, Vietnamese", "Việt-Nam.vn", "xn--vit-nam-zv4c.vn"),
        _Row(
            "Latin, NFC of two marks", "Vie\u0302\u0323t.vn", "xn--vit-5kz.vn"
        ),
        _Row("Latin, NFC of one mark", "cafe\u0301.fr", "xn--caf-dma.fr"),
        _Row("Latin, Polish", "Łódź.pl", "xn--d-uga0v4h.pl"),
        _Row("Latin, Romanian", "Țară.ro", "xn--ar-kla13i.ro"),
        _Row("Latin, Czech", "ČESKÝ.cz", "xn--esk-noa0f.cz"),
        _Row("Latin, Icelandic", "Þór.is", "xn--r-uga6a.is"),
        _Row("Latin, Croatian digraph", "ǆep.hr", "xn--dep-c3a.hr"),
        _Row("Latin, superscript digit", "m².com", "m2.com"),
        _Row("Latin, Roman numeral", "Ⅻ.com", "xii.com"),
        _Row("Latin, full-width", "Ｇｏ．com", "go.com"),
        _Row("Latin, mathematical letters", "𝐛𝐨𝐥𝐝.com", "bold.com"),
        _Row("Latin, fraction", "½.com", "xn--12-c6t.com"),
        _Row("Latin, IPA", "ʃʒ.com", "xn--zoa4a.com"),
        _Row("Latin, fixed by CJK stop", "é\u3002com", "xn--9ca.com"),
        _Row("Greek, final sigma stays", "Βόλος.gr", "xn--nxasmm1c.gr"),
        _Row("Greek, capitals", "ΑΘΉΝΑ.gr", "xn--jxafb0a0a.gr"),
        _Row("Greek, iota subscript is spelled out", "ᾳ.gr", "xn--mxaq.gr"),
        _Row("Greek, polytonic", "Ἀθῆναι.gr", "xn--mxaneo7006a87a.gr"),
        _Row("Greek, oxia is tonos", "\u1F71.gr", "xn--hxa.gr"),
        _Row("Cyrillic, Russian", "Пример.рф", "xn--e1afmkfd.xn--p1ai"),
        _Row("Cyrillic, Ukrainian", "ЇЖАК.укр", "xn--80aln7i.xn--j1amh"),
        _Row(
            "Cyrillic, short i from two", "и\u0306од.рф", "xn--d1ajp.xn--p1ai"
        ),
        _Row(
            "Cyrillic, Serbian", "ЂУРЂЕВДАН.срб", "xn--80adgc7bnu3jc.xn--90a3ac"
        ),
        _Row(
            "Cyrillic, Kazakh",
            "Қазақстан.қаз",
            "xn--80aaa0a6awh12ed.xn--80ao21a",
        ),
        _Row("Armenian", "Հայ.հայ", "xn--y9a3aq.xn--y9a3aq"),
        _Row("Armenian, ligature", "և.com", "xn--29a2d.com"),
        _Row(
            "Georgian, Mkhedruli", "საქართველო.გე", "xn--lodamdjuvtg5b.xn--node"
        ),
        _Row("Georgian, Mtavruli capitals", "ᲡᲐ.გე", "xn--lod7a.xn--node"),
        _Row(
            "Cherokee, small letters map to capitals", "ꭰꭱ.com", "xn--58dc.com"
        ),
        _Row("Glagolitic", "Ⰰⰱ.com", "xn--tejc.com"),
        _Row("Coptic", "Ⲁⲃ.com", "xn--4gje.com"),
        _Row("Deseret, beyond 16 bits", "𐐀𐐨.com", "xn--hj8ca.com"),
        _Row("Hebrew", "\u05E2\u05D1\u05E8\u05D9\u05EA.com", "xn--5dbqzzl.com"),
        _Row(
            "Hebrew, points",
            "\u05E9\u05B8\u05C1\u05DC\u05D5\u05B9\u05DD.com",
            "xn--gdbcx4f8ai2f.com",
        ),
        _Row("Hebrew, presentation form", "\uFB2A.com", "xn--pdb3f.com"),
        _Row(
            "Hebrew, European digits at the end",
            "\u05D012.com",
            "xn--12-uld.com",
        ),
        _Row(
            "Arabic",
            "\u0645\u062B\u0627\u0644.\u0625\u062E\u062A\u0628\u0627\u0631",
            "xn--mgbh0fb.xn--kgbechtv",
        ),
        _Row("Arabic, presentation form", "\uFEFB.com", "xn--mgb1d.com"),
        _Row(
            "Arabic, Arabic-Indic digits",
            "\u0645\u0661\u0662.com",
            "xn--hhb0dd.com",
        ),
        _Row(
            "Arabic, Persian with a non-joiner",
            "\u0646\u0627\u0645\u0647\u200C\u0627\u06CC.com",
            "xn--mgba3gch31f060k.com",
        ),
        _Row(
            "Arabic, Urdu",
            "\u067E\u0627\u06A9\u0633\u062A\u0627\u0646.com",
            "xn--mgbai9azgqp6j.com",
        ),
        _Row("Arabic, tatweel", "\u0645\u0640\u062B.com", "xn--qgb5bo.com"),
        _Row(
            "Arabic, harakat",
            "\u0645\u064F\u062B\u064E\u0644.com",
            "xn--qgb4cb1bd.com",
        ),
        _Row("Syriac", "\u0723\u0718\u072A.com", "xn--inbvw.com"),
        _Row(
            "Thaana",
            "\u078B\u07A8\u0788\u07AC\u0780\u07A8.com",
            "xn--hqbpi0jcw.com",
        ),
        _Row("N'Ko", "\u07D2\u07DE\u07CF.com", "xn--qsbf0b.com"),
        _Row("Adlam", "\U0001E900\U0001E923.com", "xn--9d6hc.com"),
        _Row(
            "Devanagari",
            "उद\u093Eहरण.पर\u0940क\u094Dष\u093E",
            "xn--p1b6ci4b4b3a.xn--11b5bs3a9aj6g",
        ),
        _Row(
            "Devanagari, joiner behind a virama",
            "क\u094D\u200Dष.com",
            "xn--11b2ezcw70k.com",
        ),
        _Row(
            "Devanagari, non-joiner behind a virama",
            "क\u094D\u200Cष.com",
            "xn--11b2ezcs70k.com",
        ),
        _Row("Devanagari, nukta stays apart", "\u0958.com", "xn--11b2f.com"),
        _Row(
            "Bengali",
            "ব\u09BE\u0982ল\u09BE.ভ\u09BEরত",
            "xn--54b7fta0cc.xn--45brj9c",
        ),
        _Row("Bengali, vowel from two", "ক\u09C7\u09BE.com", "xn--p5b2i.com"),
        _Row("Gurmukhi", "ਪ\u0A70ਜ\u0A3Eਬ\u0A40.com", "xn--k9b1ah5el8z.com"),
        _Row("Gujarati", "ગ\u0AC1જર\u0ABEત\u0AC0.com", "xn--2dcky1czdnc.com"),
        _Row("Oriya", "ଓଡ\u0B3C\u0B3Fଆ.com", "xn--8gcz5b7fpa.com"),
        _Row(
            "Tamil",
            "உத\u0BBEரணம\u0BCD.பர\u0BBFட\u0BCDச\u0BC8",
            "xn--zkc6cc5bi7f6e.xn--hlcj6aya9esc7a",
        ),
        _Row("Tamil, vowel from two", "க\u0BC6\u0BBE.com", "xn--clc0i.com"),
        _Row("Telugu", "త\u0C46ల\u0C41గ\u0C41.com", "xn--1ocz5b4cb0a.com"),
        _Row(
            "Kannada, vowel from three",
            "ಕ\u0CC6\u0CC2\u0CD5.com",
            "xn--nsc2i.com",
        ),
        _Row("Malayalam", "മലയ\u0D3Eള\u0D02.com", "xn--rvc1gdlg9d.com"),
        _Row(
            "Sinhala, joiner",
            "ශ\u0DCA\u200Dර\u0DD3.com",
            "xn--10cl1a0b660p.com",
        ),
        _Row("Thai", "ไทย.คอม", "xn--o3cw4h.xn--42c2d9a"),
        _Row("Thai, sara am is spelled out", "คำ.com", "xn--42c6g8c.com"),
        _Row("Lao", "ລາວ.com", "xn--q7ce6a.com"),
        _Row("Lao, ho no", "ໜ.com", "xn--e7c9a.com"),
        _Row("Khmer", "ខ\u17D2ម\u17C2រ.com", "xn--j2e0cg3n2c.com"),
        _Row("Myanmar", "မ\u103Cန\u103Aမ\u102C.com", "xn--7idjb0f4ck.com"),
        _Row("Tibetan", "བ\u0F7Cད.com", "xn--nddj8i.com"),
        _Row("Ethiopic", "ኢትዮጵያ.com", "xn--m0d3gwjla96a.com"),
        _Row("Mongolian", "ᠮᠣᠩ.com", "xn--56emn.com"),
        _Row("Han", "例子.测试", "xn--fsqu00a.xn--0zwm56d"),
        _Row("Han, compatibility ideograph", "\uF900.com", "xn--oh3a.com"),
        _Row("Han, beyond 16 bits", "𠀀.com", "xn--j50i.com"),
        _Row("Kana", "ひらがな.カタカナ", "xn--v8j0cwa6g.xn--lcka3d1b"),
        _Row("Kana, half-width with a mark", "ｶﾞ.com", "xn--mck.com"),
        _Row("Kana, mark from two", "か\u3099.com", "xn--v8j.com"),
        _Row("Bopomofo", "ㄅㄆ.com", "xn--5ekc.com"),
        _Row("Hangul", "한국.한국", "xn--3e0b707e.xn--3e0b707e"),
        _Row(
            "Hangul, from conjoining jamo",
            "\u1112\u1161\u11AB\u1100\u116E\u11A8.com",
            "xn--3e0b707e.com",
        ),
        _Row("Hangul, compatibility jamo", "ㄱㅏ.com", "xn--o39a.com"),
        _Row("Yi", "ꆈꌠ.com", "xn--3w7a73a.com"),
        _Row("symbols, heart", "I♥NY.com", "xn--iny-zx5a.com"),
        _Row("emoji", "💩.com", "xn--ls8h.com"),
        _Row(
            "emoji, variation selector is ignored", "☃\uFE0F.com", "xn--n3h.com"
        ),
        _Row("letter-like, trade mark", "a™.com", "atm.com"),
        _Row("enclosed letter", "ⓐ.com", "a.com"),
        _Row("ignored, soft hyphen", "a\u00ADb.com", "ab.com"),
        _Row("encoded label", "XN--FA-HIA.de", "xn--fa-hia.de"),
        _Row("ASCII beside others", "A_b.é", "a_b.xn--9ca"),
        _Row(
            "hyphens in third and fourth place", "ab--é.com", "xn--ab---epa.com"
        ),
        _Row("empty labels are left", "é..com", "xn--9ca..com"),
    ]
    for row in rows:
        var ascii = domain_to_ascii(row.text.as_bytes())
        assert_equal(StringSpan(unsafe_from_utf8=ascii), row.ascii, row.rule)
        # What is encoded is one of the names that decoding lets pass.
        var again = domain_to_ascii(ascii)
        assert_equal(StringSpan(unsafe_from_utf8=again), row.ascii, row.rule)


def test_idna_refuses() raises:
    comptime CHARACTER = StaticString(
        "the host has a character that no name may have"
    )
    comptime MARK = StaticString(
        "a label of the host starts with a combining mark"
    )
    comptime JOINER = StaticString("the host has a joiner where none belongs")
    comptime MIXED = StaticString(
        "a label of the host mixes right-to-left and left-to-right letters"
    )
    comptime EDGE = StaticString(
        "a label beside right-to-left ones starts or ends with no letter"
    )
    comptime PUNYCODE = StaticString(
        "a label that starts with xn-- is not Punycode"
    )
    comptime ONLY_ASCII = StaticString(
        "a label that starts with xn-- encodes only ASCII"
    )
    var rows: List[_Bad] = [
        _Bad("46-4.1.7 unassigned", "\u0378.com", CHARACTER),
        _Bad("46-4.1.7 private use", "\uE000.com", CHARACTER),
        _Bad("46-4.1.7 replacement character", "a\uFFFD.com", CHARACTER),
        _Bad("46-4.1.7 noncharacter", "\uFDD0.com", CHARACTER),
        _Bad("46-4.1.7 direction override", "a\u202Eb.com", CHARACTER),
        _Bad("46-4.1.7 in an empty plane", "\U00045678.com", CHARACTER),
        _Bad("46-4.1.7 where plane 14 is ignored", "\U00040100.com", CHARACTER),
        _Bad("46-4.1.7 language tag", "\U000E0041.com", CHARACTER),
        _Bad("46-4.1.7 the last of all", "\U0010FFFF.com", CHARACTER),
        _Bad("46-4.1.6 accent", "\u0301a.com", MARK),
        _Bad("46-4.1.6 vowel sign", "\u093E\u0915.com", MARK),
        _Bad("46-4.1.6 behind a dot", "a.\u0301b", MARK),
        _Bad("46-4.1.6 encoded", "xn--a-wbb.com", MARK),
        _Bad("5892-A.2 joiner between letters", "a\u200Db", JOINER),
        _Bad("5892-A.2 joiner first", "\u200Da", JOINER),
        _Bad(
            "5892-A.2 joiner between Arabic letters",
            "\u0628\u200D\u0628",
            JOINER,
        ),
        _Bad("5892-A.1 non-joiner last", "\u0628\u200C", JOINER),
        _Bad(
            "5892-A.1 non-joiner behind a letter that joins the right alone",
            "\u062F\u200C\u0628",
            JOINER,
        ),
        _Bad("5892-A.2 encoded", "xn--ab-m1t", JOINER),
        _Bad("5893-2.2 Latin in Hebrew", "\u05D0a", MIXED),
        _Bad("5893-2.2 encoded", "xn--a-zhc", MIXED),
        _Bad("5893-2.5 Hebrew in Latin", "a\u05D0", MIXED),
        _Bad("5893-2.5 Arabic digit in Latin", "a\u0661b", MIXED),
        _Bad("5893-2.1 digit first", "1\u05D0", EDGE),
        _Bad("5893-2.1 digit first in another label", "\u05D0.1a", EDGE),
        _Bad("5893-2.1 sign first in another label", "_a.\u05D0", EDGE),
        _Bad("5893-2.3 hyphen last", "\u05D0-", EDGE),
        _Bad("5893-2.6 hyphen last in another label", "\u05D0.a-", EDGE),
        _Bad(
            "5893-2.4 two kinds of digits",
            "\u05D01\u0661",
            "a label of the host mixes two kinds of digits",
        ),
        _Bad("46-4-4 nothing encoded", "xn--", ONLY_ASCII),
        _Bad("46-4-4 only ASCII encoded", "xn--abc-", ONLY_ASCII),
        _Bad("3492-6.2 cut off", "xn--99999", PUNYCODE),
        _Bad("3492-6.2 above U+10FFFF", "xn--99999999", PUNYCODE),
        _Bad("3492-6.2 no digit", "xn--a!b", PUNYCODE),
        _Bad("3492-3.1 a hyphen that parts nothing", "xn---tda", PUNYCODE),
        _Bad(
            "46-4-4.1 not ASCII",
            "xn--\u00E9",
            "a label that starts with xn-- has to be ASCII",
        ),
        _Bad(
            "46-4.1.1 decomposed",
            "xn--e-xbb",
            "an encoded label is not in Normalization Form C",
        ),
        _Bad("46-4.1.7 encoded capital", "xn--dca", CHARACTER),
        _Bad("46-4.1.7 encoded ligature", "xn--o-xy8h", CHARACTER),
        _Bad("46-4.1.7 encoded full stop", "xn--ab-r13a", CHARACTER),
        _Bad(
            "46-4.1.4 encoded twice", "xn--xn---epa", "a label is encoded twice"
        ),
    ]
    for row in rows:
        assert_equal(_refusal(row.text).reason, row.reason, row.rule)


def test_idna_refuses_what_is_not_utf8() raises:
    var cut: List[UInt8] = [97, 0xC3]
    var surrogate: List[UInt8] = [0xED, 0xA0, 0x80]
    for octets in [cut^, surrogate^]:
        var is_refused = False
        try:
            _ = domain_to_ascii(octets)
        except error:
            is_refused = error.reason == "the host is not UTF-8"
        assert_true(is_refused)


def test_idna_in_a_url() raises:
    assert_equal(
        Url.parse("http://Ya\u011F\u0131z.com").host(), "xn--yaz-isa4g.com"
    )
    # What mapping makes is checked like what was written (URL 3.5).
    for text in [
        "http://a\u00A0b/",  # a space
        "http://a\uFF0Fb/",  # a slash
        "http://a\uFF20b/",  # an at sign
        "http://\u2100/",  # a/c
        "http://\uFF05\uFF10\uFF10/",  # %00
    ]:
        var is_refused = False
        try:
            _ = Url.parse(text)
        except error:
            is_refused = error.reason == "a host may not have such an octet"
        assert_true(is_refused, text)
    assert_equal(Url.parse("http://\uFF11.\uFF12.3.4/").hostname(), "1.2.3.4")


@fieldwise_init
struct _PunycodeRow(Copyable, Movable):
    """A label and its encoding."""

    var sample: StaticString
    var label: StaticString
    var encoded: StaticString


def _code_points(text: StringSpan) -> List[Int]:
    var code_points = List[Int]()
    for code_point in text.codepoints():
        code_points.append(Int(code_point))
    return code_points^


def test_punycode_samples() raises:
    var rows: List[_PunycodeRow] = [
        _PunycodeRow("B Chinese", "他们为什么不说中文", "ihqwcrb4cv8a8dqg056pqjye"),
        _PunycodeRow(
            "D Czech",
            "pročprostěnemluvíčesky",
            "proprostnemluvesky-uyb24dma41a",
        ),
        _PunycodeRow("L Japanese", "3年b組金八先生", "3b-ww4c5e180e575a65lsy2b"),
        _PunycodeRow("R Japanese", "そのスピードで", "d9juau41awczczp"),
        _PunycodeRow("no other letter", "abc", "abc-"),
        _PunycodeRow("a hyphen at the start", "-\u00FC", "--eha"),
    ]
    for row in rows:
        var code_points = _code_points(row.label)
        var encoded = List[UInt8]()
        punycode_encode(code_points, encoded)
        assert_equal(
            StringSpan(unsafe_from_utf8=encoded), row.encoded, row.sample
        )
        assert_equal(punycode_decode(encoded).value(), code_points, row.sample)


def test_punycode_refuses() raises:
    var rows: List[StaticString] = [
        "\u00FC",  # not ASCII
        "a!",  # no digit
        "99999",  # cut off
        "99999999",  # above U+10FFFF
        "ls8h=",  # no digit behind digits
        "-tda",  # a hyphen that parts nothing (section 3.1)
    ]
    for row in rows:
        assert_false(Bool(punycode_decode(row.as_bytes())), row)
    var many = String("9" * 500)
    assert_false(Bool(punycode_decode(many.as_bytes())))
    assert_true(Bool(punycode_decode("".as_bytes())))
