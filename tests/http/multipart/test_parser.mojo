"""Forms with files, read (RFC 7578, RFC 2046 section 5.1)."""

from flare.bytes.buffer import Buffer
from flare.http.multipart.parser import MultipartLimits, multipart_boundary
from flare.http.multipart.writer import FilePart, MultipartWriter
from tests.support.assertions import assert_equal, assert_true
from tests.support.guard_page import GuardedBytes
from tests.support.multipart_log import MultipartLog, read_in_pieces, read_whole

comptime _A = "--b\r\nContent-Disposition: form-data; name=a\r\n\r\n"
comptime _D = "--b\r\nContent-Disposition: form-data; "
comptime _E = "\r\n--b--"


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var body: StaticString
    var found: StaticString


def _rows() -> List[_Row]:
    return [
        _Row("7578-4.2 field", _A + "x" + _E, "a=x|"),
        _Row("2046-5.1.1 no part", "--b--\r\n", ""),
        _Row("2046-5.1.1 empty content", _A + _E, "a=|"),
        _Row("2046-5.1.1 no content", _A + "--b--", "a=|"),
        _Row(
            "2046-5.1.1 no content, two",
            _A + _A + "2" + _E,
            "a=|a=2|",
        ),
        _Row("2046-5.1.1 no content, not it", _A + "--bx" + _E, "a=--bx|"),
        _Row("2046-5.1.1 two", _A + "1\r\n" + _A + "2" + _E, "a=1|a=2|"),
        _Row(
            "2046-5.1.1 lines",
            _A + "1\r\n\r\n2" + _E,
            "a=1\\x0d\\x0a\\x0d\\x0a2|",
        ),
        _Row("2046-5.1.1 epilogue", _A + "x" + _E + "\r\n--b\r\nzzz", "a=x|"),
        _Row(
            "2046-5.1.1 longer word", _A + "\r\n--bc" + _E, "a=\\x0d\\x0a--bc|"
        ),
        _Row(
            "2046-5.1.1 one dash", _A + "\r\n--b-x" + _E, "a=\\x0d\\x0a--b-x|"
        ),
        _Row(
            "2046-5.1.1 two CR",
            _A + "\r\r\n--b\rx" + _E,
            "a=\\x0d\\x0d\\x0a--b\\x0dx|",
        ),
        _Row(
            "7578-4.2 file",
            _D + 'name="f"; filename="x.txt"\r\n\r\n1' + _E,
            "f(x.txt)=1|",
        ),
        _Row(
            "7578-4.2 no file chosen",
            _D + 'name=f; filename=""\r\n\r\n' + _E,
            "f()=|",
        ),
        _Row(
            "7578-4.2 folders",
            _D + 'name=f; filename="C:\\d\\x.txt"\r\n\r\n' + _E,
            "f(x.txt)=|",
        ),
        _Row(
            "7578-4.2 way out",
            _D + 'name=f; filename="../../x"\r\n\r\n' + _E,
            "f(x)=|",
        ),
        _Row(
            "7578-4.2 filename*",
            _D + "name=f; filename*=UTF-8''x\r\n\r\n" + _E,
            "f=|",
        ),
        _Row("html quote", _D + 'name="a%22\\"%41"\r\n\r\n' + _E, 'a""%41=|'),
        _Row(
            "html backslash at the end", _D + 'name="a\\"\r\n\r\n' + _E, "a\\=|"
        ),
        _Row(
            "html backslash at the end, then a file",
            _D + 'name="a\\" ; filename="x"\r\n\r\n' + _E,
            "a\\(x)=|",
        ),
        _Row(
            "9110-5.6.4 quote and semicolon",
            _D + 'name="a\\"; b"; filename=x\r\n\r\n' + _E,
            'a"; b(x)=|',
        ),
        _Row(
            "9110-5.6.4 what follows a quote",
            _D + 'name="a\\"b"c; filename=x\r\n\r\n' + _E,
            'a"b(x)=|',
        ),
        _Row(
            "9110-5.6.6 order",
            _D + 'filename=x ;NAME = "f"\r\n\r\n' + _E,
            "f(x)=|",
        ),
        _Row(
            "9110-5.6.4 semicolon",
            _D + 'name="f;filename=x"\r\n\r\n' + _E,
            "f;filename=x=|",
        ),
        _Row(
            "7578-4.4 type",
            _D + "name=f\r\ncontent-TYPE:  a/b \r\n\r\n" + _E,
            "f[a/b]=|",
        ),
        _Row("7578-4.8 others", _D + "name=f\r\nX-Y: z\r\n\r\n" + _E, "f=|"),
        _Row(
            "7578-4.7 base64",
            _D
            + "name=f\r\nContent-Transfer-Encoding: base64\r\n\r\naGVs\r\nbG8="
            + _E,
            "f=hello|",
        ),
        _Row(
            "7578-4.7 printable",
            _D
            + "name=f\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\na=3D =\r\nb  "
            + _E,
            "f=a= b|",
        ),
        _Row(
            "7578-4.7 8bit",
            _D + "name=f\r\nContent-Transfer-Encoding: 8BIT\r\n\r\n=3D" + _E,
            "f==3D|",
        ),
    ]


