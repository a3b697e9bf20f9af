"""Content on its way out: every pair of state and event, and sources that do what a
script says."""

from flare.bytes.buffer import Buffer
from flare.http.exchange.outgoing_body import (
    BodyEvent,
    BodyState,
    OutgoingBody,
    REGION_LEN_MAX,
    body_state_after,
)
from flare.http.message.body import (
    Body,
    BodySource,
    FileRegion,
    Poll,
    UpgradedProtocol,
)
from flare.http.message.trailers import Trailers
from std.memory import ArcPointer
from tests.support.assertions import assert_equal, assert_false, assert_true

comptime _STATES = ["made", "ready", "waiting", "file", "failed"]


def _name(state: BodyState) -> String:
    return String(materialize[_STATES]()[Int(state.number)])


struct _Seen(Movable):
    """What has become of a source."""

    var fill_count: Int
    var is_alive: Bool
    var advanced_len: Int
    var input: String

    def __init__(out self):
        self.fill_count = 0
        self.is_alive = True
        self.advanced_len = 0
        self.input = ""


struct _Script(BodySource, UpgradedProtocol):
    """Makes what a text says: letters are content, `+` ends a piece behind which
    there is more, `~` one behind which there is nothing yet, `.` is the end, `!`
    an error, `^` all the same with an error in what was received."""

    var steps: String
    var at: Int
    var seen: ArcPointer[_Seen]
    var interval_ms: Int
    var trailer: String
    var region_len: Int
    var gives_up: Bool
    var goes_on: Bool
    var is_endless_one: Bool

    def __init__(out self, var steps: String, seen: ArcPointer[_Seen]):
        self.steps = steps^
        self.at = 0
        self.seen = seen.copy()
        self.interval_ms = 3_600_000
        self.trailer = ""
        self.region_len = 0
        self.gives_up = False
        self.goes_on = False
        self.is_endless_one = False

    def __deinit__(deinit self):
        self.seen[].is_alive = False

    def fill(mut self, mut out: Buffer) raises -> Poll:
        self.seen[].fill_count += 1
        while True:
            var step = self.steps.as_bytes()[self.at]
            self.at += 1
            if step == UInt8(ord("+")):
                return Poll.READY
            if step == UInt8(ord("~")) or step == UInt8(ord("^")):
                return Poll.PENDING
            if step == UInt8(ord(".")):
                return Poll.DONE
            if step == UInt8(ord("!")):
                raise Error("it broke")
            out.append_octet(step)

    def trailers(mut self) raises -> Trailers:
        var trailers = Trailers()
        if self.trailer == "!":
            raise Error("no digest")
        if self.trailer != "":
            trailers.set("x-check", self.trailer)
        return trailers^

    def region(self) -> FileRegion:
        var sent_len = self.seen[].advanced_len
        return FileRegion(9, 100 + sent_len, self.region_len - sent_len)

    def advance(mut self, count: Int):
        self.seen[].advanced_len += count

    def poll_interval_ms(self) -> Int:
        return self.interval_ms

    def has_given_up(self) -> Bool:
        return self.gives_up

    def is_endless(self) -> Bool:
        return self.is_endless_one

    def end_early(mut self, mut out: Buffer) -> Poll:
        out.write_string("bye")
        return Poll.PENDING if self.goes_on else Poll.DONE

    def receive(mut self, mut input: Buffer, mut out: Buffer) raises -> Poll:
        self.seen[].input += String(from_utf8_lossy=input.span())
        return self.fill(out)

    def end_input(mut self) -> Bool:
        return self.goes_on

    def take_failure(mut self) -> String:
        var last = self.steps.as_bytes()[self.at - 1]
        return "bad message" if last == UInt8(ord("^")) else ""


def _seen() -> ArcPointer[_Seen]:
    return ArcPointer(_Seen())


def _made_by(
    var script: _Script, length: Int = -1, *, sends_regions: Bool = False
) -> OutgoingBody:
    var known = Optional[Int](length) if length >= 0 else None
    return OutgoingBody(
        Body(script^, length=known).stream(), sends_regions=sends_regions
    )


