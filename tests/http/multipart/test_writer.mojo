"""Forms with files (RFC 7578)."""

from flare.bytes.buffer import Buffer
from flare.http import FilePart, MultipartWriter
from tests.support.assertions import assert_equal, assert_true

comptime _BOUNDARY = StaticString("flare-000102030405060708090a0b0c0d0e0f")


def _writer() -> MultipartWriter:
    var random = Array[UInt8, 16](fill=0)
    for index in range(16):
        random[index] = UInt8(index)
    return MultipartWriter(random)


def test_content_type() raises:
    assert_equal(
        _writer().content_type(), "multipart/form-data; boundary=" + _BOUNDARY
    )


def test_fields_and_files() raises:
    var writer = _writer()
    var output = Buffer()
    writer.add_field(output, "a", "1\r\n2")
    writer.add_file(
        output, FilePart("f", "x.txt", "text/plain"), "hi".as_bytes()
    )
    # Content in pieces, the buffer emptied in between.
    var sent = String(unsafe_from_utf8=output.span())
    output.clear()
    writer.begin_file(output, FilePart("g", "y", "application/octet-stream"))
    sent += String(unsafe_from_utf8=output.span())
    output.clear()
    sent += "pieces"
    writer.add_field(output, "z", "")
    writer.finish(output)
    sent += String(unsafe_from_utf8=output.span())
    comptime LINE = "--" + _BOUNDARY
    assert_equal(
        sent,
        LINE
        + '\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n2\r\n'
        + LINE
        + '\r\nContent-Disposition: form-data; name="f"; filename="x.txt"\r\n'
        + "Content-Type: text/plain\r\n\r\nhi\r\n"
        + LINE
        + '\r\nContent-Disposition: form-data; name="g"; filename="y"\r\n'
        + "Content-Type: application/octet-stream\r\n\r\npieces\r\n"
        + LINE
        + '\r\nContent-Disposition: form-data; name="z"\r\n\r\n\r\n'
        + LINE
        + "--\r\n",
    )


def test_no_parts() raises:
    var writer = _writer()
    var output = Buffer()
    writer.finish(output)
    assert_equal(
        String(unsafe_from_utf8=output.span()), "--" + _BOUNDARY + "--\r\n"
    )


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var name: StaticString
    var written: StaticString


def test_names_cannot_leave_their_quotes() raises:
    var rows: List[_Row] = [
        _Row("7578-5.1 quote", 'a"b', "a%22b"),
        _Row("7578-5.1 line end", "a\r\nb", "a%0D%0Ab"),
        _Row("7578-5.1 percent sign stays", "a%22", "a%22"),
        _Row("7578-5.1 backslash stays", "a\\", "a\\"),
        _Row("7578-5.1.2 UTF-8", "\u00e4", "\u00e4"),
        _Row("7578-4.2 empty", "", ""),
    ]
    for row in rows:
        var writer = _writer()
        var output = Buffer()
        writer.add_field(output, row.name, "")
        var text = String(unsafe_from_utf8=output.span())
        assert_true(String('name="', row.written, '"\r\n') in text, row.rule)
        writer.add_file(
            output,
            FilePart("f", String(row.name), "a/b"),
            "".as_bytes(),
        )
        text = String(unsafe_from_utf8=output.span())
        assert_true(
            String('filename="', row.written, '"\r\n') in text, row.rule
        )


def _is_refused(file: FilePart) -> Bool:
    var writer = _writer()
    var output = Buffer()
    try:
        writer.add_file(output, file, "".as_bytes())
    except:
        return len(output) == 0
    return False


def test_control_octets_are_refused() raises:
    assert_true(_is_refused(FilePart("a\0", "b", "c/d")))
    assert_true(_is_refused(FilePart("a", "\x01", "c/d")))
    assert_true(_is_refused(FilePart("a", "b", "c/d\r\nX: y")))
    assert_true(not _is_refused(FilePart("a", "b", "c/d")))