def test_reads() raises:
    for row in _rows():
        var guarded = GuardedBytes(row.body.as_bytes())
        assert_equal(read_whole("b", guarded.span()), row.found, row.rule)


def test_padding_behind_a_boundary() raises:
    """RFC 2046 section 5.1.1: transport padding, behind any of them, wherever it
    is cut."""
    var fields = "\r\nContent-Disposition: form-data; name=a\r\n\r\n"
    for padding in [" ", "\t", " \t", "  ", " " * 64]:
        for place in range(3):
            var body = String("--b", padding if place == 0 else "", fields, "1")
            body.write("\r\n--b", padding if place == 1 else "", fields, "2")
            body.write("\r\n--b--", padding if place == 2 else "", "\r\n")
            var octets = body.as_bytes()
            assert_equal(read_whole("b", octets), "a=1|a=2|", body)
            for cut in range(len(octets) + 1):
                assert_equal(
                    read_in_pieces("b", octets, [0, cut, len(octets)]),
                    "a=1|a=2|",
                    body,
                )
    # More is none, but content.
    var line = String("\r\n--b", " " * 65, "\r\n2")
    assert_equal(
        read_whole("b", String(_A, "1", line, _E).as_bytes()),
        String("a=1\\x0d\\x0a--b", " " * 65, "\\x0d\\x0a2|"),
    )


def test_cut_anywhere() raises:
    for row in _rows():
        var octets = row.body.as_bytes()
        var single = List[Int]()
        for index in range(len(octets) + 1):
            single.append(index)
            var found = read_in_pieces("b", octets, [0, index, len(octets)])
            assert_equal(found, row.found, row.rule)
        assert_equal(read_in_pieces("b", octets, single), row.found, row.rule)


@fieldwise_init
struct _BadRow(Copyable, Movable):
    var rule: StaticString
    var body: StaticString
    var offset: Int


def test_refuses() raises:
    var rows: List[_BadRow] = [
        _BadRow("2046-5.1.1 empty", "", 0),
        _BadRow("2046-5.1.1 preamble", "x\r\n--b--", 0),
        _BadRow("2046-5.1.1 other boundary", "--c--", 0),
        _BadRow("2046-5.1.1 first one longer", "--bb\r\n", 0),
        _BadRow("2046-5.1.1 no end", _A + "x", 48),
        _BadRow("2046-5.1.1 no end of fields", _D + "name=a\r\n", 45),
        _BadRow("2046-5.1 bare LF", "--b\nx", 0),
        _BadRow("2046-5.1 LF in fields", _D + "name=a\n\r\n\r\n" + _E, 43),
        _BadRow("2046-5.1 CR in fields", _D + "name=a\rx\r\n\r\n" + _E, 44),
        _BadRow("5322-2.2 no colon", "--b\r\nContent\r\n\r\n", 12),
        _BadRow("5322-2.2 no name", "--b\r\n: x\r\n\r\n", 5),
        _BadRow("5322-2.2 space before it", "--b\r\nA : x\r\n\r\n", 6),
        _BadRow(
            "5322-2.2.3 folding", _D + "name=a;\r\n filename=x\r\n\r\n", 46
        ),
        _BadRow("5322-2.2 NUL", "--b\r\nA: \0\r\n\r\n", 8),
        _BadRow("7578-4.2 no disposition", "--b\r\nA: x\r\n\r\n", 13),
        _BadRow("7578-4.2 no name", _D + "filename=x\r\n\r\n", 5),
        _BadRow("7578-4.2 two names", _D + "name=a; name=b\r\n\r\n", 5),
        _BadRow(
            "7578-4.2 two files",
            _D + "name=a; filename=b; filename=c\r\n\r\n",
            5,
        ),
        _BadRow("7578-4.2 open quote", _D + 'name="a\r\n\r\n', 5),
        _BadRow(
            "7578-4.2 other kind",
            "--b\r\nContent-Disposition: attachment; name=a\r\n\r\n",
            5,
        ),
        _BadRow(
            "7578-4.2 twice",
            _D + "name=a\r\nContent-Disposition: form-data; name=b\r\n\r\n",
            45,
        ),
        _BadRow(
            "7578-4.7 unknown",
            _D + "name=a\r\nContent-Transfer-Encoding: x\r\n\r\n",
            45,
        ),
        _BadRow(
            "2045-6.8 digit",
            _D + "name=a\r\nContent-Transfer-Encoding: base64\r\n\r\n!" + _E,
            82,
        ),
    ]
    for row in rows:
        var offset = -1
        try:
            _ = read_whole("b", row.body.as_bytes())
        except error:
            offset = error.offset
            assert_equal(error.status(), 400, row.rule)
            assert_true("RFC" in String(error) or "tab" in String(error))
        assert_equal(offset, row.offset, row.rule)