def _talking(var script: _Script) -> OutgoingBody:
    """A conversation that waits for its client."""
    script.steps = "~" + script.steps
    var body = OutgoingBody(
        Body.conversing(script^).stream(), sends_regions=False
    )
    var out = Buffer(0)
    _ = body.fill(out, False)
    return body^


def _text(buffer: Buffer) -> String:
    return String(from_utf8_lossy=buffer.span())


@fieldwise_init
struct _Cells(Copyable):
    """What an event does in each state: a state's name, `-` if it does not
    happen."""

    var event: BodyEvent
    var what: String
    var made: String
    var ready: String
    var waiting: String
    var file: String
    var failed: String


def _life() -> List[_Cells]:
    """All that may happen, told from the source's side: an event a line.

    What is over stays so, whoever rings. A broken message is never complete
    again (RFC 9112 section 8).
    """
    return [
        _Cells(
            BodyEvent.PIECE_MADE, "a piece", "-", "ready", "ready", "-", "-"
        ),
        _Cells(
            BodyEvent.NOTHING_YET,
            "nothing",
            "-",
            "waiting",
            "waiting",
            "-",
            "-",
        ),
        _Cells(BodyEvent.ALL_MADE, "all", "-", "made", "made", "-", "-"),
        _Cells(BodyEvent.RAISED, "raised", "-", "failed", "failed", "-", "-"),
        _Cells(BodyEvent.TOO_MUCH, "too much", "-", "failed", "-", "-", "-"),
        _Cells(
            BodyEvent.TOO_LITTLE, "too little", "-", "failed", "-", "-", "-"
        ),
        _Cells(BodyEvent.REGION_FOUND, "region", "-", "file", "-", "-", "-"),
        _Cells(BodyEvent.REGION_SENT, "sent", "-", "-", "-", "ready", "-"),
        _Cells(
            BodyEvent.REGION_REFUSED, "refused", "-", "-", "-", "ready", "-"
        ),
        _Cells(BodyEvent.FILE_CUT, "cut", "-", "-", "-", "failed", "-"),
        _Cells(
            BodyEvent.WOKEN, "woken", "made", "ready", "ready", "file", "failed"
        ),
        _Cells(
            BodyEvent.GAVE_UP,
            "given up",
            "-",
            "failed",
            "failed",
            "failed",
            "-",
        ),
        _Cells(
            BodyEvent.INPUT_ENDED, "input ended", "-", "-", "ready", "-", "-"
        ),
    ]


def _check(state: BodyState, cells: _Cells, wanted: String) raises:
    var next = body_state_after(state, cells.event)
    var found = _name(next.value()) if next else String("-")
    assert_equal(found, wanted, cells.what + " while " + _name(state))


def test_every_pair_of_state_and_event() raises:
    var life = _life()
    assert_equal(len(life), BodyEvent.COUNT)
    for index in range(len(life)):
        ref cells = life[index]
        assert_equal(index, Int(cells.event.number), cells.what)
        _check(BodyState.MADE, cells, cells.made)
        _check(BodyState.READY, cells, cells.ready)
        _check(BodyState.WAITING, cells, cells.waiting)
        _check(BodyState.FILE, cells, cells.file)
        _check(BodyState.FAILED, cells, cells.failed)


@fieldwise_init
struct _Run(Copyable):
    """A source and what of it goes out."""

    var rule: String
    var length: Int
    """What is announced; -1 for nothing."""
    var script: String
    var sent: String
    var end: String
    var waits: Int
    var told: String


def _drive(mut body: OutgoingBody, mut out: Buffer) -> Int:
    """Asks until all is made, or it breaks off; how often it had to wait."""
    var waits = 0
    var rounds = 0
    while rounds < 1_000:
        rounds += 1
        if body.state == BodyState.READY:
            _ = body.fill(out, False)
        elif body.state == BodyState.WAITING:
            waits += 1
            body.wake()
        else:
            break
    return waits


