"""A log for programs: levels, fields, JSON or text."""

# SAFETY: a core owns its sink, and calls it through functions that were made
# for the sink's type; the default log of the process lives until it ends; what
# a `RequestLog` points to outlives the handler's call, as the request does.

from flare.bytes.checked import *
from flare.bytes.erased import Erased, ErasedBox
from flare.http.message.extensions import Extensions
from flare.http.message.request import PathParams, Request
from flare.http.handler.failure import recorded_id
from flare.log.level import Level
from flare.log.line import LogLine
from flare.log.sink import LogFormat, LogSink, StandardError
from flare.settings.fields import SettingsGroup
from flare.sys.clock import realtime_ns
from flare.sys.log import LibraryLine, LineTaker, set_line_taker
from flare.trace.core.span import TraceSpan
from std.atomic import Atomic, Ordering
from std.ffi import _Global
from std.memory import ArcPointer, OpaquePointer
from std.os import abort
from std.reflection import reflect
from std.sys.intrinsics import unlikely


trait Logger:
    """What lines are written to: a `Log`, or that of a request.

        log.info("paid", "order", id, "total", total)

    A message, and fields: a name and a value each. A value may be anything that
    prints; integers, floats and booleans are such in JSON. A line of a level
    that is not written costs a comparison, and its values are not printed.
    """

    def writes(self, level: Level) -> Bool:
        """Tells whether lines of a level are written.

        Args:
            level: The level.
        """
        ...

    def begin_line(self, level: Level, message: StringSpan) -> LogLine:
        """Gives a line that is begun, with the fields that all lines have.

        Args:
            level: Its level.
        """
        ...

    def end_line(self, var line: LogLine):
        """Writes a line.

        Args:
            line: The line.
        """
        ...

    @always_inline
    def debug[*Ts: Writable](self, message: StringSpan, *fields: *Ts):
        """Writes a line of level DEBUG.

        Parameters:
            Ts: The types of names and values.

        Args:
            message: What happened.
            fields: A name, its value, a name, its value.
        """
        self.log(Level.DEBUG, message, *fields)

    @always_inline
    def info[*Ts: Writable](self, message: StringSpan, *fields: *Ts):
        """Writes a line of level INFO."""
        self.log(Level.INFO, message, *fields)

    @always_inline
    def warn[*Ts: Writable](self, message: StringSpan, *fields: *Ts):
        """Writes a line of level WARN."""
        self.log(Level.WARN, message, *fields)

    @always_inline
    def error[*Ts: Writable](self, message: StringSpan, *fields: *Ts):
        """Writes a line of level ERROR."""
        self.log(Level.ERROR, message, *fields)

    @always_inline
    def log[
        *Ts: Writable
    ](self, level: Level, message: StringSpan, *fields: *Ts):
        """Writes a line of a level that is chosen as the program runs."""
        _check_fields[*Ts]()
        if unlikely(self.writes(level)):
            var line = self.begin_line(level, message)
            comptime for index in range(Ts.length // 2):
                line.put(String(fields[2 * index]), fields[2 * index + 1])
            self.end_line(line^)


@always_inline
def _check_fields[*Ts: Writable]():
    comptime assert Ts.length % 2 == 0, (
        "a line has a message and fields, a name and a value each:"
        ' log.info("paid", "order", id)'
    )
    comptime for index in range(Ts.length // 2):
        comptime NAME = reflect[Ts[2 * index]].base_name()
        comptime assert (
            NAME == "String" or NAME == "StringSpan" or NAME == "StringLiteral"
        ), (
            "the name of a field is a text; it stands before its value:"
            ' log.info("paid", "order", id)'
        )


struct _Core(Movable):
    """What a log and its children share."""

    var level: Atomic[Int64]
    var format: LogFormat
    var _sink: ErasedBox
    var _write: def(Erased, String) thin -> None

    def __init__[
        S: LogSink
    ](out self, format: LogFormat, level: Level, var sink: S):
        self.level = Atomic[Int64](Int64(level.number))
        self.format = format
        self._sink = ErasedBox(sink^)
        self._write = _write_line[S]

    def write(self, text: String):
        self._write(self._sink.at, text)


def _write_line[S: LogSink](sink: Erased, text: String):
    sink.unsafe_bitcast[S]()[].write_line(text)


struct LogSettings(Copyable, Defaultable, SettingsGroup):
    """Level and format of a log, to be read from outside: as the field `log` of
    a struct of settings they are `APP_LOG_LEVEL` and `--log-format`."""

    var level: Level
    """What is written at least. Default `info`."""
    var format: LogFormat
    """How. Default `text`."""

    def __init__(out self):
        """Makes the defaults."""
        self.level = Level.INFO
        self.format = LogFormat.TEXT

    @staticmethod
    def about(name: StringSpan) -> StaticString:
        if name == "level":
            return "What is logged: debug, info, warn, error or off."
        return "How lines are written: text or json."


struct Log(Copyable, Logger, Movable):
    """Writes lines with a level, a message and fields, from any thread.

        var log = Log(LogFormat.JSON)
        log.info("started", "port", 8080)
        var cart = log.bind("part", "cart")

    A line never waits: what standard error does not take at once is dropped,
    and counted in a later line. It is one line, whatever its values hold, and
    at most 4 KiB; what is beyond is cut, and `truncated` says so. A copy is the
    same log.
    """

    var _core: ArcPointer[_Core]
    # Written as they stand in each line.
    var _fields: String

    def __init__(
        out self,
        format: LogFormat = LogFormat.TEXT,
        *,
        level: Level = Level.INFO,
    ):
        """Makes a log on standard error.

        Args:
            format: How lines are written.
            level: What is written at least.
        """
        self = Self(format, level=level, sink=StandardError())

    def __init__[
        S: LogSink
    ](
        out self,
        format: LogFormat = LogFormat.TEXT,
        *,
        level: Level = Level.INFO,
        var sink: S,
    ):
        """Makes a log.

        Parameters:
            S: The sink's type.

        Args:
            sink: Where they go, such as `StandardOutput()`.
        """
        self._core = ArcPointer(_Core(format, level, sink^))
        self._fields = String()

    def __init__(out self, settings: LogSettings):
        """Makes a log on standard error, as it was set from outside.

        Args:
            settings: Level and format.
        """
        self = Self(settings.format, level=settings.level)

    @staticmethod
    @always_inline
    def of[o: ImmOrigin, //](req: Request[o]) -> RequestLog[o]:
        """Gives the log for lines about a request: that which a `WithLog`
        around the handler lends, else the default of the process. Lines have
        its `request_id` and `route`, and `trace_id` and `span_id` if it is
        traced.

        Parameters:
            o: The request's origin.

        Args:
            req: The request that is being handled.
        """
        return RequestLog(req)

    @staticmethod
    def default() -> Self:
        """Gives the log of the process: what `make_default` was called on; text
        on standard error if it never was."""
        return _default_log()[].copy()

    def make_default(self) raises:
        """Makes this the log of the process: of `Log.default()`, and of
        `Log.of` where there is no `WithLog`. What the library itself has to
        tell (errors of handlers, slow handlers, workers that crash) goes there
        too, in place of standard error, with the field `logger=flare`.

        Call it before the server serves, and before there are other threads.

        Raises:
            Error: If the process has no memory for it.
        """
        var place = _DEFAULT.get_or_create_ptr()
        place[] = self.copy()
        # The report of a crash stays as it is: it may not take any memory.
        set_line_taker(
            LineTaker(
                place.unsafe_bitcast[NoneType]().unsafe_origin_cast[
                    MutUntrackedOrigin
                ](),
                _format_library_line,
                _write_library_line,
            )
        )

    def set_level(self, level: Level):
        """Chooses what is written from now on, by this log and all that share
        its sink: copies and children."""
        self._core[].level.store[ordering=Ordering.RELAXED](Int64(level.number))

    def bind[*Ts: Writable](self, *fields: *Ts) -> Self:
        """Gives a log whose lines have more fields, with the same level, format
        and sink."""
        _check_fields[*Ts]()
        var line = LogLine(self._core[].format, fields=self._fields)
        comptime for index in range(Ts.length // 2):
            line.put(String(fields[2 * index]), fields[2 * index + 1])
        var child = self.copy()
        child._fields = line^.fields()
        return child^

    @always_inline
    def writes(self, level: Level) -> Bool:
        return (
            Int64(level.number)
            >= self._core[].level.load[ordering=Ordering.RELAXED]()
        )

    @no_inline
    def begin_line(self, level: Level, message: StringSpan) -> LogLine:
        var line = LogLine(
            self._core[].format, level, realtime_ns() // 1_000_000
        )
        line.put_message(message)
        line.put_fields(self._fields)
        return line^

    @no_inline
    def end_line(self, var line: LogLine):
        self._core[].write(line^.end())


struct RequestLog[o: ImmOrigin](ImplicitlyCopyable, Logger):
    """The log for lines about one request, for the length of its handler.

        Log.of(req).info("paid", "order", id)

    It is a view, and makes nothing of the request before a line is written. For
    other threads, and for what outlives the handler, there is `to_log`.

    Parameters:
        o: The request's origin.
    """

    # SAFETY: lent by a `WithLog` for longer than the request, or the default.
    var _log: Pointer[Log, Self.o]
    # SAFETY: the worker that lends the request owns the storage.
    var _params: Pointer[PathParams, MutUntrackedOrigin]
    var _extensions: Pointer[Extensions, Self.o]

    @always_inline
    def __init__(out self, req: Request[Self.o]):
        """Finds the log of a request.

        Args:
            req: The request.
        """
        var lent = req.extension[Log]()
        if lent:
            self._log = lent.held()
        else:
            self._log = (
                _default_log()
                .unsafe_mut_cast[False]()
                .unsafe_origin_cast[Self.o]()
            )
        self._params = req.route_params()
        self._extensions = req.extensions()

    @always_inline
    def writes(self, level: Level) -> Bool:
        return self._log[].writes(level)

    @no_inline
    def begin_line(self, level: Level, message: StringSpan) -> LogLine:
        """Gives a line that is begun, with what is known of the request."""
        var line = self._log[].begin_line(level, message)
        self._put_context(line)
        return line^

    @no_inline
    def end_line(self, var line: LogLine):
        self._log[].end_line(line^)

    def to_log(self) -> Log:
        """Gives a log that may outlive the request, with the same fields."""
        var line = LogLine(
            self._log[]._core[].format, fields=self._log[]._fields
        )
        self._put_context(line)
        var log = self._log[].copy()
        log._fields = line^.fields()
        return log^

    def _put_context(self, mut line: LogLine):
        line.put_text("request_id", recorded_id(self._params[].record))
        var route = self._params[].record.route
        if route.byte_length() > 0:
            line.put_text("route", route)
        var span = self._extensions[].find[TraceSpan]()
        if span and span.held()[].context.is_valid():
            ref context = span.held()[].context
            line.put_text("trace_id", context.trace_id())
            line.put_text("span_id", context.span_id_text())


def _text_log() -> Log:
    return Log()


comptime _DEFAULT = _Global["flare.log.default", _text_log]


@no_inline
def _default_log() -> Pointer[Log, MutUntrackedOrigin]:
    try:
        return _DEFAULT.get_or_create_ptr().unsafe_origin_cast[
            MutUntrackedOrigin
        ]()
    except:
        # Without memory for a log, there is none for anything else.
        abort("no memory for the default log")


def _format_library_line(
    log: OpaquePointer[MutUntrackedOrigin], told: LibraryLine
) -> String:
    """Writes what the library tells as a line of the program's log; an empty
    one if it does not write that level."""
    ref place = log.unsafe_bitcast[Log]()[]
    var level = Level.ERROR if told.is_error else Level.WARN
    if not place.writes(level):
        return String()
    var line = place.begin_line(level, told.message)
    line.put_text("logger", "flare")
    for index in range(len(told.names)):
        line.put_text(told.names.at(index), told.values.at(index))
    return line^.end()


def _write_library_line(log: OpaquePointer[MutUntrackedOrigin], text: String):
    if text.byte_length() > 0:
        log.unsafe_bitcast[Log]()[]._core[].write(text)
