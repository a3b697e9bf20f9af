"""WebSocket as a table: what a client may send, and what a server may, on every way
between them. What is to come of each follows from the rule that stands in its row,
whichever way it takes: RFC 6455 unless another RFC is named."""

import contextlib
import signal
import ssl
import struct
import threading
import zlib
from collections import Counter
from collections.abc import Iterator

import pytest
from conftest import Server, shown, wait_until
from h2_client import Closed
from processes import stopped
from raw_server import Connection, RawServer
from raw_ws import frame, raw
from test_ws_client import connect, switch, talk
from wire_programs import built
from ws_far import Far, FarRow, closing as closing_of
from ws_far_rows import FAR_ROWS, REFUSED
from ws_rows import (
    ANY, BYE, CLOSE, FIN, OFFERS, RSV1, SERVER_ROWS, TEXT, Row, closing,
)  # fmt: skip
from ws_ways import WAYS, Http1Line, Http2Line, Way, Ways, frames_of

# As many as a connection of HTTP/2 has at once here.
BATCH = 50
# The rows of all ways through a gateway share its connections to the server, and most
# end a stream by a reset: more than a client that is not trusted may (`max_glitches`).
OPTIONS = ("close_timeout_ms=2000", "compression=1", "max_message_size=1000000",
           "max_queue_size=2000000", "max_glitches=1000000")  # fmt: skip


@pytest.fixture(scope="module")
def ways(certs):
    running = Ways(certs, "ws_server", *OPTIONS)
    yield running
    running.close()


@pytest.fixture(params=WAYS, ids=str)
def way(request) -> Way:
    return request.param


class Lines:
    """Opens WebSockets on a way, many at once on one connection of HTTP/2."""

    def __init__(self, ways: Ways, way: Way) -> None:
        self.ways, self.way = ways, way
        self.client = ways.http2(way) if way.version == 2 else None
        self.said = len(closed_lines(ways, way))
        self.count = 0

    def open(self, query: str = "", fields: list = []):
        self.count += 1
        if self.client:
            return Http2Line(self.client, query, fields)
        return Http1Line(self.ways, self.way, query, fields)

    def heard(self) -> list[int]:
        """What the handler was told at the ends, once all are over."""

        def new() -> list[str]:
            return closed_lines(self.ways, self.way)[self.said :]

        assert wait_until(lambda: len(new()) >= self.count), new()
        return [int(line.split(" ")[1]) for line in new()]

    def __enter__(self) -> "Lines":
        return self

    def __exit__(self, *_) -> None:
        if self.client:
            self.client.sock.close()


def closed_lines(ways: Ways, way: Way) -> list[str]:
    lines = ways.origin(way).stderr().splitlines()
    return [line for line in lines if line.startswith("closed ")]


def inflated(frames: list) -> list:
    """Undoes what the server has compressed, with one window for all."""
    unpacker = zlib.decompressobj(wbits=-15)
    plain = []
    for first, payload in frames:
        if first & RSV1:
            first ^= RSV1
            payload = unpacker.decompress(payload + b"\0\0\xff\xff")
        plain.append((first, payload))
    return plain


def faults_of(row: Row, line, way: Way) -> list[str]:
    """What is wrong with what came back."""
    frames = inflated(frames_of(line.read_all()))
    close = frames.pop()[1] if frames and frames[-1][0] == CLOSE else None
    faults = []
    if row.is_one_way and way.upstream == 1 and not frames:
        # Its upstream's connection was closed with the client's.
        return faults
    if frames != row.frames:
        faults.append(f"frames: {shortened(frames)}, not {shortened(row.frames)}")
    if isinstance(row.close, int):
        wanted = struct.pack("!H", row.close) if row.close else b""
        close = close[:2] if close is not None else None
    else:
        wanted = row.close
    if close != wanted:
        faults.append(f"close: {close!r}, not {wanted!r}")
    if row.then != "end" and not line.is_orderly:
        faults.append("7.1.1: the connection was broken off")
    return faults


