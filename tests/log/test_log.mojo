"""Logs, their children, and the lines about a request."""

from flare.http.message.extensions import ExtensionScope
from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.middleware.request_id import RequestId
from flare.http.handler.state import State
from flare.http.handler.handler import Handler
from flare.http.routing.router import Router
from flare.json.value import JsonValue, parse
from flare.log.level import Level
from flare.log.log import Log, LogSettings
from flare.log.sink import LogFormat, LogSink
from flare.log.with_log import WithLog
from flare.settings.settings import Given, settings_of
from flare.sys.log import log_line, set_line_taker
from flare.testing.test_client import TestClient
from flare.trace.core.context import TraceContext
from flare.trace.core.span import TraceSpan
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)


@fieldwise_init
struct _Kept(LogSink):
    var lines: State[List[String]]

    def write_line(self, line: StringSpan):
        self.lines.lock()[].append(String(line))


def _lines() raises -> State[List[String]]:
    return State(List[String]())


def _log(lines: State[List[String]], level: Level = Level.INFO) -> Log:
    return Log(LogFormat.JSON, level=level, sink=_Kept(lines))


def _last(lines: State[List[String]]) raises -> JsonValue:
    var guard = lines.lock()
    return parse(guard[][len(guard[]) - 1])


def test_lines_below_the_level_are_not_written() raises:
    comptime LEVELS: List[Level] = [
        Level.DEBUG,
        Level.INFO,
        Level.WARN,
        Level.ERROR,
        Level.OFF,
    ]
    for index in range(5):
        var lines = _lines()
        var log = _log(lines, materialize[LEVELS]()[index])
        log.debug("a")
        log.info("a")
        log.warn("a")
        log.error("a")
        assert_equal(len(lines.lock()[]), 4 - index)


@fieldwise_init
struct _Counted(Writable):
    """Counts how often it is printed."""

    var count: Pointer[Int, MutUntrackedOrigin]

    def write_to(self, mut writer: Some[Writer]):
        self.count[] += 1
        writer.write_string("x")


def test_values_of_lines_that_are_not_written_are_not_printed() raises:
    var count = 0
    var place = Pointer(to=count).unsafe_origin_cast[MutUntrackedOrigin]()
    var lines = _lines()
    var log = _log(lines)
    var value = _Counted(place)
    log.debug("a", "v", value)
    assert_equal(place[], 0)
    log.info("a", "v", value)
    assert_equal(place[], 1)
    _ = count


def test_children_have_their_fields_and_the_same_level() raises:
    var lines = _lines()
    var log = _log(lines)
    var child = log.bind("part", "cart", "n", 3).bind("user", "eve")
    log.set_level(Level.DEBUG)
    child.debug("m", "a", 1)
    var read = _last(lines)
    assert_equal(read["part"].string_value(), "cart")
    assert_equal(read["n"].int_value(), 3)
    assert_equal(read["user"].string_value(), "eve")
    assert_equal(read["a"].int_value(), 1)
    log.debug("m")
    assert_false(_last(lines).contains("part"))
    assert_true(child.writes(Level.DEBUG))


def test_a_level_may_be_chosen_as_the_program_runs() raises:
    var lines = _lines()
    _log(lines).log(Level.ERROR, "m", "a", 1)
    assert_equal(_last(lines)["level"].string_value(), "error")


def _paid(req: Request) raises -> Response:
    Log.of(req).info("paid", "order", req.param("id"))
    return ok("")


def _later(req: Request) raises -> Response:
    var log = Log.of(req).to_log()
    log.warn("later")
    return ok("")


@fieldwise_init
struct _Traced[H: Handler](Handler):
    var handler: Self.H

    def serve(self, req: Request) raises -> Response:
        # As `Tracing` does.
        var span = TraceSpan(TraceContext(0x0AF7, 0x651916CD43DD8448, 0xB7, 1))
        var scope = ExtensionScope(req.extensions(), span)
        var response = self.handler.serve(req)
        scope^.end()
        return response^


def _router() raises -> Router:
    var router = Router()
    router.get("/paid/:id", _paid)
    router.get("/later", _later)
    return router^


def test_a_line_about_a_request_has_its_id_and_route() raises:
    var lines = _lines()
    var handler = RequestId(
        WithLog(_router(), _log(lines).bind("part", "shop"))
    )
    var client = TestClient(handler^)
    var response = client.get("/paid/17%0A")
    var read = _last(lines)
    assert_equal(read["msg"].string_value(), "paid")
    assert_equal(read["part"].string_value(), "shop")
    assert_equal(read["order"].string_value(), "17\n")
    assert_equal(read["route"].string_value(), "/paid/:id")
    assert_equal(
        read["request_id"].string_value(), response.headers["X-Request-Id"]
    )
    assert_false(read.contains("trace_id"))
    _ = client.get("/later")
    assert_equal(_last(lines)["route"].string_value(), "/later")
    assert_true(_last(lines).contains("request_id"))


def test_a_line_about_a_traced_request_has_the_ids_of_trace_and_span() raises:
    var lines = _lines()
    var client = TestClient(_Traced(WithLog(_router(), _log(lines))))
    _ = client.get("/paid/1")
    var read = _last(lines)
    assert_equal(
        read["trace_id"].string_value(), "0000000000000af7651916cd43dd8448"
    )
    assert_equal(read["span_id"].string_value(), "00000000000000b7")


def test_the_default_log_takes_lines_of_requests_and_of_the_library() raises:
    # Tests of other files share the process: the default goes back at the end.
    var lines = _lines()
    _log(lines).make_default()
    Log.default().info("outside", "a", 1)
    assert_equal(_last(lines)["a"].int_value(), 1)
    var client = TestClient(_router())
    _ = client.get("/paid/2")
    assert_equal(_last(lines)["order"].string_value(), "2")
    log_line("the limit\nis low")
    var read = _last(lines)
    assert_equal(read["msg"].string_value(), "the limit\nis low")
    assert_equal(read["logger"].string_value(), "flare")
    assert_equal(read["level"].string_value(), "warn")
    var count = len(lines.lock()[])
    Log.default().set_level(Level.ERROR)
    log_line("not written")
    assert_equal(len(lines.lock()[]), count)
    Log().make_default()
    set_line_taker(None)


def test_settings_of_a_log() raises:
    var settings = settings_of[_Settings](
        Given(
            ["APP_LOG_LEVEL=warn", "APP_LOG_FORMAT=json"], String("APP_"), []
        ),
        None,
    ).take()
    assert_true(settings.log.level == Level.WARN)
    assert_true(settings.log.format == LogFormat.JSON)
    var log = Log(settings.log)
    assert_true(log.writes(Level.WARN))
    assert_false(log.writes(Level.INFO))
    assert_true(Log(LogSettings()).writes(Level.INFO))
    for entry in ["APP_LOG_LEVEL=loud", "APP_LOG_FORMAT=xml"]:
        with assert_raises(contains=entry.replace("=", " is '")):
            _ = settings_of[_Settings](
                Given([String(entry)], String("APP_"), []), None
            )


def test_levels_are_read_as_they_are_written() raises:
    for name in ["debug", "info", "warn", "error", "off"]:
        assert_equal(String(Level.from_text(name)), name)
        # As other programs have it in their manifests.
        assert_equal(String(Level.from_text(name.upper())), name)
    for name in ["", "inf", "information", "info ", "20"]:
        with assert_raises(contains="is none of debug"):
            _ = Level.from_text(name)


struct _Settings(Defaultable, Movable):
    var log: LogSettings
