"""Code of a stream on a thread, and how it hears that its call is over."""

from flare.bytes.buffer import Buffer
from flare.grpc.core.kind import GrpcKind
from flare.grpc.core.message_reader import MessageReader
from flare.grpc.core.message_writer import append_message
from flare.grpc.core.status import GrpcStatus
from flare.grpc.server.blocking import (
    Blocking,
    BlockingCall,
    Conversation,
    _Run,
)
from flare.grpc.server.call import GrpcCall
from flare.grpc.server.call_threads import CallThreads
from flare.grpc.server.interceptor import Interceptors
from flare.grpc.server.open_call import OpenCall
from flare.grpc.server.stream import AnyStream
from flare.http.message.body import Poll
from flare.net.socket_addr import SocketAddr
from flare.protobuf.known import StringValue
from flare.protobuf.writer import encode
from flare.sys.clock import monotonic_ns
from flare.sys.poll import pause
from flare.sys.thread import Task
from std.atomic import Atomic
from std.memory import ArcPointer
from tests.support.assertions import assert_equal, assert_raises, assert_true

comptime Count = ArcPointer[Atomic[Int64]]
comptime _WAIT_NS = 10_000_000_000


@fieldwise_init
struct _Reading(BlockingCall):
    """Reads to the end, and counts itself as begun, and as told to stop."""

    comptime Request = StringValue
    comptime Reply = StringValue
    var begun: Count
    var told: Count

    def run(
        mut self, mut conversation: Conversation[StringValue, StringValue]
    ) raises GrpcStatus:
        _ = self.begun[].fetch_add(1)
        try:
            while conversation.read():
                pass
        except status:
            _ = self.told[].fetch_add(1)
            raise status.copy()


def _await_one(count: Count) raises:
    var end_ns = monotonic_ns() + _WAIT_NS
    while count[].load() == 0:
        assert_true(monotonic_ns() < end_ns, "nobody was told")
        pause(1)
    assert_equal(Int(count[].load()), 1)


def test_the_thread_hears_of_a_call_that_its_requests_have_ended() raises:
    """Else it waits for requests for ever, and is missing for other calls."""
    var octets = Buffer()
    for text in ["one", "too many"]:
        append_message(encode(StringValue(value=text)), octets)
    var begun = Count(Atomic[Int64](0))
    var told = Count(Atomic[Int64](0))
    var reader = MessageReader()
    reader.receive(octets.span())
    var open = OpenCall(
        GrpcCall("/t/M", SocketAddr.localhost(1)),
        AnyStream(Blocking(_Reading(begun, told))),
        reader^,
        GrpcKind.SERVER_STREAM,
        Interceptors(),
    )
    open.call._threads = CallThreads(1)
    var out = Buffer()
    assert_true(open.fill(out) == Poll.DONE)
    assert_equal(open.trailers().fields()["grpc-status"], "12")
    _await_one(begun)
    _ = open^
    _await_one(told)


@fieldwise_init
struct _Holding(Task):
    """Has a thread until it is let go."""

    var begun: Count
    var is_over: Count

    def run(mut self) raises:
        _ = self.begun[].fetch_add(1)
        while self.is_over[].load() == 0:
            pause(1)


def test_a_call_ends_whose_code_is_never_run() raises:
    """As it is if no thread can be begun."""
    var held = Count(Atomic[Int64](0))
    var is_over = Count(Atomic[Int64](0))
    var threads = CallThreads(1)
    assert_true(threads.submit(_Holding(held, is_over)))
    _await_one(held)
    var begun = Count(Atomic[Int64](0))
    var told = Count(Atomic[Int64](0))
    var open = OpenCall(
        GrpcCall("/t/M", SocketAddr.localhost(1)),
        AnyStream(Blocking(_Reading(begun, told))),
        MessageReader(),
        GrpcKind.BIDI_STREAM,
        Interceptors(),
    )
    open.call._threads = threads.copy()
    var out = Buffer()
    assert_true(open.fill(out) == Poll.PENDING)
    threads._pool.lock()[].waiting.clear()
    assert_true(open.fill(out) == Poll.DONE)
    assert_equal(open.trailers().fields()["grpc-status"], "14")
    _ = open^
    _ = is_over[].fetch_add(1)
    assert_equal(Int(begun[].load()), 0)


def test_a_deadline_that_is_over_is_the_same_to_all_that_asks() raises:
    """The loop hears of it later than the clock has it: until then code that was
    told to stop could still write, and read that all is there."""
    var blocking = Blocking(
        _Reading(Count(Atomic[Int64](0)), Count(Atomic[Int64](0)))
    )
    blocking._talk.lock()[].has_all = True
    var call = GrpcCall("/t/M", SocketAddr.localhost(1), deadline_ns=1)
    var conversation = Conversation(call, blocking._talk, blocking._changed)
    assert_true(not conversation.is_wanted())
    with assert_raises(contains="CANCELLED"):
        _ = conversation.read()
    with assert_raises(contains="CANCELLED"):
        conversation.write(StringValue(value="one"))
    _ = blocking^


def test_code_that_hears_of_its_deadline_ends_the_call_by_it() raises:
    """Its thread may hear of it before the loop: who waits is told that its time is
    over (4), whoever was first, and not that the call was given up (1)."""
    var count = Count(Atomic[Int64](0))
    var blocking = Blocking(_Reading(count, count))
    var call = GrpcCall("/t/M", SocketAddr.localhost(1), deadline_ns=1)
    var run = _Run(
        _Reading(count, count),
        Conversation(call, blocking._talk, blocking._changed),
    )
    run.run()
    var talk = blocking._talk.lock()
    assert_equal(Int(talk[].status.value().code.number), 4)
    deinit(talk^)
    _ = run^
    _ = blocking^
