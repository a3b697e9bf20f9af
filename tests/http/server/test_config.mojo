"""What a configuration refuses, and how it says so."""

from flare.http.server.config import ListenerMode, ServerConfig
from flare.http.server.http2_config import Http2Config
from flare.http.server.settings import ServerSettings
from flare.runtime.worker_count import default_worker_count
from flare.settings.settings import Given, settings_of
from std.reflection import reflect
from tests.support.assertions import assert_equal, assert_true


def _refusal(config: ServerConfig) -> String:
    try:
        config.check()
    except error:
        return String(error)
    return ""


def test_default_is_good() raises:
    assert_equal(_refusal(ServerConfig()), "")


def test_limits_are_on_by_default() raises:
    # Whoever sets nothing is protected: sizes, and a time for each phase.
    var config = ServerConfig()
    assert_equal(config.max_header_size, 8_192)
    assert_equal(config.max_target_size, 8_192)
    assert_equal(config.max_fields, 100)
    assert_equal(config.max_body_size, 10_485_760)
    assert_equal(config.header_timeout_ms, 10_000)
    assert_equal(config.body_timeout_ms, 30_000)
    assert_equal(config.idle_timeout_ms, 60_000)
    assert_equal(config.write_timeout_ms, 30_000)
    assert_true(config.min_body_rate > 0)
    assert_true(config.min_send_rate > 0)
    assert_true(config.max_connections > 0)


def test_contradictions_name_both_fields() raises:
    var small = _refusal(ServerConfig(max_body_size=100))
    assert_true("max_body_size (100)" in small, small)
    assert_true("max_header_size (8192)" in small, small)
    var large = _refusal(
        ServerConfig(max_header_size=60_000, max_target_size=60_000)
    )
    assert_true("max_header_size (60000)" in large, large)
    assert_true("max_target_size (60000)" in large, large)


def test_one_content_fits_into_the_bound_of_all() raises:
    var text = _refusal(
        ServerConfig(max_body_size=20_000, max_buffered_bodies_size=19_999)
    )
    assert_true("max_buffered_bodies_size (19999)" in text, text)
    assert_true("max_body_size (20000)" in text, text)
    assert_true("lower the second" in text, text)
    assert_equal(
        _refusal(
            ServerConfig(max_body_size=20_000, max_buffered_bodies_size=20_000)
        ),
        "",
    )


def test_every_range_is_checked() raises:
    assert_true(
        "max_buffered"
        in _refusal(ServerConfig(max_buffered_bodies_size=1 << 60))
    )
    assert_true("max_fields" in _refusal(ServerConfig(max_fields=0)))
    assert_true("max_target" in _refusal(ServerConfig(max_target_size=0)))
    assert_true("max_header" in _refusal(ServerConfig(max_header_size=1)))
    assert_true("max_body" in _refusal(ServerConfig(max_body_size=-1)))
    assert_true("max_conn" in _refusal(ServerConfig(max_connections=0)))
    assert_true(
        "max_keepalive" in _refusal(ServerConfig(max_keepalive_requests=-1))
    )
    assert_true("min_body" in _refusal(ServerConfig(min_body_rate=-1)))
    assert_true("header_time" in _refusal(ServerConfig(header_timeout_ms=0)))
    assert_true("body_time" in _refusal(ServerConfig(body_timeout_ms=0)))
    assert_true("idle_time" in _refusal(ServerConfig(idle_timeout_ms=-1)))
    assert_true("write_time" in _refusal(ServerConfig(write_timeout_ms=0)))
    assert_true("min_send" in _refusal(ServerConfig(min_send_rate=-1)))
    assert_true(
        "max_connection_age" in _refusal(ServerConfig(max_connection_age_ms=-1))
    )
    assert_true("linger_time" in _refusal(ServerConfig(linger_timeout_ms=0)))
    assert_true("slow_handler" in _refusal(ServerConfig(slow_handler_ms=-1)))
    assert_equal(_refusal(ServerConfig(slow_handler_ms=0)), "")
    assert_true(
        "shutdown_time" in _refusal(ServerConfig(shutdown_timeout_ms=0))
    )


def test_config_can_be_made_at_compile_time() raises:
    comptime CONFIG: ServerConfig = ServerConfig(
        max_header_size=4096,
        max_body_size=64 * 1024,
        max_keepalive_requests=1000,
        idle_timeout_ms=30_000,
    )
    comptime size = CONFIG.max_body_size
    assert_equal(size, 65_536)


