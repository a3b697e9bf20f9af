"""A line for each request, and the middleware that writes it."""

from flare.bytes.ascii import write_escaped
from flare.http.message.date import write_timestamp
from flare.http.message.owned_request import OwnedRequest
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.middleware.late_response import CLIENT_GONE
from flare.http.handler.failure import failure_status, request_id
from flare.http.handler.handler import Handler
from flare.http.handler.later import (
    LaterStep,
    deferred_call,
    finish_later,
    is_later,
)
from flare.http.handler.upstream_facts import UpstreamFacts
from flare.http.routing.stack import Layer
from flare.json.error import JsonError
from flare.json.writer import JsonWriter
from flare.log.sink import LogFormat, LogSink, StandardOutput
from flare.sys.clock import monotonic_ns, realtime_ns
from std.memory import ArcPointer


struct AccessLog[H: Handler, S: LogSink = StandardOutput](Layer):
    """Writes who asked for what, and what became of it.

    It stands outermost, so that it times and sees all. What the inner handler
    raises is logged as 500, and passed on. Requests that the server refuses by
    itself are logged too, with what was read of them; those of which not even
    the first line was have `-` for method and target.

        server.serve(AccessLog(router^, LogFormat.JSON))

    Parameters:
        H: The inner handler's type.
        S: Where lines go.
    """

    comptime Inner = Self.H
    comptime Around[I: Handler]: Handler = AccessLog[I, Self.S]
    var handler: Self.H
    """What answers."""
    var format: LogFormat
    """How lines are written."""
    var sink: Self.S
    """Where they go."""

    def __init__(
        out self,
        var handler: Self.H,
        format: LogFormat = LogFormat.TEXT,
        *,
        var sink: Self.S,
    ):
        """Wraps a handler."""
        self.handler = handler^
        self.format = format
        self.sink = sink^

    def __init__[
        H2: Handler
    ](
        out self: AccessLog[H2, StandardOutput],
        var handler: H2,
        format: LogFormat = LogFormat.TEXT,
    ):
        """Wraps a handler; lines go to standard output.

        Parameters:
            H2: The inner handler's type.
        """
        self = AccessLog[H2, StandardOutput](
            handler^, format, sink=StandardOutput()
        )

    def serve(self, req: Request) raises -> Response:
        """Lets the inner handler answer, and logs it."""
        var unix_ms = realtime_ns() // 1_000_000
        var began_ns = monotonic_ns()
        try:
            var response = self.handler.serve(req)
            if is_later(req, response):
                self._log_later(req, response, unix_ms, began_ns)
            else:
                var elapsed_us = (monotonic_ns() - began_ns) // 1_000
                self._write(req, _entry(req, response, unix_ms, elapsed_us))
            return response^
        except error:
            var elapsed_us = (monotonic_ns() - began_ns) // 1_000
            var status = failure_status(req, error)
            self._write(
                req, LogEntry(unix_ms, elapsed_us, status, 0, request_id(req))
            )
            raise error^

    @no_inline
    def _log_later(
        self,
        req: Request,
        mut response: Response,
        unix_ms: Int,
        began_ns: Int,
    ) raises:
        # SAFETY: a handler outlives the requests that it has been given.
        var log = Pointer(to=self).unsafe_origin_cast[ImmUntrackedOrigin]()
        finish_later(
            req,
            response,
            _LateEntry(
                log,
                OwnedRequest(copy_of=req),
                unix_ms,
                began_ns,
                deferred_call(req)[].upstream.copy(),
                is_written=False,
            ),
        )

    def refuse(self, req: Request, var response: Response) raises -> Response:
        """Logs a request that the server answers in place of the handler."""
        response = self.handler.refuse(req, response^)
        var unix_ms = realtime_ns() // 1_000_000
        self._write(req, _entry(req, response, unix_ms, elapsed_us=0))
        return response^

    def _write(self, req: Request, entry: LogEntry) raises:
        if self.format == LogFormat.JSON:
            self.sink.write_line(json_line(req, entry))
        else:
            self.sink.write_line(text_line(req, entry))


@fieldwise_init
struct _LateEntry[H: Handler, S: LogSink](LaterStep):
    """A line about a response that is made later, or for which nobody waits any
    more."""

    # SAFETY: as `AccessLog._log_later` says.
    var log: Pointer[AccessLog[Self.H, Self.S], ImmUntrackedOrigin]
    var request: OwnedRequest
    var unix_ms: Int
    var began_ns: Int
    var upstream: Optional[ArcPointer[UpstreamFacts]]
    var is_written: Bool

    def __deinit__(deinit self):
        if not self.is_written:
            self._write_gone()

    def finish(mut self, var response: Response) raises -> Response:
        self.is_written = True
        self._write(response.status.code, len(response.body))
        return response^

    @no_inline
    def _write_gone(self):
        try:
            self._write(CLIENT_GONE, 0)
        except:
            # A log that cannot be written says so by itself.
            return

    @no_inline
    def _write(self, status: Int, content_len: Int) raises:
        var elapsed_us = (monotonic_ns() - self.began_ns) // 1_000
        var req = self.request.view()
        var id = request_id(req)
        var entry = LogEntry(self.unix_ms, elapsed_us, status, content_len, id^)
        if self.upstream:
            entry.upstream = self.upstream.value()[].copy()
        self.log[]._write(req, entry)