def told_of(row: Row, line, way: Way) -> list[str]:
    """The same with the rule before each, and for a line that breaks."""
    try:
        return [f"{row.rule}: {one}" for one in faults_of(row, line, way)]
    except (AssertionError, OSError, EOFError, Closed) as error:
        return [f"{row.rule}: {error!r}"]


def shortened(frames: list) -> list:
    return [(hex(first), payload[:20], len(payload)) for first, payload in frames[:6]]


def portions(rows: list) -> Iterator[list]:
    for at in range(0, len(rows), BATCH):
        yield rows[at : at + BATCH]


def test_each_row_of_a_client(ways, way):
    """All that a client sends comes at once."""
    faults = []
    for rows in portions(SERVER_ROWS):
        with Lines(ways, way) as lines:
            opened = [(row, lines.open(row.query, row.fields)) for row in rows]
            for row, line in opened:
                line.send(row.sends)
                if row.then:
                    getattr(line, row.then)()
            for row, line in opened:
                if row.then != "reset":
                    faults += told_of(row, line, way)
                if not lines.client:
                    line.close()
            heard = Counter(lines.heard())
        wanted = Counter(row.heard for row in rows)
        if heard != wanted:
            faults.append(f"7.1.5: told {heard}, not {wanted}")
    assert not faults, "\n".join(faults)


def test_octet_by_octet(ways, way):
    """RFC 9293 section 3.7: nothing depends on how the octets are cut."""
    rows = [row for row in SERVER_ROWS if len(row.sends) < 40 and not row.then]
    faults = []
    for some in portions(rows):
        with Lines(ways, way) as lines:
            opened = [(row, lines.open(row.query, row.fields)) for row in some]
            for at in range(40):
                for row, line in opened:
                    if at < len(row.sends):
                        try:
                            line.send(row.sends[at : at + 1])
                        except OSError:
                            # The server has told it what is wrong, and closed.
                            pass
            for row, line in opened:
                faults += told_of(row, line, way)
                if not lines.client:
                    line.close()
    assert not faults, "\n".join(faults)


PINGS = 600


def test_a_flood_of_pings(ways, way):
    """Section 5.5.3: the last one is answered, and none that is older behind it."""
    octets = b"".join(frame(0x89, b"%03d" % n + b"p" * 100) for n in range(PINGS))
    with Lines(ways, way) as lines:
        line = lines.open()
        line.send(octets + frame(FIN | TEXT, b"x"))
        # The last pong may stand before the text or behind it.
        frames = [next_frame(line)]
        while len(frames) < 2 or b"%03d" % (PINGS - 1) not in {one[1][:3] for one in frames[-2:]}:
            frames.append(next_frame(line))
        line.send(BYE)
        frames += frames_of(line.read_all())
        line.close()
    pongs = [int(payload[:3]) for first, payload in frames if first == 0x8A]
    assert pongs == sorted(set(pongs)) and pongs[-1] == PINGS - 1
    others = [one for one in frames if one[0] != 0x8A]
    assert others == [(FIN | TEXT, b"x"), (CLOSE, b"\x03\xe8")]


def test_what_opens_nothing(ways, way):
    """Sections 4.2.2 and 10.2: the status passes, and another one may be opened."""
    with Lines(ways, way) as lines:
        for query, fields, status in (
            ("", [("Origin", "http://evil.example")], 403),
            ("", [("Sec-WebSocket-Protocol", "a b")], 400),
            ("refuse", [], 500),
        ):
            refused = lines.open(query, fields)
            assert refused.status == status, (query, fields)
            refused.close()
        line = lines.open()
        line.send(frame(FIN | TEXT, b"x") + BYE)
        assert frames_of(line.read_all()) == [(FIN | TEXT, b"x"), (CLOSE, b"\x03\xe8")]
        line.close()


def agreement(answer: str) -> dict[str, str]:
    name, *parameters = [part.strip() for part in answer.split(";")]
    assert name == "permessage-deflate", answer
    found = {}
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        assert name not in found, f"twice: {answer}"
        found[name] = value
    return found


