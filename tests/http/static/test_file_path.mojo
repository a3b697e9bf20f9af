"""Paths of files, and their media types."""

from flare.http.static.file_path import FilePath, UNKNOWN_FILE_TYPE, file_type
from tests.support.assertions import assert_equal, assert_false, assert_true


@fieldwise_init
struct _Row(Copyable, Movable):
    var encoded: StaticString
    var path: StaticString
    var is_folder: Bool


def test_takes() raises:
    var rows: List[_Row] = [
        _Row("/", "", True),
        _Row("/a", "a", False),
        _Row("/a/", "a", True),
        _Row("/a/b.c", "a/b.c", False),
        _Row("/a%20b", "a b", False),
        _Row("/%C3%A4", "ä", False),
        _Row("/%2e%2E%2e", "...", False),
        _Row("/a..b/c..", "a..b/c..", False),
        _Row("/a%252e", "a%2e", False),
        _Row("/.well-known/x", ".well-known/x", False),
        _Row("/+&=;", "+&=;", False),
    ]
    for row in rows:
        var is_hidden = row.path.startswith("...")
        var found = FilePath.parse(
            row.encoded.as_bytes(), serves_hidden=is_hidden
        )
        assert_true(found, row.encoded)
        assert_equal(found.value().path, row.path)
        assert_equal(found.value().is_folder, row.is_folder)


def test_refuses() raises:
    var rows: List[String] = [
        "",
        "a",
        "*",
        "//",
        "//a",
        "/a//b",
        "/a//",
        "/..",
        "/../",
        "/../x",
        "/a/..",
        "/a/../x",
        "/.",
        "/./a",
        "/a/.",
        "/%2e%2e/x",
        "/%2E.",
        "/.%2e/",
        "/a%2fb",
        "/..%2Fx",
        "/a%2F..%2Fb",
        "/a\\b",
        "/..\\x",
        "/%5c",
        "/a%00",
        "/a%0a",
        "/a%7f",
        "/%",
        "/%4",
        "/%zz",
        "/%ff",
        "/%c0%ae%c0%ae/x",
        "/.git/config",
        "/a/.env",
        "/.well-knownx",
        "/" + String("x") * 256,
    ]
    for encoded in rows:
        assert_false(FilePath.parse(encoded.as_bytes()), encoded)


def test_hidden_files() raises:
    var path = FilePath.parse("/.git/config".as_bytes(), serves_hidden=True)
    assert_equal(path.value().path, ".git/config")
    assert_false(FilePath.parse("/..".as_bytes(), serves_hidden=True))
    assert_false(FilePath.parse("/./a".as_bytes(), serves_hidden=True))


def test_types() raises:
    assert_equal(file_type("a/index.html"), "text/html; charset=utf-8")
    assert_equal(file_type("A.JPG"), "image/jpeg")
    assert_equal(file_type("a.tar.gz"), "application/gzip")
    for name in ["", "a", "a.", "a.html/b", ".", "x.unknown"]:
        assert_equal(file_type(name), UNKNOWN_FILE_TYPE)
