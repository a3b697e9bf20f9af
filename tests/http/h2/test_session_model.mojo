"""Sessions beside a model of RFC 9113, on random walks through what a peer may
send. The model says which errors a frame may have and what windows are behind
it; `tests/support/h2_run.mojo` compares."""

from flare.bytes.checked import *
from flare.http.h2.connection_state import Http2Role
from tests.support.assertions import assert_equal, assert_true
from tests.support.h2_model import Fate, Frame, Http2Model
from tests.support.h2_run import ModelRun
from tests.vectors.hex_text import octets_of

comptime _STEPS = 60
comptime _WALKS = 4_000


struct _Random(Movable):
    var _word: UInt64

    def __init__(out self, seed: Int):
        self._word = UInt64(seed) * 2 + 1

    def below(mut self, count: Int) -> Int:
        self._word = (
            self._word * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407
        )
        return Int((self._word >> 33) % UInt64(count))

    def of(mut self, rows: List[String]) -> String:
        return rows.at(self.below(len(rows)))


def _padded(mut random: _Random, flags: Int, text: String) raises -> Frame:
    """Makes a frame's flags and payload of content, sometimes with padding."""
    var octets = List[UInt8]()
    var all_flags = flags
    if random.below(4) == 0:
        all_flags |= 8
        var padding = random.below(6)
        octets.append(UInt8(padding))
        octets.extend(Span(octets_of(text)))
        for _ in range(padding + (1 if random.below(20) == 0 else 0)):
            octets.append(0)
        if random.below(30) == 0:
            octets.at(0) = 60
    else:
        octets.extend(Span(octets_of(text)))
    return Frame(0, all_flags, 0, octets^)


def _blocks(is_server: Bool) -> List[String]:
    """Lists field blocks, good ones and others."""
    if is_server:
        return [
            "838684010161",
            "838684010161",
            "838684010161",
            "828684410161",
            "828684be",
            "838684010161" + "0f0d0135",
            "838684010161" + "0f0d0130",
            "0001740176",
            "0001740176",
            "0001580176",
            "82",
        ]
    return [
        "88",
        "88",
        "880f0d0135",
        "89",
        "8b0f0d0135",
        "0803313033",
        "0001740176",
        "0001740176",
        "0001580176",
        "8882",
    ]


def _target(mut random: _Random, model: Http2Model) -> Int:
    """Chooses a stream: most times one on which the peer may send."""
    var last = max(
        1, model.last_peer if model.is_server else model.next_own - 2
    )
    if random.below(60) == 0:
        return random.below(2) * (last + 2 + random.below(3))
    if random.below(20) > 0:
        for _ in range(8):
            var id = max(1, last - 2 * random.below(6))
            var index = model.find(id)
            if index < 0:
                continue
            ref stream = model.streams.at(index)
            var is_over = stream.fate != Fate.NONE or stream.peer_ended
            if not is_over or stream.fate == Fate.RESET_HERE:
                return id
    for _ in range(8):
        var index = model.find(max(1, last - 2 * random.below(6)))
        if index >= 0 and model.streams.at(index).fate == Fate.NONE:
            return model.streams.at(index).id
    return max(1, last - 2 * random.below(6))