def judge_agreement(answer: str, offer: str, wanted: dict) -> dict[str, str]:
    found = agreement(answer)
    for name, most in wanted.items():
        assert name in found, f"7692-7.1: {name} has to be answered: {answer}"
        if most:
            assert 8 <= int(found[name]) <= most, answer
    for name, value in found.items():
        assert name in ANY or value.isdigit(), answer
        if name == "client_max_window_bits":
            assert name in offer, f"7692-7.1.2.2: {name} was not offered"
    return found


TALK = [b"hello " * 50, b"hello " * 60, b"x", b"", b"hello " * 50]


def talk_compressed(line, found: dict[str, str]) -> None:
    """Has messages echoed by the agreement, of which each side keeps its part."""
    mine = min(int(found.get("client_max_window_bits") or 15), 15)
    packer = zlib.compressobj(9, zlib.DEFLATED, -max(mine, 9))
    theirs = int(found.get("server_max_window_bits") or 15)
    unpacker = zlib.decompressobj(wbits=-theirs)
    for text in TALK:
        packed = packer.compress(text) + packer.flush(zlib.Z_SYNC_FLUSH)
        line.send(frame(FIN | RSV1 | TEXT, packed.removesuffix(b"\0\0\xff\xff") or b"\0"))
        head = line.take(2)
        length = head[1]
        if length == 126:
            length = int.from_bytes(line.take(2))
        payload = line.take(length)
        if head[0] & RSV1:
            payload = unpacker.decompress(payload + b"\0\0\xff\xff")
            if "server_no_context_takeover" in found:
                unpacker = zlib.decompressobj(wbits=-theirs)
        assert payload == text, (payload[:20], text[:20])
        if "client_no_context_takeover" in found:
            packer = zlib.compressobj(9, zlib.DEFLATED, -max(mine, 9))
    line.send(BYE)
    assert line.read_all() == b"\x88\x02\x03\xe8"


def test_each_offer_of_compression(ways, way):
    """RFC 7692 sections 5 and 7.1; RFC 6455 section 9.1 for offers that are none."""
    faults = []
    with Lines(ways, way) as lines:
        for offer, wanted in OFFERS:
            line = lines.open(fields=[("Sec-WebSocket-Extensions", offer)])
            try:
                talk_by_offer(line, offer, wanted)
            except (AssertionError, OSError, EOFError, Closed, zlib.error) as error:
                faults.append(f"{offer}: {error!r}")
            line.close()
    assert not faults, "\n".join(faults)


def talk_by_offer(line, offer: str, wanted: dict | str | None) -> None:
    if wanted == "bad":
        assert line.status == 400, line.status
        return
    answer = line.field("sec-websocket-extensions")
    assert (answer is None) == (wanted is None), answer
    if answer:
        talk_compressed(line, judge_agreement(answer, offer, wanted))
    else:
        line.send(frame(FIN | TEXT, b"hi") + BYE)
        assert line.read_all() == b"\x81\x02hi\x88\x02\x03\xe8"


class FarWays:
    """Servers that say what a row wants, with and without TLS, and gateways in front
    of the one without."""

    def __init__(self, certs) -> None:
        self.root = str(certs / "root.pem")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certs / "good_chain.pem", certs / "good.key")
        context.set_alpn_protocols(["h2", "http/1.1"])
        self.far = {False: Far(), True: Far(context)}
        sealed = [f"{name}={path}" for name, path in shown(certs).items()]
        self.gateways = {
            (is_tls, upstream): Server(
                built("proxy_server"),
                [f"upstream={self.far[False].url}", f"http2_prior_knowledge={upstream - 1}"]
                + ["failures_to_eject=0"] + (sealed if is_tls else []),
            )
            for is_tls in (False, True)
            for upstream in (1, 2)
        }  # fmt: skip

    def open(self, talker, way: Way, row: FarRow) -> tuple[dict, object]:
        """Has the client connect; its answer, and what the server sees of it."""
        far = self.far[way.is_tls and not way.upstream]
        path, meeting = far.meet(row)
        near = self.gateways[way.is_tls, way.upstream] if way.upstream else far
        host = f"wss://localhost:{near.port}" if way.is_tls else f"ws://127.0.0.1:{near.port}"
        speaks = {"http2": way.version - 1, "prior_knowledge": way.version - 1}
        config = {"close_timeout_ms": 5_000, **speaks, **row.config}
        return connect(talker, host + path, ca_file=self.root, **config), meeting

    def close(self) -> None:
        for gateway in self.gateways.values():
            assert gateway.is_alive(), "a gateway died during the tests"
            assert gateway.stop() == 0
        for far in self.far.values():
            far.close()