def _try(run: _Run) raises:
    var seen = _seen()
    var body = _made_by(_Script(run.script, seen), run.length)
    var out = Buffer(0)
    var waits = _drive(body, out)
    var what = run.rule + ": " + run.script
    assert_equal(_text(out), run.sent, what)
    assert_equal(_name(body.state), run.end, what)
    assert_equal(waits, run.waits, what)
    # A source goes as soon as it has made all.
    assert_equal(seen[].is_alive, run.end != "made", what)
    assert_equal(body.take_failure(), run.told, what)


def test_sources_of_unknown_length() raises:
    var rule = String("9112-7.1 until the last chunk")
    var broken = String("9112-8 an incomplete message is broken off")
    for run in [
        _Run(rule, -1, ".", "", "made", 0, ""),
        _Run(rule, -1, "a.", "a", "made", 0, ""),
        _Run(rule, -1, "a+.", "a", "made", 0, ""),
        _Run(rule, -1, "a+b.", "ab", "made", 0, ""),
        _Run(rule, -1, "+.", "", "made", 0, ""),
        _Run(rule, -1, "+++a.", "a", "made", 0, ""),
        _Run(rule, -1, "a+b+c+d+e.", "abcde", "made", 0, ""),
        _Run(rule, -1, "~.", "", "made", 1, ""),
        _Run(rule, -1, "~~~.", "", "made", 3, ""),
        _Run(rule, -1, "a~b.", "ab", "made", 1, ""),
        _Run(rule, -1, "a~+b~.", "ab", "made", 2, ""),
        _Run(rule, -1, "~a+~b~c.", "abc", "made", 3, ""),
        _Run(broken, -1, "!", "", "failed", 0, "a stream failed: it broke"),
        # What a call has appended that fails is not sent.
        _Run(broken, -1, "ab!", "", "failed", 0, "a stream failed: it broke"),
        _Run(
            broken, -1, "ab+!", "ab", "failed", 0, "a stream failed: it broke"
        ),
        _Run(
            broken, -1, "ab+c!", "ab", "failed", 0, "a stream failed: it broke"
        ),
        _Run(broken, -1, "~!", "", "failed", 1, "a stream failed: it broke"),
        _Run(broken, -1, "a~b!", "a", "failed", 1, "a stream failed: it broke"),
        _Run(
            broken,
            -1,
            "a+~b+c!",
            "ab",
            "failed",
            1,
            "a stream failed: it broke",
        ),
    ]:
        _try(run)


def test_sources_of_known_length() raises:
    var rule = String("9110-8.6 as much as announced")
    var more = String("9110-8.6 never more than announced")
    var less = String("9112-8, 9113-8.1.1 less is incomplete")
    var none = String("9110-8.6 zero is a length")
    for run in [
        _Run(none, 0, ".", "", "made", 0, ""),
        _Run(none, 0, "+.", "", "made", 0, ""),
        _Run(none, 0, "~.", "", "made", 1, ""),
        _Run(none, 0, "~+~.", "", "made", 2, ""),
        _Run(none, 0, "a.", "", "failed", 0, "a stream of 0 octets made 1"),
        _Run(none, 0, "~a~.", "", "failed", 1, "a stream of 0 octets made 1"),
        _Run(none, 0, "!", "", "failed", 0, "a stream failed: it broke"),
        _Run(rule, 1, "a.", "a", "made", 0, ""),
        _Run(rule, 1, "a+.", "a", "made", 0, ""),
        _Run(rule, 1, "a~.", "a", "made", 1, ""),
        _Run(rule, 3, "abc.", "abc", "made", 0, ""),
        _Run(rule, 3, "a+b+c+.", "abc", "made", 0, ""),
        _Run(rule, 3, "a~b+c~.", "abc", "made", 2, ""),
        _Run(rule, 3, "+~+abc~+.", "abc", "made", 2, ""),
        _Run(more, 1, "ab.", "", "failed", 0, "a stream of 1 octets made 2"),
        _Run(more, 1, "ab+.", "", "failed", 0, "a stream of 1 octets made 2"),
        _Run(more, 1, "ab~.", "", "failed", 0, "a stream of 1 octets made 2"),
        _Run(more, 1, "a+b.", "a", "failed", 0, "a stream of 1 octets made 2"),
        _Run(more, 1, "a~b.", "a", "failed", 1, "a stream of 1 octets made 2"),
        _Run(
            more,
            2,
            "a+b+cde.",
            "ab",
            "failed",
            0,
            "a stream of 2 octets made 5",
        ),
        _Run(less, 1, ".", "", "failed", 0, "a stream of 1 octets made 0"),
        _Run(less, 1, "~.", "", "failed", 1, "a stream of 1 octets made 0"),
        _Run(less, 3, "ab.", "", "failed", 0, "a stream of 3 octets made 2"),
        _Run(less, 3, "ab+.", "ab", "failed", 0, "a stream of 3 octets made 2"),
        _Run(less, 3, "a~b.", "a", "failed", 1, "a stream of 3 octets made 2"),
        _Run(less, 9, "a+!", "a", "failed", 0, "a stream failed: it broke"),
        # Its error counts, though all octets are there: it has not ended.
        _Run(rule, 2, "ab+!", "ab", "failed", 0, "a stream failed: it broke"),
    ]:
        _try(run)


