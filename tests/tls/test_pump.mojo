"""What a TLS pump says it needs, and what it does with octets behind an end."""

from flare.tls.config import TlsConfig, TlsServerConfig
from flare.tls.context import TlsClientContext, TlsServerContext
from flare.tls.pump import (
    PLAINTEXT_LEN_MAX,
    UNSENT_LEN_MAX,
    TlsChannel,
    TlsStatus,
)
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.certificates import certificate
from tests.support.tls_pair import kind_name

comptime _ROUND_COUNT_MAX = 12


def _client() raises -> TlsChannel:
    var context = TlsClientContext(TlsConfig(ca_file=certificate("root.pem")))
    return TlsChannel(context.session("localhost"))


def _server() raises -> TlsChannel:
    var context = TlsServerContext(
        TlsServerConfig(certificate("good_chain.pem"), certificate("good.key"))
    )
    return TlsChannel(context.session())


def _put(mut channel: TlsChannel, octets: Span[UInt8, _]) -> TlsStatus:
    """Lets octets of the peer arrive."""
    var spare = channel.spare()
    for index in range(len(octets)):
        spare[index] = octets[index]
    return channel.receive(len(octets)).status


def _take(mut channel: TlsChannel) -> List[UInt8]:
    """Takes what is to be sent."""
    var octets = List(channel.output.span())
    channel.output.clear()
    return octets^


def _name(status: TlsStatus) -> String:
    comptime NAMES = StaticString("DONE WANTS_OCTETS ENDED FAILED")
    return String(NAMES.split(" ")[Int(status.number)])


def _shake_hands(
    mut client: TlsChannel, mut server: TlsChannel, step: Int
) raises:
    """Carries at most `step` octets at once between both."""
    for _ in range(_ROUND_COUNT_MAX):
        _ = client.shake_hands()
        _carry(client, server, step)
        _carry(server, client, step)
        if server.shake_hands().status == TlsStatus.DONE:
            if client.shake_hands().status == TlsStatus.DONE:
                return
    raise Error("no end of the handshake")


def _carry(mut source: TlsChannel, mut target: TlsChannel, step: Int) raises:
    var octets = _take(source)
    for start in range(0, len(octets), step):
        var end = min(start + step, len(octets))
        var status = _put(target, Span(octets)[start:end])
        assert_equal(_name(status), "DONE")
        assert_true(target.shake_hands().status != TlsStatus.FAILED)


def _read_into(mut channel: TlsChannel, mut log: String) raises:
    """Writes down what can be read, and what is needed then."""
    var room = List[UInt8](length=4, fill=0)
    while True:
        var step = channel.read(Span(room))
        if step.status != TlsStatus.DONE:
            log.write("<", _name(step.status), ">")
            return
        assert_true(step.count > 0)
        log.write(String(from_utf8_lossy=Span(room)[0 : step.count]))


def test_it_says_the_same_wherever_octets_are_cut() raises:
    for step in [1, 7, 100, 5_000]:
        var client = _client()
        var server = _server()
        _shake_hands(client, server, step)
        assert_equal(client.write("hello, world".as_bytes()).count, 12)
        client.send_close_notify()
        var octets = _take(client)
        var log = String()
        for start in range(0, len(octets), step):
            var end = min(start + step, len(octets))
            _ = _put(server, Span(octets)[start:end])
            _read_into(server, log)
        var wanted = String("hello, world<ENDED>")
        assert_equal(log.replace("<WANTS_OCTETS>", ""), wanted, String(step))
        assert_true(server.pump.is_over())
        assert_false(server.pump.is_broken())


def test_what_stands_before_a_failure_is_given_first() raises:
    """RFC 8446 section 6.2: a broken record ends the session; decision 0016
    says who drops what stood before it."""
    var client = _client()
    var server = _server()
    _shake_hands(client, server, 5_000)
    _ = client.write("good".as_bytes())
    var good_len = len(client.output)
    _ = client.write("bad".as_bytes())
    var octets = _take(client)
    octets[good_len + 8] ^= 1
    _ = _put(server, Span(octets))
    var room = List[UInt8](length=100, fill=0)
    var step = server.read(Span(room))
    assert_equal(_name(step.status), "DONE")
    assert_equal(step.count, 4)
    # The socket may stay silent: this alone says that all is over.
    assert_true(server.pump.is_broken())
    assert_true(server.has_buffered())
    for _ in range(2):
        assert_equal(_name(server.read(Span(room)).status), "FAILED")
    assert_equal(kind_name(server.pump.failure), "ProtocolViolation")
    # The alert is to be sent, and ends the other side without octets before.
    _ = _put(client, Span(_take(server)))
    assert_equal(_name(client.read(Span(room)).status), "FAILED")
    assert_true(client.pump.is_broken())


def test_an_end_without_notice_is_a_failure() raises:
    """RFC 8446 section 6.1: without close_notify, something may be missing."""
    var client = _client()
    var server = _server()
    _shake_hands(client, server, 5_000)
    assert_equal(_name(server.receive(0).status), "FAILED")
    assert_equal(kind_name(server.pump.failure), "ClosedEarly")
    server = _server()
    client = _client()
    _shake_hands(client, server, 5_000)
    client.send_close_notify()
    _ = _put(server, Span(_take(client)))
    var log = String()
    _read_into(server, log)
    assert_equal(log, "<ENDED>")
    assert_equal(_name(server.receive(0).status), "ENDED")


def test_no_more_is_encrypted_than_is_sent_at_once() raises:
    var client = _client()
    var server = _server()
    _shake_hands(client, server, 5_000)
    var octets = List[UInt8](length=PLAINTEXT_LEN_MAX + 1, fill=120)
    var step = client.write(Span(octets))
    assert_equal(step.count, PLAINTEXT_LEN_MAX)
    assert_true(len(client.output) < UNSENT_LEN_MAX // 2)


def test_answers_that_nobody_reads_have_a_bound() raises:
    """A peer may ask for new keys without end (RFC 8446 section 4.6.3)."""
    var client = _client()
    var server = _server()
    _shake_hands(client, server, 5_000)
    var room = List[UInt8](length=100, fill=0)
    client.output.append(Span(List[UInt8](length=UNSENT_LEN_MAX, fill=0)))
    assert_equal(_name(client.read(Span(room)).status), "WANTS_OCTETS")
    client.output.append_octet(0)
    assert_equal(_name(client.read(Span(room)).status), "FAILED")
    assert_equal(kind_name(client.pump.failure), "ProtocolViolation")