@pytest.fixture(scope="module")
def far_ways(certs):
    running = FarWays(certs)
    yield running
    running.close()


def heard_by(talker, row: FarRow) -> tuple[list, dict]:
    """What the client gets up to an error, or its own close."""
    heard = []
    for text in row.says:
        assert "kind" not in (said := talk(talker, "send", text=text)), said
    if row.closes:
        code, reason = row.closes
        return heard, talk(talker, "close", code=code, text=reason)
    while "kind" not in (got := talk(talker, "recv")):
        heard.append(got["text"] if got["is_text"] else got["length"])
    return heard, got


def far_faults(talker, row: FarRow, meeting, way: Way) -> list[str]:
    faults = []
    heard, last = heard_by(talker, row)
    if heard != row.hears:
        faults.append(f"heard {heard[:5]}, not {row.hears[:5]}")
    kinds, code, reason = row.end
    if row.closes:
        if "kind" in last or last["closed_with"] != code:
            faults.append(f"closed: {last}, not with {code}")
    else:
        if last["kind"] not in kinds.split("|"):
            faults.append(f"the end: {last}, not {kinds}")
        for name, wanted in (("close_code", code), ("close_reason", reason)):
            if wanted is not None and last[name] != wanted:
                faults.append(f"{name}: {last[name]!r}, not {wanted!r}")
    if last["is_open"]:
        faults.append("it is open behind its end")
    assert meeting.is_over.wait(10), "the server waits"
    frames = list(meeting.frames)
    close = frames.pop()[1] if frames and frames[-1][0] == CLOSE else None
    if row.reply is not None:
        wanted = struct.pack("!H", row.reply) if row.reply else b""
        if close is None or close[:2] != wanted:
            faults.append(f"it closed with {close!r}, not {row.reply}")
    said = inflated_by(row, frames[: len(row.says)])
    if said != row.says:
        faults.append(f"it said {said}")
    if frames[len(row.says) :] != row.got:
        faults.append(f"it sent {frames[len(row.says):]}, not {row.got}")
    return faults


def inflated_by(row: FarRow, frames: list) -> list[str]:
    """Reads messages of the client by what the server has agreed to."""
    found = agreement(row.fields.split(": ")[1].strip()) if frames else {}
    bits = int(found.get("client_max_window_bits", "15").strip('"'))
    unpacker = zlib.decompressobj(wbits=-bits)
    texts = []
    for first, payload in frames:
        if first & RSV1:
            payload = unpacker.decompress(payload + b"\0\0\xff\xff")
            if "client_no_context_takeover" in found:
                unpacker = zlib.decompressobj(wbits=-bits)
        texts.append(payload.decode())
    return texts


def test_each_row_of_a_server(far_ways, talker, way):
    faults = []
    for row in FAR_ROWS:
        opened, meeting = far_ways.open(talker, way, row)
        if "kind" in opened:
            faults.append(f"{row.rule}: {opened}")
            continue
        assert opened["version"] == f"HTTP/{'1.1' if way.version == 1 else 2}"
        try:
            faults += [f"{row.rule}: {one}" for one in far_faults(talker, row, meeting, way)]
        except (AssertionError, KeyError, zlib.error) as error:
            faults.append(f"{row.rule}: {error!r}")
    assert not faults, "\n".join(faults)


def test_what_no_server_may_agree_to(far_ways, talker, way):
    """RFC 6455 section 4.1, steps 5 and 6: the client fails the connection."""
    for fields in REFUSED:
        opened, _ = far_ways.open(talker, way, FarRow("4.1", fields=fields))
        assert opened.get("kind") == "WsBadHandshake", (fields, opened)


SAID = 60


