"""Who is there, as several processes see it; they talk through lists."""

from flare.backplane.channel import OutgoingMessage
from flare.backplane.message import (
    MessageKind,
    append_word,
    parse_message,
    write_message,
)
from flare.backplane.presence import PRESENCE_DATA_LEN_MAX, Presence
from flare.backplane.presence_table import PresenceTable
from flare.backplane.presence_watcher import (
    AnyPresenceWatcher,
    PresenceChange,
    PresenceEvent,
    PresenceWatcher,
)
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.sys.mutex import Mutex
from tests.support.assertions import assert_equal, assert_raises, assert_true

comptime _EXPIRES_MS = 5_000


struct _World:
    """Some processes; what one says all hear, unless it is lost."""

    var tables: List[PresenceTable]
    var is_alive: List[Bool]
    var now_ms: Int
    var sequence: Int

    def __init__(out self, count: Int):
        self.tables = []
        self.is_alive = []
        for _ in range(count):
            self.tables.append(PresenceTable(_EXPIRES_MS))
            self.is_alive.append(True)
        self.now_ms = 1_000_000
        self.sequence = 0
        # A process ticks when it joins, before it hears anybody.
        for index in range(count):
            var unheard = List[OutgoingMessage]()
            self.tables.at(index).on_tick(self.now_ms, UInt64(index), unheard)

    def say(
        mut self,
        sender: Int,
        kind: MessageKind,
        room: StringSpan,
        id: StringSpan,
        payload: Span[UInt8, _],
    ) raises:
        self.sequence += 1
        var octets = Buffer()
        write_message(
            octets, kind, UInt64(sender), self.sequence, room, id, payload
        )
        for index in range(len(self.tables)):
            if self.is_alive.at(index):
                _ = self.tables.at(index).on_message(
                    parse_message(octets.span()).value(),
                    is_own=index == sender,
                )

    def enter(
        mut self,
        sender: Int,
        name: StringSpan,
        key: UInt64,
        data: StringSpan = "",
    ) raises:
        var version = self.tables.at(sender).enter("room", name, key, data)
        var news = _news(version, key)
        news.append(data.as_bytes())
        self.say(sender, MessageKind.ENTERED, "room", name, news.span())

    def leave(mut self, sender: Int, key: UInt64) raises:
        var version = self.tables.at(sender).leave("room", key)
        self.say(
            sender, MessageKind.LEFT, "room", "", _news(version, key).span()
        )

    def go_on(mut self, time_ms: Int) raises:
        """Lets time go by, a quarter of a second at a time."""
        for _ in range(time_ms // 250):
            self.now_ms += 250
            for index in range(len(self.tables)):
                if not self.is_alive.at(index):
                    continue
                var outgoing = List[OutgoingMessage]()
                self.tables.at(index).on_tick(
                    self.now_ms, UInt64(index), outgoing
                )
                for place in range(len(outgoing)):
                    ref message = outgoing.at(place)
                    self.say(
                        index,
                        message.kind,
                        message.room,
                        "",
                        message.payload.span(),
                    )

    def names(self, index: Int) -> String:
        var text = String()
        for name in self.tables.at(index).names("room"):
            text += name + " "
        return text


def _news(version: Int, key: UInt64) -> Buffer:
    var payload = Buffer()
    append_word(payload, UInt64(version))
    append_word(payload, key)
    return payload^


def test_who_comes_and_goes_is_seen_by_all_at_once() raises:
    var world = _World(3)
    world.go_on(2_000)
    world.enter(0, "ann", 1)
    world.enter(1, "bob", 1)
    world.enter(1, "ann", 2)
    for index in range(3):
        assert_equal(world.names(index), "ann bob ", String(index))
    world.leave(0, 1)
    for index in range(3):
        assert_equal(world.names(index), "ann bob ", "she has another tab")
    world.leave(1, 2)
    for index in range(3):
        assert_equal(world.names(index), "bob ")
    assert_equal(world.tables.at(0).process_count(), 2)


def test_who_was_not_there_learns_of_all() raises:
    var world = _World(3)
    world.is_alive.at(2) = False
    # More than one message holds.
    for key in range(2_000):
        world.enter(0, String("member ", key), UInt64(key))
    world.enter(1, "bob", 1)
    world.is_alive.at(2) = True
    world.go_on(3_000)
    assert_equal(len(world.tables.at(2).names("room")), 2_001)
    assert_equal(world.names(2), world.names(0))


def test_news_that_are_lost_are_asked_for() raises:
    var world = _World(2)
    world.go_on(2_000)
    world.enter(0, "ann", 1)
    world.is_alive.at(1) = False
    world.leave(0, 1)
    world.enter(0, "bob", 2)
    world.is_alive.at(1) = True
    assert_equal(world.names(1), "ann ")
    world.go_on(3_000)
    assert_equal(world.names(1), "bob ")


def test_who_dies_is_gone_and_who_was_silent_comes_back() raises:
    var world = _World(3)
    world.go_on(2_000)
    world.enter(0, "ann", 1)
    world.enter(1, "bob", 1)
    world.is_alive.at(0) = False
    world.go_on(_EXPIRES_MS - 1_000)
    assert_equal(world.names(1), "ann bob ")
    world.go_on(2_000)
    assert_equal(world.names(1), "bob ")
    assert_equal(world.names(2), "bob ")
    assert_equal(world.tables.at(1).process_count(), 1)
    world.is_alive.at(0) = True
    world.go_on(3_000)
    for index in range(3):
        assert_equal(world.names(index), "ann bob ", String(index))


def test_who_was_stopped_takes_nobody_for_dead() raises:
    """`Presence`: a process is taken for dead when it was silent. What it said
    while the one that listens was stopped (SIGSTOP) comes behind that."""
    var world = _World(3)
    world.go_on(2_000)
    world.enter(0, "ann", 1)
    world.enter(2, "bob", 1)
    world.is_alive.at(1) = False
    world.go_on(4 * _EXPIRES_MS)
    world.is_alive.at(1) = True
    # Bob's process has ended meanwhile.
    world.is_alive.at(2) = False
    world.go_on(250)
    assert_equal(world.names(1), "ann bob ")
    world.go_on(_EXPIRES_MS + 2_000)
    assert_equal(world.names(1), "ann ")


def test_whatever_is_told_does_no_harm() raises:
    """Each kind with each beginning of octets that lie."""
    var lies = Buffer()
    for number in [0, 0, -1, -1, 1 << 40, 3, 9, -1]:
        append_word(lies, UInt64(number))
    for value in range(16, 21):
        for length in range(len(lies) + 1):
            var world = _World(2)
            world.enter(1, "bob", 1)
            world.say(
                0,
                MessageKind(UInt8(value)),
                "last",
                "",
                lies.span()[:length],
            )
            world.go_on(3_000)
            assert_true("bob" in world.names(0))


def test_alone_it_needs_no_others() raises:
    var presence = Presence()
    presence.enter("room", "ann", 1)
    presence.enter("room", "eve", 1)
    assert_equal(len(presence.names("room")), 1)
    assert_equal(presence.names("room").at(0), "eve")
    presence.leave("room", 1)
    presence.leave("room", 1)
    assert_equal(len(presence.names("room")), 0)
    with assert_raises(contains="at least 2000"):
        _ = Presence(expires_ms=1_999)


@fieldwise_init
struct _Diary(PresenceWatcher):
    """Writes down what it is told."""

    var lines: Mutex[String]

    def on_change(self, change: PresenceChange):
        var mark = "+"
        if change.event == PresenceEvent.LEFT:
            mark = "-"
        elif change.event == PresenceEvent.CHANGED:
            mark = "="
        ref member = change.member
        self.lines.lock()[] += String(
            mark, member.name, "(", member.data, ")", member.process, " "
        )


def test_data_come_along_and_are_counted() raises:
    var world = _World(3)
    world.is_alive.at(2) = False
    world.go_on(2_000)
    world.enter(0, "ann", 1, '{"away": false}')
    world.enter(1, "ann", 1, "tab")
    world.enter(1, "bob", 2)
    world.is_alive.at(2) = True
    world.go_on(3_000)
    for index in range(3):
        assert_equal(world.tables.at(index).count("room"), 3)
        assert_equal(world.tables.at(index).count("none"), 0)
        var text = String()
        var members = world.tables.at(index).members("room")
        assert_equal(len(members), 3)
        for process in range(2):
            for key in range(1, 3):
                for ref member in members:
                    if member.process == UInt64(process) and member.key == (
                        UInt64(key)
                    ):
                        text += member.name + ":" + member.data + " "
        assert_equal(text, 'ann:{"away": false} ann:tab bob: ', String(index))
    world.leave(0, 1)
    assert_equal(world.tables.at(2).count("room"), 2)


def test_who_comes_changes_and_goes_is_told() raises:
    var diary = Mutex(String())
    var tables = List[Mutex[PresenceTable]]()
    for index in range(2):
        tables.append(Mutex(PresenceTable(_EXPIRES_MS)))
        var outgoing = List[OutgoingMessage]()
        tables.at(index).lock()[].on_tick(0, UInt64(index), outgoing)
    _ = tables.at(1).lock()[].watch(AnyPresenceWatcher(_Diary(diary)))

    def hear(kind: MessageKind, id: StringSpan, payload: Buffer) raises {imm}:
        var octets = Buffer()
        write_message(octets, kind, 0, 1, "room", id, payload.span())
        _ = (
            tables.at(1)
            .lock()[]
            .on_message(parse_message(octets.span()).value(), is_own=False)
        )
        PresenceTable.tell(tables.at(1))

    def told() raises {imm} -> String:
        var lines = String()
        swap(lines, diary.lock()[])
        return lines

    # Its own.
    assert_equal(tables.at(1).lock()[].enter("room", "own", 9, "a"), 1)
    assert_equal(tables.at(1).lock()[].enter("room", "own", 9, "a"), 0)
    assert_equal(tables.at(1).lock()[].enter("room", "own", 9, "b"), 2)
    assert_equal(tables.at(1).lock()[].leave("room", 9), 3)
    assert_equal(told(), "", "not under the lock")
    PresenceTable.tell(tables.at(1))
    assert_equal(told(), "+own(a)1 =own(b)1 -own(b)1 ")
    # Those of another process.
    var beat = Buffer()
    append_word(beat, 0)
    hear(MessageKind.HEARTBEAT, "", beat)
    var news = _news(1, 5)
    news.append("x".as_bytes())
    hear(MessageKind.ENTERED, "ann", news)
    assert_equal(told(), "+ann(x)0 ")
    hear(MessageKind.ENTERED, "eve", _news(2, 5))
    assert_equal(told(), "=eve()0 ")
    hear(MessageKind.ENTERED, "bob", _news(3, 6))
    hear(MessageKind.LEFT, "", _news(4, 5))
    hear(MessageKind.LEFT, "", _news(5, 5))
    assert_equal(told(), "+bob()0 -eve()0 ")
    # A silent process.
    var outgoing = List[OutgoingMessage]()
    for second in range(1, _EXPIRES_MS // 1_000 + 2):
        tables.at(1).lock()[].on_tick(1_000 * second, 1, outgoing)
    PresenceTable.tell(tables.at(1))
    assert_equal(told(), "-bob()0 ")


def test_all_members_at_once_are_told_as_what_is_different() raises:
    var diary = Mutex(String())
    var world = _World(2)
    _ = world.tables.at(1).watch(AnyPresenceWatcher(_Diary(diary)))
    world.go_on(2_000)
    world.enter(0, "ann", 1, "x")
    world.enter(0, "bob", 2)
    world.is_alive.at(1) = False
    world.leave(0, 2)
    world.enter(0, "ann", 1, "y")
    world.enter(0, "eve", 3)
    world.is_alive.at(1) = True
    world.go_on(3_000)
    var table = Mutex(world.tables.pop(1))
    PresenceTable.tell(table)
    assert_equal(diary.lock()[], "+ann(x)0 +bob()0 -bob()0 =ann(y)0 +eve()0 ")


@fieldwise_init
struct _Guest(PresenceWatcher):
    """Enters another room when somebody comes."""

    var presence: Presence
    var lines: Mutex[String]

    def on_change(self, change: PresenceChange):
        self.lines.lock()[] += change.room + " "
        if change.room == "room":
            self.presence.enter("second", "guest", 2)


def test_a_watcher_may_do_what_is_told_of_again() raises:
    var lines = Mutex(String())
    var presence = Presence()
    presence.watch(_Guest(presence.copy(), lines))
    presence.enter("room", "ann", 1)
    assert_equal(lines.lock()[], "room second ")
    assert_equal(presence.count("second"), 1)
    # It holds what holds it.
    presence.watch(_Diary(lines))


def test_data_are_bounded() raises:
    var presence = Presence()
    presence.enter("room", "ann", 1, String("x") * PRESENCE_DATA_LEN_MAX)
    with assert_raises(contains="4097 bytes"):
        presence.enter("room", "ann", 1, String("x") * 4_097)
    assert_equal(presence.members("room").at(0).data.byte_length(), 4_096)