def test_content_is_the_same_wherever_it_is_cut() raises:
    """RFC 9110 section 6.4: how content is divided says nothing."""
    comptime TEXT = StaticString("abcdefghij")
    var count = 0
    for first in range(11):
        for second in range(first, 11):
            for mark in [String("+"), String("~")]:
                var script = String(TEXT[byte=0:first])
                script += mark + String(TEXT[byte=first:second])
                script += "+" + String(TEXT[byte=second:10]) + "."
                var waits = 1 if mark == "~" else 0
                var rule = String("6.4 cut at ", first, " and ", second)
                _try(_Run(rule, -1, script, String(TEXT), "made", waits, ""))
                _try(_Run(rule, 10, script, String(TEXT), "made", waits, ""))
                count += 2
    assert_equal(count, 264)


def test_what_was_appended_before_stays() raises:
    """Framing may stand before a piece: what breaks off takes only its own."""
    for script in ["ab!", "abc.", "a."]:
        var body = _made_by(_Script(String(script), _seen()), 2)
        var out = Buffer(0)
        out.write_string("head")
        assert_true(body.fill(out, False) == BodyState.FAILED, script)
        assert_equal(_text(out), "head", script)


def test_content_in_memory() raises:
    """Sent from wherever the client has stopped, in portions of any size."""
    for length in [0, 1, 2, 7, 64]:
        var letters = String("abcdefgh") * 8
        var text = String(letters[byte=0:length])
        for start in range(length + 1):
            for portion in [1, 3, 64]:
                var body = OutgoingBody(Body(text), offset=start)
                var what = String(length, " from ", start, " by ", portion)
                assert_equal(_name(body.state), "made", what)
                assert_false(body.listens(), what)
                assert_equal(len(body.rest()), length - start, what)
                var sent = String()
                while not body.is_sent():
                    var count = min(portion, len(body.rest()))
                    sent += String(
                        from_utf8_lossy=body.rest().unsafe_subspan(
                            offset=0, length=count
                        )
                    )
                    body.offset += count
                assert_equal(sent, String(text[byte=start:length]), what)
                # Nobody rings for it; if somebody does, it is all the same.
                body.wake()
                assert_equal(_name(body.state), "made", what)
                assert_false(body.has_given_up(), what)


def test_nothing_is_left_of_nothing() raises:
    var body = OutgoingBody()
    assert_equal(_name(body.state), "made")
    assert_true(body.is_sent())
    assert_false(body.listens())
    assert_equal(body.take_failure(), "")
    assert_false(body.trailers.__bool__())