def test_a_room_of_members_on_all_ways(ways):
    """While others come and go, each who stays hears every speaker's messages once
    and in their order: docs/scaling.md, what holds."""
    speakers = [Way(1, False, 0), Way(2, False, 1), Way(1, True, 2)]
    with contextlib.ExitStack() as held:
        stays = {
            way: held.enter_context(Lines(ways, way)).open("room")
            for way in WAYS
            if ways.origin(way) is ways.origin(WAYS[0])
        }
        passing = [held.enter_context(Lines(ways, way)) for way in stays]
        lines = [held.enter_context(Lines(ways, way)).open() for way in speakers]
        for number in range(SAID):
            for speaker, line in enumerate(lines):
                line.send(frame(FIN | TEXT, b"all:%d %d" % (speaker, number)))
            # One who leaves in good order, one without a word, one in the middle.
            comer = passing[number % len(passing)].open("room")
            if number % 3 == 0:
                comer.send(BYE)
            elif number % 3 == 1:
                comer.end()
            else:
                comer.reset()
        for way, line in stays.items():
            heard = [next_frame(line)[1] for _ in range(SAID * len(lines))]
            for speaker in range(len(lines)):
                own = [text for text in heard if text.startswith(b"%d " % speaker)]
                assert own == [b"%d %d" % (speaker, n) for n in range(SAID)], way
        for line in stays.values():
            line.send(BYE)
            assert frames_of(line.read_all()) == [(CLOSE, b"\x03\xe8")]
        # Nobody is left behind in the room.
        teller = held.enter_context(Lines(ways, WAYS[0])).open()

        def is_empty() -> bool:
            teller.send(frame(FIN | TEXT, b"all:x"))
            return next_frame(teller)[1] == b"sent to 0"

        assert wait_until(is_empty)
        teller.close()


def next_frame(line) -> tuple[int, bytes]:
    head = line.take(2)
    length = head[1]
    if length == 126:
        length = int.from_bytes(line.take(2))
    elif length == 127:
        length = int.from_bytes(line.take(8))
    return head[0], line.take(length)


def test_a_server_that_stops_tells_all_ways(certs):
    """RFC 6455 section 7.4.1: 1001, behind what was said in the room."""
    ways = Ways(certs, "ws_server", "workers=2", "shutdown_timeout_ms=15000")
    with contextlib.ExitStack() as held:
        members = {
            way: held.enter_context(Lines(ways, way)).open("room") for way in WAYS
        }
        for way in (Way(1, False, 0), Way(1, True, 0)):
            members[way].send(frame(FIN | TEXT, b"all:last words"))
            members[way].send(frame(FIN | TEXT, b"heard"))
        for way in (Way(1, False, 0), Way(1, True, 0)):
            while next_frame(members[way])[1] != b"heard":
                pass
        for is_tls in (False, True):
            ways.servers[is_tls, 0].process.send_signal(signal.SIGTERM)
        for way, line in members.items():
            frames = []
            while not frames or frames[-1][0] != CLOSE:
                frames.append(next_frame(line))
            assert frames[-1] == (CLOSE, b"\x03\xe9the server stops"), way
            if way not in (Way(1, False, 0), Way(1, True, 0)):
                assert frames[:-1] == [(FIN | TEXT, b"last words")], way
            line.send(closing(1001))
            assert line.read_all() == b"" and line.is_orderly, way
        for is_tls in (False, True):
            server = ways.servers[is_tls, 0]
            assert server.process.wait(10) == 0
            assert {line for line in server.lines() if line.startswith("closed")} == {"closed 1001 "}
    for server in ways.servers.values():
        assert server.stop() == 0


def test_the_silent_are_pinged_and_left_on_all_ways(certs):
    """WsConfig: who answers is kept, and who does not is cut off."""
    options = ("ping_interval_ms=300", "pong_timeout_ms=300")
    ways = Ways(certs, "ws_server", *options)
    with contextlib.ExitStack() as held:
        lines = {way: held.enter_context(Lines(ways, way)) for way in WAYS}
        silent = {way: lines[way].open() for way in WAYS}
        answering = {way: lines[way].open() for way in WAYS}
        for _ in range(3):
            for way, line in answering.items():
                assert next_frame(line) == (0x89, b""), way
                line.send(frame(0x8A, b""))
        for way, line in silent.items():
            assert frames_of(line.read_all()) == [(0x89, b"")], way
        for way, line in answering.items():
            line.send(frame(FIN | TEXT, b"here") + BYE)
            frames = [one for one in frames_of(line.read_all()) if one != (0x89, b"")]
            assert frames == [(FIN | TEXT, b"here"), (CLOSE, b"\x03\xe8")], way
    ways.close()


