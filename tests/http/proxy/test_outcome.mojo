"""What a client is told of an upstream that has failed (RFC 9209 section 2.3)."""

from flare.http.client.connect.error import (
    ClientError,
    MalformedResponse,
    NoResponse,
    Phase,
    StreamReset,
    TlsFailed,
)
from flare.http.proxy.upstreams.outcome import OUTCOME_COUNT, Outcome
from flare.http.proxy.upstreams.placement import (
    outcome_of_failure,
    outcome_of_refusal,
)
from flare.net.error import (
    ConnectionRefused,
    ConnectionTimeout,
    DnsError,
    NetworkErrorKind,
    Timeout,
)
from flare.tls.error import TlsErrorKind, UnknownIssuer, WrongHost
from tests.support.assertions import assert_equal, assert_false, assert_true


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var phase: Phase
    var kind: NetworkErrorKind
    var tls_kind: Optional[TlsErrorKind]
    var proxy_error: StaticString
    var status: Int


def test_refusals_are_named() raises:
    """RFC 9209 section 2.3: the token, and the status that goes with it."""
    comptime RESOLVE = Phase.RESOLVE
    comptime CONNECT = Phase.CONNECT
    comptime TLS = Phase.TLS
    var rows: List[_Row] = [
        _Row("2.3.1", RESOLVE, Timeout, None, "dns_timeout", 504),
        _Row("2.3.2", RESOLVE, DnsError, None, "dns_error", 502),
        _Row(
            "2.3.6", CONNECT, ConnectionRefused, None, "connection_refused", 502
        ),
        _Row(
            "2.3.9",
            CONNECT,
            ConnectionTimeout,
            None,
            "connection_timeout",
            504,
        ),
        _Row(
            "2.3.14",
            TLS,
            TlsFailed,
            UnknownIssuer,
            "tls_certificate_error",
            502,
        ),
        _Row("2.3.14", TLS, TlsFailed, WrongHost, "tls_certificate_error", 502),
    ]
    for row in rows:
        var error = ClientError(row.phase, row.kind, String("why"))
        error.tls_kind = row.tls_kind
        var outcome = outcome_of_refusal(error)
        assert_equal(outcome.proxy_error(), row.proxy_error, row.rule)
        assert_equal(outcome.client_status(), row.status, row.rule)
        assert_true(outcome.is_failure(), row.rule)
        assert_equal(outcome.is_timeout(), row.status == 504, row.rule)


def test_failures_over_http2_are_named() raises:
    for kind in [
        materialize[NoResponse](),
        materialize[StreamReset](),
        materialize[Timeout](),
    ]:
        var error = ClientError(
            materialize[Phase.READ_HEAD](), kind, String("why")
        )
        assert_equal(
            outcome_of_failure(error, False).proxy_error(),
            "connection_terminated",
        )
        # RFC 9209 section 2.3: who takes its time has not broken it off.
        assert_equal(
            outcome_of_failure(error, True).proxy_error(),
            "http_response_timeout",
        )
    var broken = ClientError(
        materialize[Phase.READ_HEAD](),
        materialize[MalformedResponse](),
        String("why"),
    )
    assert_equal(
        outcome_of_failure(broken, False).proxy_error(), "http_protocol_error"
    )


def test_each_kind_has_a_name_of_its_own() raises:
    for code in range(OUTCOME_COUNT):
        var name = Outcome(UInt8(code)).name()
        assert_equal(name == "answered", code == 0, name)
        for other in range(code):
            assert_false(Outcome(UInt8(other)).name() == name, name)
