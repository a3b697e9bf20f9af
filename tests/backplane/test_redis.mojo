"""What a hub's way to Redis does at its end, with a server that is slow, and
behind another master."""

from flare.backplane.backplane import BackplaneCounts
from flare.backplane.redis import RedisBackplane
from flare.backplane.redis_way import is_before
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.sys.clock import Deadline
from flare.sys.mutex import Mutex
from flare.sys.poll import pause
from flare.sys.thread import Task, Thread
from flare.tcp.stream import TcpListener
from tests.support.assertions import assert_equal, assert_true
from tests.support.loopback import PATIENCE_MS
from tests.support.scripted_redis import (
    UNKNOWN_COMMAND,
    Asking,
    config_of,
    listen,
)


@fieldwise_init
struct _Slow(Task):
    """Takes a while for the first message, and counts all."""

    var _listener: TcpListener
    var _published: Mutex[Int]

    def run(mut self) raises:
        var client = Asking(self._listener)
        while client.asks():
            if "PUBLISH" not in client.asked:
                client.say(UNKNOWN_COMMAND)
                continue
            self._published.lock()[] += 1
            if self._published.lock()[] == 1:
                pause(500)
            client.say(":0\r\n")


def test_what_waits_at_the_end_is_sent() raises:
    var listener = listen()
    var config = config_of(listener, protocol=3)
    var published = Mutex(0)
    var server = Thread(_Slow(listener^, published))
    var plane = RedisBackplane(config^, "room")
    plane.connect(wants_past=False)
    _ = plane.publish("first".as_bytes(), wants_order=False)
    var deadline = Deadline(PATIENCE_MS)
    while published.lock()[] == 0:
        assert_true(deadline.left_ms() > 0, "it is not sent")
        pause(1)
    # Behind the one that is on its way.
    _ = plane.publish("last".as_bytes(), wants_order=False)
    plane.interrupt()
    assert_equal(published.lock()[], 2)
    server^.join()


@fieldwise_init
struct _Failover(Task):
    """A master, and from the second connection on another one, which had not
    all of the stream, and whose clock is behind."""

    var _listener: TcpListener

    def run(mut self) raises:
        self._serve("9000-1")
        self._serve("5-1")

    def _serve(mut self, last: String) raises:
        var client = Asking(self._listener)
        while client.asks():
            var answer = String(UNKNOWN_COMMAND)
            if "XREVRANGE" in client.asked:
                answer = String(
                    "*1\r\n*2\r\n$",
                    last.byte_length(),
                    "\r\n",
                    last,
                    "\r\n*2\r\n$1\r\nm\r\n$3\r\nold\r\n",
                )
            elif "XREAD" in client.asked:
                answer = String("*-1\r\n")
                # What it has added since stands right behind.
                if "$3\r\n5-1\r\n" in client.asked:
                    answer = String(
                        "*1\r\n*2\r\n$4\r\nroom\r\n*1\r\n*2\r\n$3\r\n5-2\r\n"
                        "*2\r\n$1\r\nm\r\n$3\r\nnew\r\n"
                    )
                else:
                    pause(5)
            client.say(answer)


def test_entries_of_another_master_are_read() raises:
    """Redis, XADD: ids follow the newest entry that the master has, and its
    clock, so a new master may give lower ones than the former has given."""
    var listener = listen()
    var config = config_of(listener, protocol=3)
    var server = Thread(_Failover(listener^))
    var plane = RedisBackplane(config^, "room", history=9)
    plane.connect(wants_past=False)
    var deadline = Deadline(PATIENCE_MS)
    var message = Buffer()
    while not plane.receive(message):
        assert_true(deadline.left_ms() > 0, "what it has added is not read")
        plane.wait(20)
    assert_equal(String(from_utf8_lossy=message.span()), "new")
    plane.interrupt()
    _ = plane^
    server^.join()


@fieldwise_init
struct _Idle(Task):
    """Has a stream to which nothing is added."""

    var _listener: TcpListener

    def run(mut self) raises:
        # That of `connect`, and that of `wait`.
        for _ in range(2):
            var client = Asking(self._listener)
            while client.asks():
                var answer = String("*0\r\n")
                if "XREAD" in client.asked:
                    pause(Int(String(client.asked.split("\r\n")[10])))
                    answer = String("*-1\r\n")
                client.say(answer)


def test_a_wait_for_entries_is_within_the_time_of_a_command() raises:
    """`RedisConfig.timeout_ms`: how long an answer may take. That nothing came
    in that time is no failure."""
    var listener = listen()
    var config = config_of(listener)
    config.timeout_ms = 500
    var server = Thread(_Idle(listener^))
    var plane = RedisBackplane(config^, "room", history=9)
    plane.connect(wants_past=False)
    for _ in range(3):
        plane.wait(1_000)
    var counts = BackplaneCounts()
    plane.add_counts(counts)
    assert_equal(counts.gaps, 0)
    plane.interrupt()
    _ = plane^
    server^.join()


@fieldwise_init
struct _Entry(Copyable, Movable, Writable):
    var id: String
    var text: String

    def write_to(self, mut writer: Some[Writer]):
        writer.write("*2\r\n$", self.id.byte_length(), "\r\n", self.id)
        writer.write("\r\n*2\r\n$1\r\nm\r\n$", self.text.byte_length())
        writer.write("\r\n", self.text, "\r\n")


