"""The names of content codings (RFC 9110 section 8.4.1)."""

from flare.compress import (
    ContentCoding,
    Format,
    can_decode,
    can_encode,
    is_available,
)
from tests.support.assertions import assert_equal, assert_false, assert_true


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var token: StaticString
    var name: StaticString


def test_parse() raises:
    var rows: List[_Row] = [
        _Row("9110-8.4.1.3", "gzip", "gzip"),
        _Row("9110-8.4.1.3 x-gzip is equivalent", "x-gzip", "gzip"),
        _Row("9110-8.4.1 case does not matter", "X-GZip", "gzip"),
        _Row("9110-8.4.1.2", "Deflate", "deflate"),
        _Row("7932-13", "bR", "br"),
        _Row("9110-12.5.3", "identity", "identity"),
        _Row("8878-7.2", "ZStd", "zstd"),
        _Row("dictionaries are not supported", "dcz", ""),
        _Row("9110-8.4.1.1 is not supported", "compress", ""),
        _Row("no name", "", ""),
        _Row("no prefix", "gzi", ""),
        _Row("no space", "gzip ", ""),
        _Row("the wildcard is none", "*", ""),
    ]
    for row in rows:
        var coding = ContentCoding.parse(row.token.as_bytes())
        assert_equal(Bool(coding), row.name != "", row.rule)
        if coding:
            assert_equal(String(coding.value()), row.name, row.rule)


def test_formats() raises:
    assert_true(ContentCoding.GZIP.format().value() == Format.GZIP)
    assert_true(ContentCoding.DEFLATE.format().value() == Format.DEFLATE)
    assert_true(ContentCoding.BR.format().value() == Format.BROTLI)
    assert_true(ContentCoding.ZSTD.format().value() == Format.ZSTD)
    assert_false(ContentCoding.IDENTITY.format())


def test_availability() raises:
    assert_true(is_available("gzip"))
    assert_true(is_available("x-gzip"))
    assert_true(is_available("deflate"))
    assert_true(is_available("identity"))
    assert_false(is_available("dcz"))
    assert_equal(
        is_available("zstd"),
        can_decode(ContentCoding.ZSTD) and can_encode(ContentCoding.ZSTD),
    )
    assert_equal(
        is_available("br"),
        can_decode(ContentCoding.BR) and can_encode(ContentCoding.BR),
    )
