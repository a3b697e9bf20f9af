"""What has come of an attempt that failed, and how long to wait."""

from flare.http.client.connect.error import (
    ClientError,
    NoResponse,
    Phase,
    ProxyRefused,
    SourceFailed,
    StreamReset,
    TlsFailed,
)
from flare.http.client.exchange.repetition import end_of, is_transient
from flare.http.exchange.retry_rules import AttemptEnd
from flare.net.error import (
    NameLookupFailed,
    NameNotFound,
    NameRefused,
    NetworkError,
    NetworkErrorKind,
    OtherError,
    Timeout,
)
from flare.tls.error import CertificateExpired, ClosedEarly
from tests.support.assertions import assert_equal, assert_false, assert_true


def _may_pass(phase: Phase) raises -> Bool:
    return is_transient(ClientError(phase, materialize[OtherError](), "a test"))


def test_what_may_pass() raises:
    assert_true(_may_pass(Phase.CONNECT))
    assert_true(_may_pass(Phase.READ_HEAD))
    assert_false(_may_pass(Phase.REQUEST))
    assert_false(_may_pass(Phase.TLS))
    assert_false(_may_pass(Phase.READ_BODY))
    assert_false(_may_pass(Phase.TOTAL))


def test_names_that_do_not_exist_stay_so() raises:
    """RFC 2308 section 2.1: a server of names has said so."""
    for row in [
        (materialize[NameNotFound](), AttemptEnd.HOPELESS),
        (materialize[NameRefused](), AttemptEnd.HOPELESS),
        (materialize[NameLookupFailed](), AttemptEnd.NO_CONNECTION),
        (materialize[Timeout](), AttemptEnd.NO_CONNECTION),
    ]:
        var error = ClientError(
            Phase.RESOLVE, NetworkError.of_name(row[0], "a.example", "a test")
        )
        var end = end_of(error, has_response=False, fate=AttemptEnd.LOST)
        assert_equal(Int(end.number), Int(row[1].number), row[0].name)


def test_what_a_proxy_refuses_for_good() raises:
    """RFC 9110 section 15.5: the class says whose fault it is, and three of it
    are about the moment (sections 15.5.9, RFC 8470 and RFC 6585)."""
    for row in [
        (403, AttemptEnd.HOPELESS),
        (407, AttemptEnd.HOPELESS),
        (408, AttemptEnd.NO_CONNECTION),
        (425, AttemptEnd.NO_CONNECTION),
        (429, AttemptEnd.NO_CONNECTION),
        (502, AttemptEnd.NO_CONNECTION),
        (504, AttemptEnd.NO_CONNECTION),
    ]:
        var error = ClientError(
            Phase.PROXY, materialize[ProxyRefused](), "a test"
        )
        error.status = row[0]
        var end = end_of(error, has_response=False, fate=AttemptEnd.LOST)
        assert_equal(Int(end.number), Int(row[1].number), String(row[0]))


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var phase: Phase
    var kind: NetworkErrorKind
    var has_response: Bool
    var fate: AttemptEnd
    var end: AttemptEnd


def _failed(
    rule: StaticString,
    phase: Phase,
    kind: NetworkErrorKind,
    end: AttemptEnd,
    *,
    has_response: Bool = False,
    fate: AttemptEnd = AttemptEnd.LOST,
) -> _Row:
    return _Row(rule, phase, kind, has_response, fate, end)


