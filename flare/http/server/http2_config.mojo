"""What a client may ask for over HTTP/2."""

from flare.bytes.ranges import range_problem
from flare.bytes.text import Text
from flare.http.h2.connection_state import Http2Limits, STREAM_WINDOW_LEN
from flare.http.h2.field_section import SectionLimits
from flare.http.h2.priority import AbuseLimits
from flare.settings.fields import SettingsGroup


@fieldwise_init
struct _Row(TrivialRegisterPassable):
    var name: StaticString
    var about: StaticString


comptime _ROWS: List[_Row] = [
    _Row("max_streams", "Requests at once of a connection."),
    _Row("stream_window_size", "Content of a request that may wait here."),
    _Row(
        "upload_window_size",
        "The same where a handler reads it while it arrives.",
    ),
    _Row(
        "connection_window_size",
        "Content of all requests of a connection that may wait here.",
    ),
    _Row("max_continuations", "CONTINUATION frames of one head."),
    _Row("max_settings", "Settings in one frame."),
    _Row("settings_timeout_ms", "For the client to acknowledge our SETTINGS."),
    _Row("max_glitches", "Frames that make work and have no use, at once."),
    _Row("glitches_refill", "How many more of them each second."),
    _Row(
        "max_queued_size",
        "What may wait to be sent before nothing more is read.",
    ),
    _Row(
        "max_pending_response_size",
        "Content of responses in memory that may wait before requests do.",
    ),
]


def _check(
    mut found: String, name: StaticString, value: Int, least: Int, most: Int
):
    """Says what is wrong with a value, unless something was found before."""
    if found.byte_length() > 0:
        return
    var problem = range_problem(name, value, least, most)
    if problem.byte_length() > 0:
        found = Text().add("http2_limits.").add(problem).end()


struct Http2Config(SettingsGroup, TrivialRegisterPassable):
    """Limits of HTTP/2 connections, beside those of `ServerConfig` that hold for
    every request."""

    var max_streams: Int
    """Requests that a client may have under way at once
    (SETTINGS_MAX_CONCURRENT_STREAMS). Default 100."""
    var stream_window_size: Int
    """Content of a request that may wait here, in bytes; best a multiple of
    16,384, the length of a frame. Default 64 KiB."""
    var upload_window_size: Int
    """The same where a handler reads it while it arrives. Default 256 KiB."""
    var connection_window_size: Int
    """The same of all requests of a connection together, in bytes. Default
    1 MiB."""
    var max_continuations: Int
    """CONTINUATION frames of one field block. Default 8."""
    var max_settings: Int
    """Settings in one frame. Default 32."""
    var settings_timeout_ms: Int
    """For the client to acknowledge our SETTINGS. Default 10 s."""
    var max_glitches: Int
    """Frames that make work and have no use (resets, and those that a client
    provokes, empty or tiny DATA, PING, SETTINGS, small WINDOW_UPDATE, PRIORITY,
    empty CONTINUATION), at once; beyond it the connection ends with
    ENHANCE_YOUR_CALM. Default 1,000."""
    var glitches_refill: Int
    """How many more of them each second. Default 33."""
    var max_queued_size: Int
    """What may wait to be sent before nothing more is read, in bytes. Default
    64 KiB."""
    var max_pending_response_size: Int
    """Content of responses in memory that may wait on a connection, in bytes;
    beyond it further requests wait before their handlers are called, unless
    they are more urgent than all that waits. A handler on a thread counts, as
    long as it runs, with the longest content that its route has made of late.
    Four times what the client has taken of such content is added, up to 16
    times this in all. Default 1 MiB."""

    def __init__(
        out self,
        *,
        max_streams: Int = 100,
        stream_window_size: Int = STREAM_WINDOW_LEN,
        upload_window_size: Int = 262_144,
        connection_window_size: Int = 1 << 20,
        max_continuations: Int = 8,
        max_settings: Int = 32,
        settings_timeout_ms: Int = 10_000,
        max_glitches: Int = 1_000,
        glitches_refill: Int = 33,
        max_queued_size: Int = 65_536,
        max_pending_response_size: Int = 1 << 20,
    ):
        """Makes limits; what is not named has its default."""
        self.max_streams = max_streams
        self.stream_window_size = stream_window_size
        self.upload_window_size = upload_window_size
        self.connection_window_size = connection_window_size
        self.max_continuations = max_continuations
        self.max_settings = max_settings
        self.settings_timeout_ms = settings_timeout_ms
        self.max_glitches = max_glitches
        self.glitches_refill = glitches_refill
        self.max_queued_size = max_queued_size
        self.max_pending_response_size = max_pending_response_size

    @staticmethod
    def about(name: StringSpan) -> StaticString:
        """Says what a field means, for `--help`, in a line; empty for a name
        that is none."""
        for row in materialize[_ROWS]():
            if row.name == name:
                return row.about
        return ""

    def problem(self) -> String:
        """Says what is wrong with the values, by field and bounds; empty if all
        is well."""
        var found = String()
        _check(found, "max_streams", self.max_streams, 1, 10_000)
        _check(
            found,
            "stream_window_size",
            self.stream_window_size,
            1_024,
            (1 << 31) - 1,
        )
        _check(
            found,
            "upload_window_size",
            self.upload_window_size,
            1_024,
            (1 << 31) - 1,
        )
        _check(
            found,
            "connection_window_size",
            self.connection_window_size,
            65_535,
            (1 << 31) - 1,
        )
        _check(found, "max_continuations", self.max_continuations, 0, 1_000)
        _check(found, "max_settings", self.max_settings, 8, 1_000)
        _check(
            found,
            "settings_timeout_ms",
            self.settings_timeout_ms,
            1,
            86_400_000,
        )
        _check(found, "max_glitches", self.max_glitches, 1, 1 << 30)
        _check(found, "glitches_refill", self.glitches_refill, 0, 1 << 30)
        _check(found, "max_queued_size", self.max_queued_size, 1_024, 1 << 30)
        _check(
            found,
            "max_pending_response_size",
            self.max_pending_response_size,
            0,
            1 << 40,
        )
        return found^

    def session_limits(
        self, max_header_size: Int, max_fields: Int, max_target_size: Int
    ) -> Http2Limits:
        """Gives the bounds that a session keeps, in bytes."""
        var limits = Http2Limits()
        limits.section = SectionLimits(
            max_header_size, max_fields, max_target_size
        )
        limits.stream_count_max = self.max_streams
        limits.stream_window = self.stream_window_size
        limits.connection_window = self.connection_window_size
        limits.continuation_count_max = self.max_continuations
        limits.setting_count_max = self.max_settings
        limits.abuse = AbuseLimits(self.max_glitches, self.glitches_refill)
        return limits