def _status(limits: MultipartLimits, body: StringSpan) -> Int:
    try:
        _ = read_whole("b", body.as_bytes(), limits)
    except error:
        return error.status()
    return 200


def test_limits() raises:
    var body = String(_A, "12345\r\n", _A, "123", _E)
    assert_equal(_status(MultipartLimits(), body), 200)
    var limits = MultipartLimits()
    limits.part_count_max = 2
    assert_equal(_status(limits, body), 200)
    limits.part_count_max = 1
    assert_equal(_status(limits, body), 413)
    limits = MultipartLimits()
    limits.part_len_max = 5
    assert_equal(_status(limits, body), 200)
    limits.part_len_max = 4
    assert_equal(_status(limits, body), 413)
    limits = MultipartLimits(body.byte_length())
    assert_equal(_status(limits, body), 200)
    limits = MultipartLimits(body.byte_length() - 1)
    assert_equal(_status(limits, body), 413)
    limits = MultipartLimits()
    limits.name_len_max = 0
    assert_equal(_status(limits, body), 413)
    limits = MultipartLimits()
    limits.field_section_len_max = 37
    assert_equal(_status(limits, body), 413)


def test_endless_field_line_is_cut_off() raises:
    var log = MultipartLog("b")
    log.feed("--b\r\nA: ".as_bytes())
    var fed_len = 0
    var is_refused = False
    while fed_len < 20_000:
        try:
            log.feed("xxxxxxxxxx".as_bytes())
        except error:
            is_refused = True
            assert_equal(error.status(), 413)
            break
        fed_len += 10
    assert_true(is_refused)
    assert_true(fed_len < 8_300)


def test_reads_what_the_writer_writes() raises:
    var writer = MultipartWriter(Array[UInt8, 16](fill=1))
    var body = Buffer()
    writer.add_field(body, 'a"b\r\nc', "1\r\n2")
    writer.add_file(
        body, FilePart("f", "ä.txt", "image/png"), "\r\n--flare".as_bytes()
    )
    writer.finish(body)
    var boundary = multipart_boundary(writer.content_type())
    assert_equal(boundary, writer.boundary)
    assert_equal(
        read_whole(boundary, body.span()),
        'a"b\r\nc=1\\x0d\\x0a2|f(ä.txt)[image/png]=\\x0d\\x0a--flare|',
    )


def test_boundary() raises:
    assert_equal(
        multipart_boundary('Multipart/Form-Data; boundary="a b"'), "a b"
    )
    var bad: List[String] = [
        "",
        "text/plain",
        "multipart/mixed; boundary=a",
        "multipart/form-data",
        'multipart/form-data; boundary=""',
        "multipart/form-data; boundary=" + String("x") * 71,
    ]
    for text in bad:
        var is_refused = False
        try:
            _ = multipart_boundary(text)
        except error:
            is_refused = error.status() == 400
        assert_true(is_refused, text)


def test_boundary_that_cannot_be_read_is_what_is_wrong() raises:
    # RFC 2045 section 5.1: `=`, `:` and spaces stand between quotes alone.
    var bad: List[String] = [
        "multipart/form-data; boundary=----=_Part_1",
        "multipart/form-data; boundary=a:b",
        "multipart/form-data; boundary=",
        "Multipart/Form-Data ; boundary=a; boundary=b",
    ]
    for text in bad:
        var said = String()
        try:
            _ = multipart_boundary(text)
        except error:
            said = String(error)
        assert_true("must be multipart/form-data" not in said, said)
        assert_true("boundary" in said and "quotes" in said, said)


def test_large_content_in_pieces() raises:
    # 64 MiB of content pass through without being kept.
    var piece = List[UInt8](length=65_536, fill=UInt8(13))
    var log = MultipartLog("b", MultipartLimits(1 << 20))
    log.feed(_A.as_bytes())
    for _ in range(15):
        log.feed(piece)
    log.feed(_E.as_bytes())
    log.finish()
    assert_equal(log.data_len, 15 * 65_536)