def _rows() -> List[_Row]:
    comptime LOST = AttemptEnd.LOST
    comptime HOPELESS = AttemptEnd.HOPELESS
    comptime NO_CONNECTION = AttemptEnd.NO_CONNECTION
    comptime SILENT = AttemptEnd.SILENT
    var none = materialize[NoResponse]()
    var late = materialize[Timeout]()
    var reset = materialize[StreamReset]()
    var own = materialize[SourceFailed]()
    return [
        _failed("no name", Phase.RESOLVE, none, NO_CONNECTION),
        _failed("no name in time", Phase.RESOLVE, late, NO_CONNECTION),
        _failed("no host", Phase.CONNECT, none, NO_CONNECTION),
        _failed("no host in time", Phase.CONNECT, late, NO_CONNECTION),
        _failed("no proxy", Phase.PROXY, none, NO_CONNECTION),
        _failed("a handshake cut off", Phase.TLS, none, NO_CONNECTION),
        _failed("sending", Phase.WRITE, none, LOST),
        _failed("waiting", Phase.READ_HEAD, none, LOST),
        _failed("nothing is taken", Phase.WRITE, late, SILENT),
        _failed("nothing comes", Phase.READ_HEAD, late, SILENT),
        _failed(
            "9113-5.4.2 reset",
            Phase.READ_HEAD,
            reset,
            AttemptEnd.SPOILED,
            fate=AttemptEnd.SPOILED,
        ),
        _failed("reset while sending", Phase.WRITE, reset, AttemptEnd.SPOILED),
        _failed("the source is broken", Phase.WRITE, own, HOPELESS),
        _failed("a bad request", Phase.REQUEST, none, HOPELESS),
        _failed(
            "a bad request on a connection that goes",
            Phase.REQUEST,
            none,
            HOPELESS,
            fate=AttemptEnd.LEFT_BEHIND,
        ),
        _failed("no connection in its turn", Phase.QUEUE, late, HOPELESS),
        _failed(
            "no stream, and another's answer",
            Phase.QUEUE,
            late,
            HOPELESS,
            has_response=True,
        ),
        _failed(
            "9113-8.7 it waited for a stream",
            Phase.QUEUE,
            none,
            AttemptEnd.LEFT_BEHIND,
            fate=AttemptEnd.LEFT_BEHIND,
        ),
        _failed(
            "9113-8.7 REFUSED_STREAM",
            Phase.READ_HEAD,
            reset,
            AttemptEnd.UNTOUCHED,
            fate=AttemptEnd.UNTOUCHED,
        ),
        _failed(
            "9113-6.8 beyond the last stream",
            Phase.WRITE,
            none,
            AttemptEnd.LEFT_BEHIND,
            fate=AttemptEnd.LEFT_BEHIND,
        ),
        _failed(
            "9113-7 HTTP_1_1_REQUIRED",
            Phase.READ_HEAD,
            reset,
            AttemptEnd.NEEDS_HTTP_1_1,
            fate=AttemptEnd.NEEDS_HTTP_1_1,
        ),
        _failed(
            "a part of a head",
            Phase.READ_HEAD,
            none,
            AttemptEnd.BEGUN,
            has_response=True,
        ),
        _failed(
            "a part of a head, late",
            Phase.READ_HEAD,
            late,
            AttemptEnd.BEGUN,
            has_response=True,
        ),
        _failed(
            "a part of content",
            Phase.READ_BODY,
            none,
            AttemptEnd.BEGUN,
            has_response=True,
        ),
        _failed(
            "an interim response on a stream",
            Phase.READ_HEAD,
            reset,
            AttemptEnd.BEGUN,
            fate=AttemptEnd.BEGUN,
        ),
        _failed(
            "the same, with a connection that broke",
            Phase.READ_HEAD,
            none,
            AttemptEnd.BEGUN,
            fate=AttemptEnd.BEGUN,
        ),
        _failed(
            "a bad coding",
            Phase.DECODE,
            none,
            AttemptEnd.BEGUN,
            has_response=True,
        ),
        _failed("a loop", Phase.REDIRECT, none, HOPELESS),
        _failed("no time is left", Phase.TOTAL, late, HOPELESS),
    ]


def test_what_has_come_of_an_attempt() raises:
    for row in _rows():
        var end = end_of(
            ClientError(row.phase, row.kind, "a test"),
            has_response=row.has_response,
            fate=row.fate,
        )
        assert_equal(Int(end.number), Int(row.end.number), row.rule)
    var distrusted = ClientError(Phase.TLS, materialize[TlsFailed](), "a test")
    for row in [
        (materialize[ClosedEarly](), AttemptEnd.NO_CONNECTION),
        (materialize[CertificateExpired](), AttemptEnd.HOPELESS),
    ]:
        distrusted.tls_kind = row[0]
        var end = end_of(distrusted, has_response=False, fate=AttemptEnd.LOST)
        assert_equal(Int(end.number), Int(row[1].number))