def _frame(mut random: _Random, model: Http2Model) raises -> Frame:
    """Makes a frame: half of them begin or continue a message, few are bad."""
    var id = _target(random, model)
    if model.block_id != 0 and random.below(30) > 0:
        var parts: List[String] = ["-", "86840101" + "61", "0001740176"]
        var flags = random.below(2) * 4
        return Frame(9, flags, model.block_id, octets_of(random.of(parts)))
    var choice = random.below(32)
    if choice < 10:
        var content = "61" * (random.below(3) * random.below(45))
        var frame = _padded(random, random.below(6) // 5, content)
        return Frame(0, frame.flags, id, frame.payload.copy())
    if choice < 18 or (model.is_server and model.last_peer == 0):
        return _headers(random, model, id)
    if choice < 22:
        var target = id if random.below(2) == 0 else 0
        var numbers: List[String] = ["00000040", "00000010", "00000100"]
        if random.below(15) == 0:
            numbers = ["00000000", "7fffffff", "7fffff80", "000001"]
        return Frame(8, 0, target, octets_of(random.of(numbers)))
    if choice < 23:
        var codes: List[String] = ["00000008", "00000008", "000008"]
        if random.below(8) > 0:
            codes = ["00000000"]
        return Frame(3, 0, id, octets_of(random.of(codes)))
    if choice < 26:
        return _settings(random)
    return _odd_frame(random, model, id)


def _odd_frame(mut random: _Random, model: Http2Model, id: Int) raises -> Frame:
    """Makes a frame that changes nothing, or one that is rare."""
    var payloads: List[String] = ["0000000310", "0000000310", "0000000710"]
    var choice = random.below(16)
    if choice < 4:
        if random.below(4) == 0:
            payloads = ["0000000110", "00000003"]
        return Frame(2, 0, id, octets_of(random.of(payloads)))
    if choice < 7 and model.is_server:
        payloads = ["00000003", "00000001693d", "80000007753d31"]
        if random.below(20) == 0:
            payloads = ["000000ff", "000000fd", "00000002", "000000"]
        return Frame(16, 0, 0, octets_of(random.of(payloads)))
    if choice < 10:
        return Frame(6, random.below(2), 0, octets_of("00" * 8))
    if choice < 11 and random.below(8) == 0:
        return Frame(7, 0, 0, octets_of("0000000" + "1" + "00" * 4))
    if choice < 12 and random.below(10) == 0:
        return Frame(9, 4, id, octets_of("88"))
    return Frame(32, 255, id, octets_of("00"))


def _headers(mut random: _Random, model: Http2Model, id: Int) raises -> Frame:
    var block = random.of(_blocks(model.is_server))
    if random.below(100) == 0:
        block = "80"
    var flags = random.below(3) // 2
    if random.below(8) > 0:
        flags |= 4
    if random.below(20) == 0:
        block = random.of(["0000000510", "0000000110"]) + block
        flags |= 32
    var frame = _padded(random, flags, block)
    var target = id
    if model.is_server and (random.below(2) == 0 or model.last_peer == 0):
        target = max(model.last_peer, -1) + 2 * (1 + random.below(20) // 19)
        if model.last_peer == 0:
            target -= 1
    return Frame(1, frame.flags, target, frame.payload.copy())


def _settings(mut random: _Random) raises -> Frame:
    if random.below(4) == 0:
        return Frame(4, 1, 0, List[UInt8]())
    var values: List[String] = [
        "000400000000",
        "000400000020",
        "000400000200",
        "000300000000",
        "000100000040",
        "000500008000",
        "000800000001",
        "00aa00000001",
    ]
    if random.below(30) == 0:
        values = [
            "00047fffffff",
            "000480000000",
            "000500003fff",
            "000800000000",
            "000200000001",
            "000200000002",
            "000900000002",
            "0004",
        ]
    var text = String()
    for _ in range(random.below(4) + random.below(30) // 29 * 3):
        text += random.of(values)
    return Frame(4, 0, 0, octets_of(text if text else String("-")))


def _walk(role: Http2Role) raises -> List[Int]:
    """Gives how often each outcome was seen."""
    var outcomes = List[Int](length=32, fill=0)
    for seed in range(_WALKS):
        var random = _Random(seed)
        var run = ModelRun(role)
        try:
            run.step(Frame(4, 0, 0, List[UInt8]()), seed)
            for _ in range(_STEPS):
                run.step(_frame(random, run.model), random.below(64))
            run.finish()
        except error:
            raise Error("walk ", seed, ": ", error)
        for code in range(32):
            outcomes.at(code) += run.outcomes.at(code)
    return outcomes^


def _check_seen(outcomes: List[Int], codes: List[Int]) raises:
    """Checks that the walks have met what the test is about."""
    var text = String()
    for code in range(len(outcomes)):
        text.write(" ", code, ":", outcomes.at(code))
    assert_true(outcomes.at(0) > 20 * _WALKS // 4, text)
    for code in codes:
        assert_true(outcomes.at(code) > 10, text)


def test_a_server_and_the_model() raises:
    # Of streams: 9113-8.1.1, 9113-5.1, 9113-6.3, 9113-5.1.2, 9113-6.9; of the
    # connection, from 16 on: 9113-5.1.1, 9113-6.9, 9113-5.1, 9113-4.2, 7541-2.3,
    # 9113-10.5.
    var outcomes = _walk(Http2Role.SERVER)
    _check_seen(outcomes, [1, 3, 5, 6, 7, 17, 19, 21, 22, 25, 27])


def test_a_client_and_the_model() raises:
    var outcomes = _walk(Http2Role.CLIENT)
    _check_seen(outcomes, [1, 3, 5, 6, 17, 19, 21, 22, 25, 27])


def test_what_follows_the_reset_of_a_stream_left_out() raises:
    # 9113-6.3: a short PRIORITY resets stream 1, which the peer has left out;
    # 9113-5.1: what it has sent before it knows is no fault.
    var rows: List[Tuple[Int, Int, String]] = [
        (0, 9, "026869ffff"),
        (1, 5, "828684410161"),
        (3, 0, "00000008"),
        (8, 0, "00000008"),
    ]
    for row in rows:
        var run = ModelRun(Http2Role.SERVER)
        run.step(Frame(4, 0, 0, List[UInt8]()), 0)
        run.step(Frame(1, 4, 3, octets_of("838684010161")), 0)
        run.step(Frame(2, 0, 1, octets_of("6869")), 0)
        run.step(Frame(row[0], row[1], 1, octets_of(row[2])), 0)
        run.finish()
        assert_equal(run.is_over, False)