def test_who_does_not_read_is_cut_off_on_all_ways(certs):
    """WsConfig.max_queue_size; a neighbour on the same way goes on."""
    ways = Ways(certs, "ws_server", "max_queue_size=200000")
    with contextlib.ExitStack() as held:
        lines = {way: held.enter_context(Lines(ways, way)) for way in WAYS}
        stalled = {way: lines[way].open() for way in WAYS}
        for way, line in stalled.items():
            if way.version == 2:
                line.client.grants = False
            line.send(frame(FIN | TEXT, b"flood") * 4)
        for way, line in stalled.items():
            near = held.enter_context(Lines(ways, way)).open()
            near.send(frame(FIN | TEXT, b"here") + BYE)
            assert frames_of(near.read_all()) == [(FIN | TEXT, b"here"), (CLOSE, b"\x03\xe8")], way
            near.close()
        for way, line in stalled.items():
            if way.version == 1:
                line.read_all()
                line.close()
            else:
                line.client.grants = True
                line.client.grant(0, 50_000_000)
                line.client.grant(line.stream, 50_000_000)
                line.read_all()
                # The end of an upstream's connection may be either.
                assert way.upstream == 1 or not line.is_orderly, way
    ways.close()


@pytest.mark.parametrize("upstream", [1, 2])
@pytest.mark.parametrize("version", [1, 2])
def test_what_an_upstream_says_before_it_breaks_off(far_ways, talker, version, upstream):
    """RFC 9110 section 9.3.6: a tunnel attempts to send what has come from the side
    that closed, here its close frame, to the other one."""
    way = Way(version, False, upstream)
    gateway = far_ways.gateways[False, upstream]
    row = FarRow(
        "9.3.6", closing_of(4000, b"gone"), says=["first"], then="reset", gate=threading.Event()
    )
    opened, meeting = far_ways.open(talker, way, row)
    assert "kind" not in opened, opened
    talk(talker, "send", text="first")
    assert wait_until(lambda: meeting.frames)
    with stopped(gateway.process.pid):
        # It sees the frame, and what follows it, at once.
        row.gate.set()
        assert meeting.is_over.wait(10)
    got = talk(talker, "recv")
    assert (got["kind"], got["close_code"], got["close_reason"]) == ("WsClosed", 4000, "gone"), got


@pytest.mark.parametrize("is_tls", [False, True])
def test_what_a_client_says_last_reaches_the_upstream(certs, is_tls):
    """The same section, however slowly that takes it; where the end comes, buffers
    are full, empty, or in between."""
    gates, taken = [], []

    def handle(connection: Connection) -> None:
        if is_tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certs / "good_chain.pem", certs / "good.key")
            connection.sock = context.wrap_socket(connection.sock, server_side=True)
        switch(connection)
        gates[-1].wait(10)
        count = len(connection.buffer)
        try:
            while piece := connection.sock.recv(1_000):
                count += len(piece)
        finally:
            taken.append(count)

    far = RawServer(handle)
    far.limit_room()
    scheme = "https" if is_tls else "http"
    gateway = Server(
        built("proxy_server"),
        [f"upstream={scheme}://localhost:{far.port}", f"ca={certs / 'root.pem'}"],
    )
    lengths = [*range(5_000, 200_000, 7_000), 500_000]
    for number, length in enumerate(lengths, 1):
        gates.append(threading.Event())
        with raw(gateway) as client:
            client.send(bytes(length))
            client.sock.shutdown(1)
            gates[-1].set()
            assert wait_until(lambda: len(taken) == number, 20)
    assert gateway.stop() == 0
    far.close()
    assert taken == lengths