def test_a_source_that_nobody_asks_makes_nothing() raises:
    """RFC 9110 section 9.3.2: a response to HEAD has no content, whatever its
    length would be."""
    for length in [-1, 0, 5]:
        var seen = _seen()
        var body = _made_by(_Script("abcde.", seen), length)
        assert_true(body.is_sent(), String(length))
        assert_true(seen[].is_alive, String(length))
        _ = body^
        assert_equal(seen[].fill_count, 0, String(length))
        assert_false(seen[].is_alive, String(length))


@fieldwise_init
struct _Wait(ImplicitlyCopyable):
    var interval_ms: Int
    var now_ms: Int
    var wanted_ms: Int


def test_a_source_waits_until_it_rings_or_its_time_comes() raises:
    for row in [
        _Wait(1, 0, 1),
        _Wait(1, 5_000, 5_001),
        _Wait(250, 5_000, 5_250),
        _Wait(3_600_000, 7, 3_600_007),
        # It is never asked in the same moment once more.
        _Wait(0, 5_000, 5_001),
        _Wait(-1, 5_000, 5_001),
        _Wait(-9_000, 0, 1),
        # One that wants to be asked never, or in an age.
        _Wait(Int.MAX, 5_000, Int.MAX),
        _Wait(Int.MAX - 5_000, 5_001, Int.MAX),
        _Wait(Int.MAX - 5_000, 5_000, Int.MAX),
    ]:
        var seen = _seen()
        var script = _Script("a~~b.", seen)
        script.interval_ms = row.interval_ms
        var body = _made_by(script^)
        var out = Buffer(0)
        assert_equal(_name(body.fill(out, False)), "waiting")
        assert_equal(body.next_ask_ms(row.now_ms), row.wanted_ms)
        # Rung twice before anybody asks: it is asked once.
        body.wake()
        body.wake()
        assert_equal(_name(body.state), "ready")
        assert_equal(_name(body.fill(out, False)), "waiting")
        body.wake()
        assert_equal(_name(body.fill(out, False)), "made")
        assert_equal(_text(out), "ab")
        assert_equal(seen[].fill_count, 3)


def test_trailers_follow_all_content_and_nothing_else() raises:
    """RFC 9110 section 6.5: they are known when all content is made."""
    for text in [".", "a.", "a+.", "a~b+."]:
        var script = _Script(String(text), _seen())
        script.trailer = "7"
        var body = _made_by(script^)
        var out = Buffer(0)
        var rounds = 0
        while body.state != BodyState.MADE and rounds < 9:
            assert_false(body.trailers.__bool__(), text)
            body.wake()
            _ = body.fill(out, False)
            rounds += 1
        assert_equal(_name(body.state), "made", text)
        assert_equal(len(body.trailers), 1, text)
        assert_true("x-check" in body.trailers, text)


def test_no_trailers_follow_what_is_broken() raises:
    """RFC 9112 section 7.1.2: the section stands behind the last chunk."""
    for text in ["!", "ab!", "a+b+c.", "a."]:
        var script = _Script(String(text), _seen())
        script.trailer = "7"
        var body = _made_by(script^, 2)
        var out = Buffer(0)
        _ = _drive(body, out)
        assert_equal(_name(body.state), "failed", text)
    for text in [".", "ab."]:
        var script = _Script(String(text), _seen())
        script.trailer = "!"
        var body = _made_by(script^)
        var out = Buffer(0)
        _ = _drive(body, out)
        assert_equal(_name(body.state), "failed", text)
        assert_equal(_text(out), "", text)
        assert_equal(body.take_failure(), "a stream failed: no digest", text)
        assert_false(body.trailers.__bool__(), text)


def test_a_failure_is_told_once() raises:
    var body = _made_by(_Script("!", _seen()))
    var out = Buffer(0)
    _ = body.fill(out, False)
    assert_equal(body.take_failure(), "a stream failed: it broke")
    assert_equal(body.take_failure(), "")
    # And nothing makes it whole again.
    body.wake()
    assert_equal(_name(body.state), "failed")


