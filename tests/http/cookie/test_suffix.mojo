"""Public suffixes by the vectors of the list itself, and by its rules."""

from flare.http.cookie.suffix import is_public_suffix, public_suffix_start
from flare.url.url import Url
from tests.support.assertions import assert_equal, assert_false, assert_true


@fieldwise_init
struct _Row(Copyable, Movable):
    var host: StaticString
    # What can be registered of it; empty if it is a suffix.
    var registrable: StaticString


def _registrable(host: String) -> String:
    """Finds the suffix of a host with the label before it."""
    var start = public_suffix_start(host)
    if start <= 0:
        return String()
    var before = String(host[byte = 0 : start - 1])
    return String(host[byte = before.rfind(".") + 1 :])


def _ascii(host: StringSpan) raises -> String:
    if host.byte_length() == 0:
        return String()
    return String(Url.parse(String("http://", host)).hostname())


def test_vectors_of_the_list() raises:
    """The package's test_psl.txt, which is in the public domain; a leading dot
    makes no host, and stands in no row here."""
    var rows: List[_Row] = [
        _Row("COM", ""),
        _Row("example.COM", "example.com"),
        _Row("WwW.example.COM", "example.com"),
        _Row("example", ""),
        _Row("example.example", "example.example"),
        _Row("b.example.example", "example.example"),
        _Row("a.b.example.example", "example.example"),
        _Row("biz", ""),
        _Row("domain.biz", "domain.biz"),
        _Row("b.domain.biz", "domain.biz"),
        _Row("a.b.domain.biz", "domain.biz"),
        _Row("com", ""),
        _Row("example.com", "example.com"),
        _Row("b.example.com", "example.com"),
        _Row("a.b.example.com", "example.com"),
        _Row("uk.com", ""),
        _Row("example.uk.com", "example.uk.com"),
        _Row("b.example.uk.com", "example.uk.com"),
        _Row("a.b.example.uk.com", "example.uk.com"),
        _Row("test.ac", "test.ac"),
        _Row("mm", ""),
        _Row("c.mm", ""),
        _Row("b.c.mm", "b.c.mm"),
        _Row("a.b.c.mm", "b.c.mm"),
        _Row("jp", ""),
        _Row("test.jp", "test.jp"),
        _Row("www.test.jp", "test.jp"),
        _Row("ac.jp", ""),
        _Row("test.ac.jp", "test.ac.jp"),
        _Row("www.test.ac.jp", "test.ac.jp"),
        _Row("kyoto.jp", ""),
        _Row("test.kyoto.jp", "test.kyoto.jp"),
        _Row("ide.kyoto.jp", ""),
        _Row("b.ide.kyoto.jp", "b.ide.kyoto.jp"),
        _Row("a.b.ide.kyoto.jp", "b.ide.kyoto.jp"),
        _Row("c.kobe.jp", ""),
        _Row("b.c.kobe.jp", "b.c.kobe.jp"),
        _Row("a.b.c.kobe.jp", "b.c.kobe.jp"),
        _Row("city.kobe.jp", "city.kobe.jp"),
        _Row("www.city.kobe.jp", "city.kobe.jp"),
        _Row("ck", ""),
        _Row("test.ck", ""),
        _Row("b.test.ck", "b.test.ck"),
        _Row("a.b.test.ck", "b.test.ck"),
        _Row("www.ck", "www.ck"),
        _Row("www.www.ck", "www.ck"),
        _Row("us", ""),
        _Row("test.us", "test.us"),
        _Row("www.test.us", "test.us"),
        _Row("ak.us", ""),
        _Row("test.ak.us", "test.ak.us"),
        _Row("www.test.ak.us", "test.ak.us"),
        _Row("k12.ak.us", ""),
        _Row("test.k12.ak.us", "test.k12.ak.us"),
        _Row("www.test.k12.ak.us", "test.k12.ak.us"),
        _Row("食狮.com.cn", "食狮.com.cn"),
        _Row("食狮.公司.cn", "食狮.公司.cn"),
        _Row("www.食狮.公司.cn", "食狮.公司.cn"),
        _Row("shishi.公司.cn", "shishi.公司.cn"),
        _Row("公司.cn", ""),
        _Row("食狮.中国", "食狮.中国"),
        _Row("www.食狮.中国", "食狮.中国"),
        _Row("shishi.中国", "shishi.中国"),
        _Row("中国", ""),
        _Row("xn--85x722f.com.cn", "xn--85x722f.com.cn"),
        _Row("xn--85x722f.xn--55qx5d.cn", "xn--85x722f.xn--55qx5d.cn"),
        _Row("www.xn--85x722f.xn--55qx5d.cn", "xn--85x722f.xn--55qx5d.cn"),
        _Row("shishi.xn--55qx5d.cn", "shishi.xn--55qx5d.cn"),
        _Row("xn--55qx5d.cn", ""),
        _Row("xn--85x722f.xn--fiqs8s", "xn--85x722f.xn--fiqs8s"),
        _Row("www.xn--85x722f.xn--fiqs8s", "xn--85x722f.xn--fiqs8s"),
        _Row("shishi.xn--fiqs8s", "shishi.xn--fiqs8s"),
        _Row("xn--fiqs8s", ""),
    ]
    for row in rows:
        assert_equal(
            _registrable(_ascii(row.host)), _ascii(row.registrable), row.host
        )


def test_rules() raises:
    """Each kind of rule, of both parts of the list, at its edges."""
    for suffix in [
        "com",
        "co.uk",
        "github.io",
        "s3.amazonaws.com",
        "no-such-top-level",
        "com.",
        "anything.ck",
        "ide.kyoto.jp",
        "any.kobe.jp",
        "xn--55qx5d.cn",
        "xn--fiqs8s",
        "blogspot.com",
    ]:
        assert_true(is_public_suffix(suffix), suffix)
    for domain in [
        "",
        ".",
        "example.com",
        "amazonaws.com",
        "www.ck",
        "city.kobe.jp",
        "a.any.kobe.jp",
        "a.github.io",
        "xcom.example",
        "kobe.jp.example",
        "COM.example",
        "a.no-such-top-level",
    ]:
        assert_false(is_public_suffix(domain), domain)


def test_long_names() raises:
    assert_false(is_public_suffix("a." * 200 + "com"))
    assert_true(is_public_suffix("a" * 300))