def test_every_field_has_a_line_of_help() raises:
    # A new field is read from outside at once; its line is in field_help.mojo.
    comptime for index in range(reflect[ServerConfig].field_count()):
        comptime NAME = reflect[ServerConfig].field_names()[index]
        var name = String(materialize[NAME]())
        var about = ServerConfig.about(name)
        assert_true(about.byte_length() > 0, name)
        assert_true(about.byte_length() <= 70, name)


def test_help_says_what_minus_one_threads_are() raises:
    # `--help` prints -1 as the default, of which there are no threads.
    assert_equal(ServerConfig().handler_threads, -1)
    assert_true("-1" in ServerConfig.about("handler_threads"))


def test_each_field_is_read_from_its_variable() raises:
    comptime for index in range(reflect[ServerConfig].field_count()):
        comptime NAME = reflect[ServerConfig].field_names()[index]
        comptime if NAME != "http2_limits":
            _check_variable(String("APP_", materialize[NAME]()).upper())
    comptime for index in range(reflect[Http2Config].field_count()):
        comptime NAME = reflect[Http2Config].field_names()[index]
        _check_variable(
            String("APP_HTTP2_LIMITS_", materialize[NAME]()).upper()
        )


def _check_variable(variable: String) raises:
    var text = String()
    try:
        _ = settings_of[ServerConfig](
            Given([variable + "=?"], String("APP_"), []), None
        )
    except error:
        text = String(error)
    assert_true(variable + " is '?'" in text, text)


def test_each_limit_of_http2_has_help_bounds_and_its_place() raises:
    comptime for index in range(reflect[Http2Config].field_count()):
        comptime NAME = reflect[Http2Config].field_names()[index]
        var name = String(materialize[NAME]())
        var about = Http2Config.about(name)
        assert_true(about.byte_length() > 0, name)
        assert_true(about.byte_length() <= 70, name)
        var variable = String("APP_HTTP2_LIMITS_", name).upper()
        var text = String()
        try:
            var config = settings_of[ServerConfig](
                Given([variable + "=-1"], String("APP_"), []), None
            ).take()
            text = _refusal(config)
        except error:
            text = String(error)
        assert_true(String("http2_limits.", name, " is -1") in text, text)


def test_settings_give_what_a_configuration_holds() raises:
    var config = settings_of[ServerConfig](
        Given(
            ["APP_MAX_BODY_SIZE=1MiB", "APP_LISTENER=shared"],
            String("APP_"),
            ["--idle-timeout-ms=5s", "--proxy-protocol=10.0.0.0/8"],
        ),
        ServerConfig(min_body_rate=7),
    ).take()
    assert_equal(config.max_body_size, 1_048_576)
    assert_true(config.listener == ListenerMode.SHARED)
    assert_equal(config.idle_timeout_ms, 5_000)
    assert_equal(String(config.proxy_protocol[0]), "10.0.0.0/8")
    assert_equal(config.min_body_rate, 7)
    assert_equal(config.max_fields, ServerConfig().max_fields)


def test_a_limit_of_http2_is_refused_in_one_line_with_its_origin() raises:
    # docs/configuration.md: a line for each problem.
    var text = String()
    try:
        _ = settings_of[ServerSettings](
            Given(
                ["APP_HTTP2=1", "APP_HTTP2_LIMITS_MAX_STREAMS=0", "APP_PORT=1"],
                String("APP_"),
                [],
            ),
            None,
        )
    except error:
        text = String(error)
    assert_equal(
        text,
        (
            "bad settings\n  http2_limits.max_streams is 0; allowed are 1 to"
            " 10000; http2_limits_max_streams is from"
            " APP_HTTP2_LIMITS_MAX_STREAMS"
        ),
    )


def test_settings_that_contradict_are_refused_with_their_origin() raises:
    var text = String()
    try:
        _ = settings_of[ServerSettings](
            Given(
                ["APP_MAX_BODY_SIZE=100", "APP_PORT=70000"], String("APP_"), []
            ),
            None,
        )
    except error:
        text = String(error)
    for part in [
        "max_body_size (100) must not be less than max_header_size (8192)",
        "max_body_size is from APP_MAX_BODY_SIZE",
        "port is 70000; allowed are 0 to 65535; port is from APP_PORT",
    ]:
        assert_true(part in text, text)


def test_the_settings_of_a_server() raises:
    var settings = ServerSettings()
    assert_equal(String(settings.socket_addr()), "127.0.0.1:8080")
    assert_equal(settings.worker_count(), 1)
    settings.workers = 0
    assert_equal(settings.worker_count(), default_worker_count())
    settings.workers = 257
    assert_true("workers is 257" in settings.problem())
    settings.workers = 256
    assert_equal(settings.problem(), "")