def test_a_source_gives_its_client_up() raises:
    for text in ["a+b.", "~b."]:
        for gives_up in [False, True]:
            var script = _Script(String(text), _seen())
            script.gives_up = gives_up
            var body = _made_by(script^)
            var out = Buffer(0)
            _ = body.fill(out, False)
            assert_equal(body.has_given_up(), gives_up, text)
            assert_equal(body.state == BodyState.FAILED, gives_up, text)
    var seen = _seen()
    var script = _Script("a.", seen)
    script.gives_up = True
    var body = _made_by(script^)
    var out = Buffer(0)
    _ = body.fill(out, False)
    # It has made all: nobody is there to give up.
    assert_false(body.has_given_up())
    assert_equal(_name(body.state), "made")


def test_what_is_endless_ends_when_the_server_drains() raises:
    for is_endless in [False, True]:
        for goes_on in [False, True]:
            for is_draining in [False, True]:
                var script = _Script("a+b.", _seen())
                script.is_endless_one = is_endless
                script.goes_on = goes_on
                var body = _made_by(script^)
                var out = Buffer(0)
                var next = body.fill(out, is_draining)
                var what = String(is_endless, goes_on, is_draining)
                if not is_endless or not is_draining:
                    assert_equal(_text(out), "a", what)
                    assert_equal(_name(next), "ready", what)
                    continue
                assert_equal(_text(out), "bye", what)
                assert_equal(
                    _name(next), "waiting" if goes_on else "made", what
                )


@fieldwise_init
struct _Talk(Copyable):
    """What a conversation answers to one message."""

    var rule: String
    var script: String
    var said: String
    var end: String
    var told: String


def test_a_conversation_hears_and_answers() raises:
    """RFC 9110 section 7.8: what follows a 101 is the other protocol's."""
    for talk in [
        _Talk("it answers, and waits", "hi~", "hi", "waiting", ""),
        _Talk("it says nothing", "~", "", "waiting", ""),
        _Talk("it has more to say", "hi+", "hi", "ready", ""),
        _Talk("it has more, but not now", "+", "", "ready", ""),
        _Talk("it ends with words", "bye.", "bye", "made", ""),
        _Talk("it ends without", ".", "", "made", ""),
        _Talk("it fails", "!", "", "failed", "a conversation failed: it broke"),
        _Talk(
            "it fails behind an answer",
            "hi!",
            "",
            "failed",
            "a conversation failed: it broke",
        ),
        _Talk(
            "it goes on over an error", "no^", "no", "waiting", "bad message"
        ),
    ]:
        var seen = _seen()
        var body = _talking(_Script(talk.script, seen))
        assert_true(body.listens(), talk.rule)
        var input = Buffer(0)
        input.write_string("hello")
        var out = Buffer(0)
        var next = body.hear(input, out)
        assert_equal(_name(next), talk.end, talk.rule)
        assert_equal(_text(out), talk.said, talk.rule)
        assert_equal(seen[].input, "hello", talk.rule)
        # What is left must not reach the next client.
        assert_equal(len(input), 0, talk.rule)
        assert_equal(seen[].is_alive, talk.end != "made", talk.rule)
        assert_equal(body.take_failure(), talk.told, talk.rule)


def test_a_tunnel_has_no_trailers() raises:
    """RFC 9113 section 8.5: nothing but DATA belongs there."""
    for hears in [False, True]:
        var script = _Script("bye.", _seen())
        script.trailer = "7"
        var body = _talking(script^)
        var out = Buffer(0)
        var input = Buffer(0)
        if hears:
            _ = body.hear(input, out)
        else:
            body.wake()
            _ = body.fill(out, False)
        assert_equal(_name(body.state), "made", String(hears))
        assert_false(body.trailers.__bool__(), String(hears))


def test_a_client_ends_its_side_of_a_conversation() raises:
    for goes_on in [False, True]:
        var seen = _seen()
        var script = _Script("last.", seen)
        script.goes_on = goes_on
        var body = _talking(script^)
        var next = body.end_input()
        assert_equal(_name(next), "ready" if goes_on else "made")
        var out = Buffer(0)
        _ = _drive(body, out)
        assert_equal(_text(out), "last" if goes_on else "")
        assert_false(seen[].is_alive)


