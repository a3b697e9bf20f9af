"""Files of a folder: what is found, what is not, and how much of it is sent."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.compress.content_coding import ContentCoding
from flare.http.message.body import Poll
from flare.http.message.date import parse_http_date
from flare.http.message.owned_request import OwnedRequest
from flare.http.message.response import Response
from flare.http.middleware.compress import Compress
from flare.http.routing.router import Router
from flare.http.static.file_server import FileServer, FileServerConfig, file_tag
from flare.sys.clock import unix_seconds
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)
from tests.support.temporary_folder import TemporaryFolder
from std.os import mkdir, remove, symlink
from std.pathlib import Path
from std.subprocess import run


def _write(folder: String, name: StringSpan, text: StringSpan) raises:
    Path(String(folder, "/", name)).write_text(text)


def _fill(folder: String) raises:
    mkdir(folder + "/files")
    mkdir(folder + "/files/sub")
    mkdir(folder + "/files/empty")
    _write(folder, "secret.txt", "secret")
    _write(folder, "files/a.txt", "0123456789")
    _write(folder, "files/none.bin", "")
    _write(folder, "files/.env", "secret")
    _write(folder, "files/sub/index.html", "<p>index")
    _write(folder, "files/app.js", "plain")
    _write(folder, "files/app.js.br", "as br")
    _write(folder, "files/app.js.gz", "as gz")
    symlink("../secret.txt", folder + "/files/link.txt")


def _set_time(path: String, time: StringSpan) raises:
    """Sets when a file was last changed."""
    _ = run(String("touch -d '", time, "' '", path, "'"))


def _content(response: Response) raises -> String:
    if not response.body.is_stream():
        return response.body.text()
    var stream = response.body.stream()
    var out = Buffer()
    while stream[].fill(out) != Poll.DONE:
        pass
    assert_equal(len(out), stream[].length.value())
    return String(from_utf8=out.span())


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var method: StaticString
    var path: StaticString
    var name: StaticString
    var value: StaticString
    var status: Int
    var content: StaticString


def _serve(server: FileServer, row: _Row) raises -> Response:
    var request = OwnedRequest(row.method, row.path)
    if row.name != "":
        request.add_header(row.name, row.value)
    return server.serve(request.view())


def test_finds() raises:
    var rows: List[_Row] = [
        _Row("file", "GET", "/a.txt", "", "", 200, "0123456789"),
        _Row("HEAD", "HEAD", "/a.txt", "", "", 200, "0123456789"),
        _Row("POST", "POST", "/a.txt", "", "", 405, ""),
        _Row("no octets", "GET", "/none.bin", "", "", 200, ""),
        _Row("index", "GET", "/sub/", "", "", 200, "<p>index"),
        _Row("no slash", "GET", "/sub", "", "", 301, ""),
        _Row("no index", "GET", "/empty/", "", "", 404, "not found"),
        _Row("root", "GET", "/", "", "", 404, "not found"),
        _Row("no file", "GET", "/b.txt", "", "", 404, "not found"),
        _Row("file as folder", "GET", "/a.txt/", "", "", 404, "not found"),
        _Row("below a file", "GET", "/a.txt/b", "", "", 404, "not found"),
        _Row("hidden", "GET", "/.env", "", "", 404, "not found"),
        _Row("out", "GET", "/../secret.txt", "", "", 404, "not found"),
        _Row("coded", "GET", "/%2e%2e/secret.txt", "", "", 404, "not found"),
        _Row("link", "GET", "/link.txt", "", "", 404, "not found"),
        _Row("link above", "GET", "/up/secret.txt", "", "", 404, "not found"),
        _Row("9110-14.2", "GET", "/a.txt", "Range", "bytes=2-4", 206, "234"),
        _Row(
            "9110-14.2 HEAD",
            "HEAD",
            "/a.txt",
            "Range",
            "bytes=2-4",
            200,
            "0123456789",
        ),
        _Row(
            "9110-14.2 units",
            "GET",
            "/a.txt",
            "Range",
            "x=2-4",
            200,
            "0123456789",
        ),
        _Row("9110-15.5.17", "GET", "/a.txt", "Range", "bytes=10-", 416, ""),
        _Row(
            "9110-15.3.7.2",
            "GET",
            "/a.txt",
            "Range",
            "bytes=0-1,4-5",
            206,
            "012345",
        ),
        _Row("9110-14.1.2", "GET", "/none.bin", "Range", "bytes=-5", 200, ""),
        _Row("9110-13.1.2 any", "GET", "/a.txt", "If-None-Match", "*", 304, ""),
        _Row("9110-13.1.1 other", "GET", "/a.txt", "If-Match", '"x"', 412, ""),
        _Row("9110-12.5.3", "GET", "/app.js", "", "", 200, "plain"),
        _Row(
            "9110-12.5.3 br",
            "GET",
            "/app.js",
            "Accept-Encoding",
            "gzip, br",
            200,
            "as br",
        ),
        _Row(
            "9110-12.5.3 gzip",
            "GET",
            "/app.js",
            "Accept-Encoding",
            "gzip",
            200,
            "as gz",
        ),
        _Row(
            "9110-12.5.3 q=0",
            "GET",
            "/app.js",
            "Accept-Encoding",
            "br;q=0",
            200,
            "plain",
        ),
        _Row(
            "9110-12.5.3 what is wanted most is no coding",
            "GET",
            "/app.js",
            "Accept-Encoding",
            "identity, gzip;q=0.5, *;q=0.1",
            200,
            "plain",
        ),
        _Row(
            "9110-12.5.3 no coding is refused",
            "GET",
            "/app.js",
            "Accept-Encoding",
            "gzip;q=0.1, identity;q=0",
            200,
            "as gz",
        ),
    ]
    with TemporaryFolder() as folder:
        _fill(folder)
        var up = folder + "/files/up"
        symlink("..", up)
        var server = FileServer(folder + "/files")
        for row in rows:
            var response = _serve(server, row)
            assert_equal(Int(response.status.code), row.status, row.rule)
            assert_equal(_content(response), row.content, row.rule)
        # The folder's end does not clean up links to folders.
        remove(up)


@fieldwise_init
struct _Routed(Copyable, Movable):
    var path: StaticString
    var status: Int
    var content: StaticString


def test_takes_what_the_route_has_before_its_rest() raises:
    var rows: List[_Routed] = [
        _Routed("/static/a.txt", 200, "0123456789"),
        _Routed("/static/sub/", 200, "<p>index"),
        _Routed("/%73tatic/a.txt", 200, "0123456789"),
        _Routed("/static/static/a.txt", 404, "not found"),
        _Routed("/static/../secret.txt", 404, "not found"),
        _Routed("/static/%2e%2e/secret.txt", 404, "not found"),
        _Routed("/api/v1/files/a.txt", 200, "0123456789"),
        _Routed("/of/ann/sub/index.html", 200, "<p>index"),
        _Routed("/named/a.txt", 404, "not found"),
        _Routed("/a.txt", 200, "0123456789"),
    ]
    with TemporaryFolder() as folder:
        _fill(folder)
        var files = folder + "/files"
        var inner = Router()
        inner.get("/files/*rest", FileServer(files))
        var router = Router()
        router.get("/static/*rest", FileServer(files))
        router.mount("/api/v1", inner^)
        router.get("/of/:user/*rest", FileServer(files))
        # A name without a rest is a part of the file's path.
        router.get("/named/:name", FileServer(files))
        router.fallback(FileServer(files))
        for row in rows:
            var response = router.serve(OwnedRequest("GET", row.path).view())
            assert_equal(Int(response.status.code), row.status, row.path)
            assert_equal(_content(response), row.content, row.path)


def test_paths_of_the_configuration() raises:
    """`FileServerConfig`: a slash in front stands for the folder, and what can
    be no file below it is told of when the server is made."""
    with TemporaryFolder() as folder:
        _fill(folder)
        var files = folder + "/files"
        for name in ["a.txt", "/a.txt"]:
            var server = FileServer(
                files, FileServerConfig(fallback_file=name, index_file=name)
            )
            for path in ["/", "/none/of/these"]:
                var response = server.serve(OwnedRequest("GET", path).view())
                assert_equal(Int(response.status.code), 200, name)
                assert_equal(_content(response), "0123456789", name)
        var deeper = FileServer(
            files, FileServerConfig(fallback_file="/sub/index.html")
        )
        assert_equal(
            _content(deeper.serve(OwnedRequest("GET", "/none").view())),
            "<p>index",
        )
        for name in [
            "/",
            "//a.txt",
            "../secret.txt",
            "sub/../a.txt",
            "./a.txt",
            "sub/",
            "sub//index.html",
            "a\\b",
            "a\nb",
            "n" * 256,
        ]:
            with assert_raises(contains="of fallback_file is no file"):
                _ = FileServer(files, FileServerConfig(fallback_file=name))
            with assert_raises(contains="of index_file is no file"):
                _ = FileServer(files, FileServerConfig(index_file=name))
        with assert_raises(contains="octet"):
            _ = FileServer(
                files, FileServerConfig(cache_control="max-age=1\r\nX: y")
            )


def test_a_file_that_the_program_chooses() raises:
    # RFC 9110 sections 13 and 14 hold for it as for others; no path of a
    # program that a client had a hand in leads out of the folder.
    var rows: List[_Row] = [
        _Row("by its path", "GET", "a.txt", "", "", 200, "0123456789"),
        _Row("HEAD", "HEAD", "a.txt", "", "", 200, "0123456789"),
        _Row("below", "GET", "sub/index.html", "", "", 200, "<p>index"),
        _Row("with a slash", "GET", "/a.txt", "", "", 200, "0123456789"),
        _Row("14.2 a range", "GET", "a.txt", "Range", "bytes=2-4", 206, "234"),
        _Row("13.1.2", "GET", "a.txt", "If-None-Match", "*", 304, ""),
        _Row("coded", "GET", "app.js", "Accept-Encoding", "br", 200, "as br"),
        _Row("another method", "POST", "a.txt", "", "", 200, "0123456789"),
        _Row(
            "conditions of a POST",
            "POST",
            "a.txt",
            "If-None-Match",
            "*",
            200,
            "0123456789",
        ),
        _Row("a folder", "GET", "sub", "", "", 404, "not found"),
        _Row("a folder with a slash", "GET", "sub/", "", "", 404, "not found"),
        _Row("none", "GET", "b.txt", "", "", 404, "not found"),
        _Row("empty", "GET", "", "", "", 404, "not found"),
        _Row("above", "GET", "../secret.txt", "", "", 404, "not found"),
        _Row(
            "above within",
            "GET",
            "sub/../../secret.txt",
            "",
            "",
            404,
            "not found",
        ),
        _Row("two slashes", "GET", "//a.txt", "", "", 404, "not found"),
        _Row("a link", "GET", "link.txt", "", "", 404, "not found"),
        _Row("hidden", "GET", ".env", "", "", 404, "not found"),
        _Row("NUL", "GET", "a.txt\x00", "", "", 404, "not found"),
        _Row("not decoded", "GET", "a%2etxt", "", "", 404, "not found"),
    ]
    with TemporaryFolder() as folder:
        _fill(folder)
        var server = FileServer(folder + "/files")
        for row in rows:
            # The request's own path says nothing of the file.
            var request = OwnedRequest(row.method, "/invoices/7")
            if row.name != "":
                request.add_header(row.name, row.value)
            var response = server.serve_file(request.view(), row.path)
            assert_equal(response.status, row.status, row.rule)
            assert_equal(_content(response), row.content, row.rule)
        var hidden = FileServer(
            folder + "/files", FileServerConfig(serves_hidden=True)
        )
        var asked = OwnedRequest("GET", "/")
        var response = hidden.serve_file(asked.view(), ".env")
        assert_equal(_content(response), "secret")
        var named = server.serve_file(asked.view(), "sub/index.html")
        assert_equal(named.headers["Content-Type"], "text/html; charset=utf-8")


def test_a_folder_below_a_route_is_sent_to_its_slash() raises:
    with TemporaryFolder() as folder:
        _fill(folder)
        var router = Router()
        router.get("/static/*rest", FileServer(folder + "/files"))
        var response = router.serve(OwnedRequest("GET", "/static/sub").view())
        assert_equal(Int(response.status.code), 301)
        assert_equal(response.headers["location"], "/static/sub/")


def test_fields() raises:
    with TemporaryFolder() as folder:
        _fill(folder)
        var config = FileServerConfig(
            prefix="/static", cache_control="max-age=60"
        )
        var server = FileServer(folder + "/files", config^)
        var request = OwnedRequest("GET", "/static/a.txt")
        var response = server.serve(request.view())
        assert_equal(response.headers["accept-ranges"], "bytes")
        assert_equal(response.headers["cache-control"], "max-age=60")
        assert_equal(
            response.headers["content-type"], "text/plain; charset=utf-8"
        )
        assert_false("vary" in response.headers)
        _set_time(folder + "/files/a.txt", "@784111777")
        response = server.serve(request.view())
        var tag = String(response.headers["etag"])
        var date = String(response.headers["last-modified"])
        # The validators of one response are the conditions of the next.
        request.add_header("If-None-Match", tag)
        var again = server.serve(request.view())
        assert_equal(Int(again.status.code), 304)
        assert_equal(again.headers["etag"], tag)
        var since = OwnedRequest("GET", "/static/a.txt")
        since.add_header("If-Modified-Since", date)
        assert_equal(Int(server.serve(since.view()).status.code), 304)
        var part = OwnedRequest("GET", "/static/a.txt")
        part.add_header("Range", "bytes=1-1")
        part.add_header("If-Range", tag)
        var found = server.serve(part.view())
        assert_equal(Int(found.status.code), 206)
        assert_equal(found.headers["content-range"], "bytes 1-1/10")
        _write(folder, "files/a.txt", "changed since")
        found = server.serve(part.view())
        assert_equal(Int(found.status.code), 200)
        assert_equal(_content(found), "changed since")
        var coded = OwnedRequest("GET", "/static/app.js")
        var plain = server.serve(coded.view())
        assert_equal(plain.headers["vary"], "Accept-Encoding")
        coded.add_header("Accept-Encoding", "br")
        var brotli = server.serve(coded.view())
        assert_equal(brotli.headers["content-encoding"], "br")
        assert_true(brotli.headers["etag"] != plain.headers["etag"])
        assert_true(
            brotli.headers["content-type"].startswith("text/javascript")
        )
        var other = OwnedRequest("GET", "/a.txt")
        assert_equal(Int(server.serve(other.view()).status.code), 404)


def test_head_of_a_short_file_says_what_get_does() raises:
    """9110-9.3.2: also around a `Compress`, which codes what is in memory."""
    with TemporaryFolder() as folder:
        Path(folder + "/a.txt").write_text(String("all work ") * 300)
        _set_time(folder + "/a.txt", "2020-01-01 00:00:00")
        var server = Compress(FileServer(folder))
        var get = OwnedRequest("GET", "/a.txt")
        get.add_header("Accept-Encoding", "gzip")
        var whole = server.serve(get.view())
        assert_equal(whole.headers["content-encoding"], "gzip")
        var head = OwnedRequest("HEAD", "/a.txt")
        head.add_header("Accept-Encoding", "gzip")
        var short = server.serve(head.view())
        assert_equal(String(short.headers), String(whole.headers))
        assert_equal(len(short.body), len(whole.body))


def test_several_ranges() raises:
    with TemporaryFolder() as folder:
        _fill(folder)
        var text = String()
        for number in range(1_000):
            text.write(number % 10)
        _write(folder, "files/long.txt", text)
        var server = FileServer(folder + "/files")
        var request = OwnedRequest("GET", "/long.txt")
        request.add_header("Range", "bytes=500-501,0-2,-1")
        var response = server.serve(request.view())
        assert_equal(Int(response.status.code), 206)
        var kind = String(response.headers["content-type"])
        assert_true(kind.startswith("multipart/byteranges; boundary="))
        var line = "--" + String(
            kind.removeprefix("multipart/byteranges; boundary=")
        )
        var head = (
            line
            + "\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Range: bytes "
        )
        assert_equal(
            _content(response),
            head
            + "500-501/1000\r\n\r\n01\r\n"
            + head
            + "0-2/1000\r\n\r\n012\r\n"
            + head
            + "999-999/1000\r\n\r\n9\r\n"
            + line
            + "--\r\n",
        )


def test_links_fallback_and_lists() raises:
    with TemporaryFolder() as folder:
        _fill(folder)
        _write(folder, "files/<b> & 'c'.txt", "x")
        var config = FileServerConfig(
            follows_links=True, serves_hidden=True, lists_folders=True
        )
        var server = FileServer(folder + "/files", config^)
        var link = _Row("", "GET", "/link.txt", "", "", 0, "")
        assert_equal(_content(_serve(server, link)), "secret")
        var hidden = _Row("", "GET", "/.env", "", "", 0, "")
        assert_equal(_content(_serve(server, hidden)), "secret")
        var list = _content(_serve(server, _Row("", "GET", "/", "", "", 0, "")))
        assert_true('<a href="./sub/">sub/</a>' in list, list)
        assert_true("&lt;b&gt; &amp; " in list)
        assert_false("<b>" in list)
        var fallback = FileServer(
            folder + "/files",
            FileServerConfig(
                fallback_file="a.txt", index_file="", serves_coded=False
            ),
        )
        var deep = _Row("", "GET", "/some/view", "Accept-Encoding", "br", 0, "")
        assert_equal(_content(_serve(fallback, deep)), "0123456789")
        var coded = _Row("", "GET", "/app.js", "Accept-Encoding", "br", 0, "")
        assert_equal(_content(_serve(fallback, coded)), "plain")
        var index = _Row("", "GET", "/sub/", "", "", 0, "")
        assert_equal(_content(_serve(fallback, index)), "0123456789")


def test_a_304_says_nothing_of_content() raises:
    """RFC 9110 section 15.4.5: a client that has the plain file would take it
    for a coded one."""
    with TemporaryFolder() as folder:
        _fill(folder)
        var server = FileServer(folder + "/files")
        var request = OwnedRequest("GET", "/app.js")
        request.add_header("Accept-Encoding", "br")
        assert_equal(
            server.serve(request.view()).headers["content-encoding"], "br"
        )
        request.add_header("If-None-Match", "*")
        var known = server.serve(request.view())
        assert_equal(Int(known.status.code), 304)
        assert_equal(known.headers["vary"], "Accept-Encoding")
        assert_false("content-encoding" in known.headers)


def test_a_list_has_what_is_served() raises:
    with TemporaryFolder() as folder:
        mkdir(folder + "/files")
        mkdir(folder + "/files/.well-known")
        for name in ["a", ".env", "b\\c", "d\te"]:
            _write(folder, "files/" + name, "x")
        var server = FileServer(
            folder + "/files", FileServerConfig(lists_folders=True)
        )
        var list = _content(_serve(server, _Row("", "GET", "/", "", "", 0, "")))
        assert_true('<a href="./a">' in list, list)
        assert_true('<a href="./.well-known/">' in list, list)
        for name in ["env", "b%5C", "d%09"]:
            assert_false(String("./", name) in list or "./." + name in list)


def test_a_file_that_is_cut_breaks_off() raises:
    with TemporaryFolder() as folder:
        mkdir(folder + "/files")
        _write(folder, "files/a.txt", String("x") * 200_000)
        var server = FileServer(folder + "/files")
        var request = OwnedRequest("GET", "/a.txt")
        var response = server.serve(request.view())
        _write(folder, "files/a.txt", "short")
        var is_broken = False
        try:
            _ = _content(response)
        except error:
            is_broken = "it was longer" in String(error)
        assert_true(is_broken)


def test_a_prefix_that_no_file_is_below_is_refused() raises:
    with TemporaryFolder() as folder:
        for prefix in ["static", "/static/", "/", "//"]:
            with assert_raises(contains="write it as '/static'"):
                _ = FileServer(folder, FileServerConfig(prefix=String(prefix)))


def test_a_folder_that_is_not_there_is_named() raises:
    with assert_raises(
        contains=(
            "FileServer: cannot open the folder '/nowhere/at/all': no such file"
            " (errno 2)"
        )
    ):
        _ = FileServer("/nowhere/at/all")


def test_no_two_contents_share_a_strong_tag() raises:
    # RFC 9110-8.8.1: a strong validator changes with every octet. The kernel's
    # clock for files steps by milliseconds, and these writes take microseconds.
    with TemporaryFolder() as folder:
        _fill(folder)
        var server = FileServer(folder + "/files")
        var request = OwnedRequest("GET", "/a.txt")
        var tags = List[String]()
        var contents = List[String]()
        for number in range(1_000, 1_100):
            _write(folder, "files/a.txt", String(number))
            var response = server.serve(request.view())
            tags.append(String(response.headers["etag"]))
            contents.append(_content(response))
        for index in range(1, len(tags)):
            assert_true(contents[index] != contents[index - 1])
            if tags[index] == tags[index - 1]:
                assert_true(tags[index].startswith("W/"), tags[index])


def test_no_file_is_of_the_future() raises:
    """RFC 9110 section 8.8.2.1: it is not said to be newer than its response."""
    with TemporaryFolder() as folder:
        _fill(folder)
        _set_time(folder + "/files/a.txt", "2099-01-01 00:00:00 UTC")
        var server = FileServer(folder + "/files")
        var request = OwnedRequest("GET", "/a.txt")
        var before_s = unix_seconds()
        var response = server.serve(request.view())
        var date = response.headers["last-modified"].as_bytes()
        var modified_s = parse_http_date(date, before_s)
        assert_true(Bool(modified_s))
        assert_true(modified_s.value() >= before_s)
        assert_true(modified_s.value() <= unix_seconds())


def test_ranges_of_a_young_file() raises:
    with TemporaryFolder() as folder:
        _fill(folder)
        var server = FileServer(folder + "/files")
        # As young as can be, for as long as this takes.
        _set_time(folder + "/files/a.txt", "now + 1 day")
        var request = OwnedRequest("GET", "/a.txt")
        request.add_header("Range", "bytes=1-1")
        var response = server.serve(request.view())
        # Section 14.2: a range that nothing is joined to is given.
        assert_equal(Int(response.status.code), 206)
        var tag = String(response.headers["etag"])
        assert_true(tag.startswith('W/"'), tag)
        var joined = OwnedRequest("GET", "/a.txt")
        joined.add_header("Range", "bytes=1-1")
        joined.add_header("If-Range", tag)
        # Section 13.1.5: a weak tag names no octets.
        response = server.serve(joined.view())
        assert_equal(Int(response.status.code), 200)
        assert_equal(_content(response), "0123456789")
        var matching = OwnedRequest("GET", "/a.txt")
        matching.add_header("If-Match", tag)
        assert_equal(Int(server.serve(matching.view()).status.code), 412)
        var known = OwnedRequest("GET", "/a.txt")
        known.add_header("If-None-Match", tag)
        assert_equal(Int(server.serve(known.view()).status.code), 304)
        # Once it has settled, what was kept of it is asked for again.
        _set_time(folder + "/files/a.txt", "@784111777")
        response = server.serve(known.view())
        assert_equal(Int(response.status.code), 200)
        assert_false(response.headers["etag"].startswith("W/"))


@fieldwise_init
struct _Tag(Copyable, Movable):
    var rule: StaticString
    var modified_ns: Int
    var age_ns: Int
    var is_weak: Bool


def test_how_young_is_too_young() raises:
    comptime FINE = 1_700_000_000_123_456_789
    comptime COARSE = 1_700_000_000_000_000_000
    var rows: List[_Tag] = [
        _Tag("now", FINE, 0, True),
        _Tag("within a step of 4 ms", FINE, 3_999_999, True),
        _Tag("within a step of 10 ms", FINE, 9_999_999, True),
        _Tag("settled", FINE, 100_000_000, False),
        _Tag("of the future", FINE, -1, True),
        _Tag("far in the future", FINE, -86_400_000_000_000, True),
        _Tag("whole seconds, within one", COARSE, 999_999_999, True),
        _Tag("even seconds, within two", COARSE, 1_999_999_999, True),
        _Tag("whole seconds, settled", COARSE, 2_000_000_000, False),
        _Tag("before 1970", -5, 1_000_000_000, False),
    ]
    for row in rows:
        for coding in [ContentCoding.IDENTITY, ContentCoding.GZIP]:
            var now_ns = row.modified_ns + row.age_ns
            var tag = file_tag(7, row.modified_ns, coding, now_ns)
            assert_equal(tag.is_weak, row.is_weak, row.rule)
            var later = file_tag(7, row.modified_ns, coding, now_ns + (1 << 60))
            assert_false(later.is_weak, row.rule)
            assert_equal(later.opaque == tag.opaque, not row.is_weak, row.rule)
