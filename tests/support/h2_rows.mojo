"""Tables of frames for a session, and of what it makes of them."""

from flare.http.h2.connection_state import Http2Limits, Http2Role
from tests.support.assertions import assert_equal
from tests.support.h2_log import Frames, Http2Log

comptime GET_BLOCK = StaticString("828684" + "4101" + "61")
"""GET http://a/ as a field block, with `a` added to the table."""
comptime POST_BLOCK = StaticString("838684" + "0101" + "61")
"""POST to the same, with nothing added."""


@fieldwise_init
struct FrameRow(Copyable, Movable):
    """A frame that the peer sends."""

    var type: Int
    var flags: Int
    var stream_id: Int
    var payload: String
    """In hex."""


struct SessionRow(Copyable, Movable):
    """Frames behind the peer's SETTINGS, and what becomes of them."""

    var rule: StaticString
    var frames: List[FrameRow]
    var events: StaticString
    """As `Http2Log.text` has it."""
    var told: StaticString
    """As `Http2Log.told` has it, without the acknowledgement of SETTINGS."""

    def __init__(
        out self,
        rule: StaticString,
        var frames: List[FrameRow],
        events: StaticString,
        told: StaticString = "",
    ):
        """Makes a row; by default the peer is told nothing more."""
        self.rule = rule
        self.frames = frames^
        self.events = events
        self.told = told


def run_rows(
    role: Http2Role,
    rows: List[SessionRow],
    limits: Http2Limits = Http2Limits(),
) raises:
    """Feeds the frames of each row to a new session: whole, and in two pieces
    that are cut at every place, which makes no difference.

    Args:
        role: The session's side; a client has a GET on stream 1, and a POST
            without content on stream 3.
        rows: The table.
        limits: The session's.

    Raises:
        Error: If a row does not hold.
    """
    for row in rows:
        var frames = Frames(has_preface=role.is_server)
        if not role.is_server:
            frames.add(4, 0, 0, "")
        for frame in row.frames:
            frames.add(frame.type, frame.flags, frame.stream_id, frame.payload)
        var octets = frames.octets.span()
        for end in range(len(octets) + 1):
            var log = Http2Log(role, limits)
            if not role.is_server:
                _ = log.open()
                _ = log.open(ends=False)
                log.out.clear()
            log.feed(octets[0:end])
            log.feed(octets[end:])
            assert_equal(log.text, row.events, row.rule)
            assert_equal(log.told(), String(" 4@0", row.told), row.rule)