@fieldwise_init
struct _File(ImplicitlyCopyable):
    var length: Int
    var file_len: Int
    var taken: Int
    """What the client takes at a time."""
    var portions: Int


def test_a_file_is_sent_as_it_lies() raises:
    """In portions, so that others have their turn, and no further than what was
    announced (RFC 9110 section 8.6)."""
    comptime M = REGION_LEN_MAX
    for row in [
        _File(0, 0, 1, 0),
        _File(0, 9, 1, 0),
        _File(1, 1, 1, 1),
        _File(9, 9, 9, 1),
        _File(9, 9, 4, 1),
        _File(9, 9, 1, 1),
        _File(9, 30, 5, 1),
        _File(M - 1, M - 1, M, 1),
        _File(M, M, M, 1),
        _File(M + 1, M + 1, M, 2),
        _File(M + 1, 3 * M, M, 2),
        _File(2 * M, 2 * M, 100_000, 2),
        _File(3 * M - 1, 3 * M, M, 3),
    ]:
        var seen = _seen()
        var script = _Script(".", seen)
        script.region_len = row.file_len
        var body = _made_by(script^, row.length, sends_regions=True)
        var out = Buffer(0)
        var portions = 0
        var offset = 100
        var what = String(row.length, " of ", row.file_len, " by ", row.taken)
        while body.fill(out, False) == BodyState.FILE:
            portions += 1
            assert_false(body.is_sent(), what)
            while body.state == BodyState.FILE:
                assert_equal(body.region.number, Int32(9), what)
                assert_equal(body.region.offset, offset, what)
                assert_true(body.region.length <= M, what)
                var count = min(row.taken, body.region.length)
                offset += count
                # It may ring meanwhile.
                body.wake()
                _ = body.note_region_sent(count)
        assert_equal(_name(body.state), "made", what)
        assert_equal(portions, row.portions, what)
        assert_equal(seen[].advanced_len, row.length, what)
        assert_equal(offset - 100, row.length, what)
        assert_true(body.is_sent(), what)
        assert_equal(len(out), 0, what)


def test_no_region_is_sent_where_it_cannot_be() raises:
    # TLS, chunks and frames need the octets; so does what has no length.
    for length in [-1, 3]:
        for sends_regions in [False, True]:
            var script = _Script("abc.", _seen())
            script.region_len = 3
            var body = _made_by(script^, length, sends_regions=sends_regions)
            var out = Buffer(0)
            var next = body.fill(out, False)
            var is_file = sends_regions and length >= 0
            assert_equal(_name(next), "file" if is_file else "made")
            if is_file:
                # A file system that cannot: the source reads.
                body.note_region_refused()
                assert_equal(_name(body.state), "ready")
                assert_true(body.is_sent())
                assert_equal(_name(body.fill(out, False)), "made")
            assert_equal(_text(out), "abc")


def test_a_file_that_becomes_shorter_breaks_off() raises:
    for sent_len in [0, 1, 4]:
        var script = _Script(".", _seen())
        script.region_len = 5
        var body = _made_by(script^, 5, sends_regions=True)
        var out = Buffer(0)
        _ = body.fill(out, False)
        if sent_len > 0:
            assert_equal(_name(body.note_region_sent(sent_len)), "file")
        body.note_file_cut()
        assert_equal(_name(body.state), "failed")
        assert_equal(
            body.take_failure(),
            String(
                "a file ends at byte ",
                100 + sent_len,
                "; it was longer when its response began",
            ),
        )


def test_a_source_that_gives_up_within_a_file() raises:
    var script = _Script(".", _seen())
    script.region_len = 5
    script.gives_up = True
    var body = _made_by(script^, 5, sends_regions=True)
    var out = Buffer(0)
    assert_equal(_name(body.fill(out, False)), "file")
    assert_true(body.has_given_up())
    assert_equal(_name(body.state), "failed")