@fieldwise_init
struct _Masters(Task):
    """A master whose stream grows by one entry and which then ends, and its
    successor with a stream of its own."""

    var _listener: TcpListener
    var _before: List[_Entry]
    var _after: List[_Entry]

    def run(mut self) raises:
        _serve_entries(Asking(self._listener), self._before[:1], False)
        _serve_entries(Asking(self._listener), self._before, True)
        _serve_entries(Asking(self._listener), self._after, False)


def _serve_entries(
    var client: Asking, entries: Span[_Entry, _], ends: Bool
) raises:
    """Serves a connection, which `ends` behind the first entry that was
    read."""
    while client.asks():
        var lines = client.asked.split("\r\n")
        var name = String(lines[2])
        if name == "XREVRANGE":
            # Key, end and start.
            client.say(_between(entries, String(lines[8]), String(lines[6])))
        elif name == "XREAD":
            # COUNT, its number, BLOCK, its time, STREAMS, key, id.
            var found = _behind(entries, String(lines[16]))
            client.say(found)
            if ends and found != "*-1\r\n":
                return
        else:
            client.say(UNKNOWN_COMMAND)


def _between(entries: Span[_Entry, _], start: String, end: String) -> String:
    """Answers XREVRANGE with COUNT 1."""
    for index in reversed(range(len(entries))):
        ref entry = entries.at(index)
        if (end == "+" or not is_before(end, entry.id)) and (
            start == "-" or not is_before(entry.id, start)
        ):
            return String("*1\r\n", entry)
    return String("*0\r\n")


def _behind(entries: Span[_Entry, _], id: String) -> String:
    """Answers XREAD."""
    var found = String()
    var count = 0
    for ref entry in entries:
        if is_before(id, entry.id):
            found.write(entry)
            count += 1
    if count == 0:
        pause(5)
        return String("*-1\r\n")
    return String("*1\r\n*2\r\n$4\r\nroom\r\n*", count, "\r\n", found)


@fieldwise_init
struct _FailoverCase(Copyable, Movable):
    var what: String
    var after: List[_Entry]
    var texts: String


def test_nothing_that_another_master_has_is_passed_over() raises:
    """Redis replication: a replica has a beginning of what its master had; ids
    follow the newest entry and the clock of the one that gives them, so those
    of what it adds may be before what was read, behind it, or the same."""
    var rows: List[_FailoverCase] = [
        _FailoverCase(
            "two that are added before it is asked",
            [
                _Entry("100-0", "old"),
                _Entry("200-0", "b"),
                _Entry("300-0", "c"),
            ],
            "a b c",
        ),
        _FailoverCase(
            "its clock has come behind what was read",
            [
                _Entry("100-0", "old"),
                _Entry("200-0", "b"),
                _Entry("9500-0", "c"),
            ],
            "a b c",
        ),
        _FailoverCase(
            "another entry has the same id",
            [
                _Entry("100-0", "old"),
                _Entry("9000-1", "b"),
                _Entry("9000-2", "c"),
            ],
            "a b c",
        ),
        _FailoverCase(
            "it had all",
            [
                _Entry("100-0", "old"),
                _Entry("9000-1", "a"),
                _Entry("9000-2", "c"),
            ],
            "a c",
        ),
        _FailoverCase(
            "it lacks also where this process began",
            [_Entry("50-0", "older"), _Entry("60-0", "newest")],
            "a",
        ),
    ]
    for ref row in rows:
        var listener = listen()
        var config = config_of(listener)
        var before: List[_Entry] = [
            _Entry("100-0", "old"),
            _Entry("9000-1", "a"),
        ]
        var server = Thread(_Masters(listener^, before^, row.after.copy()))
        var plane = RedisBackplane(config^, "room", history=9)
        plane.connect(wants_past=False)
        var found = String()
        var deadline = Deadline(PATIENCE_MS)
        var rounds_left = 20
        # Behind the last one that is awaited, none may come.
        while rounds_left > 0:
            assert_true(deadline.left_ms() > 0, row.what)
            plane.wait(20)
            var message = Buffer()
            while plane.receive(message):
                found.write(" " if found.byte_length() > 0 else "")
                found.write(String(from_utf8_lossy=message.span()))
                message.clear()
            rounds_left -= Int(found == row.texts)
        assert_equal(found, row.texts, row.what)
        plane.interrupt()
        _ = plane^
        server^.join()


@fieldwise_init
struct _OnItsWay(Task):
    """A node that a stream is about to leave, and the one that it goes to."""

    var _source: TcpListener
    var _target: TcpListener
    var _served: Mutex[Int]

    def run(mut self) raises:
        var there = String("1 127.0.0.1:", self._target.local_addr().port)
        var back = String("1 127.0.0.1:", self._source.local_addr().port)
        self._serve(Asking(self._source), String("ASK ", there))
        self._serve(Asking(self._target), String("MOVED ", back))

    def _serve(self, var client: Asking, elsewhere: String) raises:
        var is_asking = False
        while client.asks():
            if "ASKING" in client.asked:
                is_asking = True
                client.say("+OK\r\n")
                continue
            if is_asking:
                self._served.lock()[] += 1
                client.say("*0\r\n")
            else:
                client.say(String("-", elsewhere, "\r\n"))
            is_asking = False


def test_a_stream_on_its_way_to_another_node_is_found() raises:
    """Redis Cluster specification: ASK sends one command to another node,
    behind ASKING."""
    var source = listen()
    var target = listen()
    var config = config_of(source)
    var served = Mutex(0)
    var server = Thread(_OnItsWay(source^, target^, served))
    var plane = RedisBackplane(config^, "room", history=9)
    plane.connect(wants_past=False)
    assert_equal(served.lock()[], 1)
    plane.interrupt()
    _ = plane^
    server^.join()