def _entry(
    req: Request, response: Response, unix_ms: Int, elapsed_us: Int
) -> LogEntry:
    return LogEntry(
        unix_ms,
        elapsed_us,
        response.status.code,
        len(response.body),
        request_id(req),
    )


struct LogEntry(Copyable, Movable):

    var unix_ms: Int
    """When the request was there, in milliseconds since 1970-01-01 UTC."""
    var elapsed_us: Int
    """How long the handler took, in microseconds."""
    var status: Int
    var content_len: Int
    var request_id: String
    var upstream: Optional[UpstreamFacts]
    """Which server has answered, if the request was sent on."""

    def __init__(
        out self,
        unix_ms: Int,
        elapsed_us: Int,
        status: Int,
        content_len: Int,
        var request_id: String,
    ):
        """Makes the entry of a request that was not sent on; `unix_ms` is when
        it was there, `elapsed_us` how long the handler took."""
        self.unix_ms = unix_ms
        self.elapsed_us = elapsed_us
        self.status = status
        self.content_len = content_len
        self.request_id = request_id^
        self.upstream = None


def text_line(req: Request, entry: LogEntry) -> String:
    """Writes an entry for people, with its line's end.

    Such as `1994-11-06T08:49:37.123Z 127.0.0.1:4000 GET /users/7?x=1 HTTP/1.1
    200 13 0.204ms 4f1c...`; a missing id is `-`. The target has no spaces, and
    octets that could end the line are escaped. After the id of a request that
    was sent on stands such as `upstream=http://10.0.0.7:80 upstream_status=200
    connect=0.101ms head=4.020ms attempts=1`; a status or time that is missing
    is `-`.
    """
    var line = String(capacity_bytes=160)
    write_timestamp(entry.unix_ms, line)
    line.write(" ", req.peer, " ")
    _write_known(req.method_name, line)
    line.write(" ")
    _write_known(req.url, line)
    line.write(" ", req.version, " ", entry.status, " ", entry.content_len, " ")
    _write_ms(entry.elapsed_us, line)
    line.write(" ")
    _write_known(entry.request_id, line)
    if entry.upstream:
        _write_upstream(entry.upstream.value(), line)
    line.write("\n")
    return line^


def _write_ms(elapsed_us: Int, mut line: String):
    line.write(elapsed_us // 1_000, ".")
    var fraction = elapsed_us % 1_000
    line.write("00" if fraction < 10 else "0" if fraction < 100 else "")
    line.write(fraction, "ms")


@no_inline
def _write_upstream(facts: UpstreamFacts, mut line: String):
    line.write(" upstream=")
    _write_known(facts.upstream, line)
    line.write(" upstream_status=")
    if facts.status > 0:
        line.write(facts.status)
    else:
        line.write("-")
    line.write(" connect=")
    _write_ms(facts.connect_us, line)
    line.write(" head=")
    if facts.head_us >= 0:
        _write_ms(facts.head_us, line)
    else:
        line.write("-")
    line.write(" attempts=", facts.attempt_count)


def _write_known(text: StringSpan, mut line: String):
    """Writes a part of the line, or that it is not known."""
    if text.byte_length() > 0:
        write_escaped(text.as_bytes(), line)
    else:
        line.write("-")


def json_line(req: Request, entry: LogEntry) raises JsonError -> String:
    """Writes an entry for programs: a JSON object with its line's end.

    Its members are `time`, `peer`, `method`, `target`, `version`, `status`,
    `bytes`, `elapsed_us`, and, where there are such, `route`, `request_id`,
    `user_agent` and `referer`; of one that was sent on `upstream`,
    `upstream_status`, `connect_us`, `head_us` and `attempts`.
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
    _put(writer, "route", req.route())
    _put(writer, "request_id", entry.request_id)
    _put_field(writer, req, "user_agent", "user-agent")
    _put_field(writer, req, "referer", "referer")
    if entry.upstream:
        _put_upstream(writer, entry.upstream.value())
    writer.end_object()
    return writer^.finish() + "\n"


@no_inline
def _put_upstream(
    mut writer: JsonWriter, facts: UpstreamFacts
) raises JsonError:
    _put(writer, "upstream", facts.upstream)
    if facts.status > 0:
        writer.key("upstream_status")
        writer.value(facts.status)
    writer.key("connect_us")
    writer.value(facts.connect_us)
    if facts.head_us >= 0:
        writer.key("head_us")
        writer.value(facts.head_us)
    writer.key("attempts")
    writer.value(facts.attempt_count)


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
