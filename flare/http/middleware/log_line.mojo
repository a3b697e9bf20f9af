"""The lines of an access log."""

from flare.bytes.ascii import write_escaped
from flare.http.message.request import Request
from flare.http.message.date import write_timestamp
from flare.json.error import JsonError
from flare.json.writer import JsonWriter


@fieldwise_init
struct LogFormat(Equatable, TrivialRegisterPassable):
    """How an access log is written."""

    var code: UInt8
    """A small number, distinct for each format."""

    comptime TEXT = LogFormat(0)
    """Words with spaces between, for people."""
    comptime JSON = LogFormat(1)
    """A JSON object a line, for programs."""


@fieldwise_init
struct LogEntry(Copyable, Movable):
    """What is logged of a response."""

    var unix_ms: Int
    """When the request was there, in milliseconds since 1970-01-01 UTC."""
    var elapsed_us: Int
    """How long the handler took, in microseconds."""
    var status: Int
    """The status code."""
    var content_len: Int
    """Length of the content in bytes."""
    var request_id: String
    """The request's id."""


def text_line(req: Request, entry: LogEntry) -> String:
    """Writes an entry for people.

    Such as `1994-11-06T08:49:37.123Z 127.0.0.1:4000 GET /users/7?x=1 HTTP/1.1
    200 13 0.204ms 4f1c...`; a missing id is `-`. The target has no spaces, and
    octets that could end the line are escaped.

    Args:
        req: The request.
        entry: The response.

    Returns:
        The line with its end.
    """
    var line = String(capacity_bytes=160)
    write_timestamp(entry.unix_ms, line)
    line.write(" ", req.peer, " ")
    _write_known(req.method_name, line)
    line.write(" ")
    _write_known(req.url, line)
    line.write(" ", req.version, " ", entry.status, " ", entry.content_len, " ")
    line.write(entry.elapsed_us // 1_000, ".")
    var fraction = entry.elapsed_us % 1_000
    line.write("00" if fraction < 10 else "0" if fraction < 100 else "")
    line.write(fraction, "ms ")
    _write_known(entry.request_id, line)
    line.write("\n")
    return line^


def _write_known(text: StringSpan, mut line: String):
    """Writes a part of the line, or that it is not known."""
    if text.byte_length() > 0:
        write_escaped(text.as_bytes(), line)
    else:
        line.write("-")


def json_line(req: Request, entry: LogEntry) raises JsonError -> String:
    """Writes an entry for programs.

    Args:
        req: The request.
        entry: The response.

    Returns:
        A JSON object with its line's end; members `time`, `peer`, `method`,
        `target`, `version`, `status`, `bytes`, `elapsed_us`, and, where there
        are such, `request_id`, `user_agent` and `referer`.

    Raises:
        JsonError: Never, since all of it is UTF-8.
    """
    var time = String()
    write_timestamp(entry.unix_ms, time)
    var writer = JsonWriter()
    writer.begin_object()
    _put(writer, "time", time)
    _put(writer, "peer", String(req.peer))
    _put(writer, "method", req.method_name)
    _put(writer, "target", req.url)
    _put(writer, "version", String(req.version))
    writer.key("status")
    writer.value(entry.status)
    writer.key("bytes")
    writer.value(entry.content_len)
    writer.key("elapsed_us")
    writer.value(entry.elapsed_us)
    _put(writer, "request_id", entry.request_id)
    _put_field(writer, req, "user_agent", "user-agent")
    _put_field(writer, req, "referer", "referer")
    writer.end_object()
    return writer^.finish() + "\n"


def _put_field(
    mut writer: JsonWriter, req: Request, key: StringSpan, name: StringSpan
) raises JsonError:
    var value = req.headers.get(name)
    if value:
        _put(writer, key, value.value())


def _put(
    mut writer: JsonWriter, key: StringSpan, value: StringSpan
) raises JsonError:
    if value.byte_length() > 0:
        writer.key(key)
        writer.value(value)
