"""Service configs: what is read, found, and refused."""

from flare.bytes.checked import *
from flare.grpc.client.service_config import NOT_SET, GrpcServiceConfig
from flare.grpc.core.status import GrpcCode
from tests.support.assertions import assert_equal, assert_false, assert_true

comptime _WHOLE = """{
  "loadBalancingConfig": [{"unknown": {}}, {"round_robin": {}}],
  "methodConfig": [
    {"name": [{"service": "a.B"}], "timeout": "1.5s", "waitForReady": true},
    {"name": [{"service": "a.B", "method": "C"}, {"service": "x.Y"}],
     "maxRequestMessageBytes": 10, "maxResponseMessageBytes": "20",
     "retryPolicy": {"maxAttempts": 3, "initialBackoff": "0.0001s",
       "maxBackoff": "2s", "backoffMultiplier": 1.5,
       "retryableStatusCodes": ["UNAVAILABLE", 10, "data_loss"]}},
    {"name": [{}], "timeout": "0s"}
  ],
  "retryThrottling": {"maxTokens": 10, "tokenRatio": 0.1},
  "unknown": 1
}"""


def test_a_whole_config() raises:
    var config = GrpcServiceConfig.parse(_WHOLE)
    assert_true(config.spreads_calls, "round_robin")
    assert_equal(config.max_tokens, 10)
    assert_equal(config.token_ratio, 0.1)
    assert_equal(len(config.methods), 3)
    assert_equal(config.methods.at(0).timeout_ms, 1_500)
    assert_true(config.methods.at(0).wait_for_ready.value(), "waitForReady")
    ref second = config.methods.at(1)
    assert_equal(second.timeout_ms, NOT_SET)
    assert_false(Bool(second.wait_for_ready), "nothing is said")
    assert_equal(second.max_send_len, 10)
    assert_equal(second.max_receive_len, 20)
    ref policy = second.retries.value()
    assert_equal(policy.max_attempts, 3)
    assert_equal(policy.initial_backoff_ms, 1)
    assert_equal(policy.max_backoff_ms, 2_000)
    assert_equal(policy.backoff_multiplier, 1.5)
    assert_true(policy.retries(GrpcCode.UNAVAILABLE), "a name")
    assert_true(policy.retries(GrpcCode.ABORTED), "a number")
    assert_true(policy.retries(GrpcCode.DATA_LOSS), "A6: in any case")
    assert_false(policy.retries(GrpcCode.INTERNAL), "not named")


def test_which_config_counts() raises:
    var config = GrpcServiceConfig.parse(_WHOLE)
    for row in [
        ("/a.B/C", 1),
        ("/a.B/D", 0),
        ("/x.Y/Z", 1),
        ("/other/Z", 2),
        ("", 2),
    ]:
        assert_equal(config.find(row[0]), row[1], row[0])
    assert_equal(GrpcServiceConfig().find("/a.B/C"), -1)


def test_nothing() raises:
    var config = GrpcServiceConfig.parse("{}")
    assert_equal(len(config.methods), 0)
    assert_equal(config.max_tokens, 0)
    assert_false(config.spreads_calls, "pick_first")


def _method(members: StringSpan) -> String:
    return String('{"methodConfig": [{', members, "}]}")


def _retry(members: StringSpan) -> String:
    return _method(
        String(
            '"retryPolicy": {"initialBackoff": "1s", "maxBackoff": "1s",'
            ' "backoffMultiplier": 1, ',
            members,
            "}",
        )
    )


def test_what_is_refused() raises:
    var rows: List[Tuple[String, String]] = [
        ("", "service config: "),
        ("[]", "object"),
        ('{"methodConfig": 1}', "service config: "),
        (_method('"timeout": 1'), "service config: "),
        (_method('"timeout": "1"'), "seconds such as"),
        (_method('"timeout": "s"'), "seconds such as"),
        (_method('"timeout": "-1s"'), "seconds such as"),
        (_method('"timeout": "1.2.3s"'), "seconds such as"),
        (_method('"timeout": "0.0000000001s"'), "finer than nanoseconds"),
        (_method('"timeout": "99999999999999999999s"'), "too long"),
        (_method('"name": [{"method": "C"}]'), "must have a service"),
        (_method('"waitForReady": 1'), "service config: "),
        # service_config.proto: a number of 32 bits without a sign.
        (_method('"maxRequestMessageBytes": -5'), "0 to 4294967295"),
        (_method('"maxResponseMessageBytes": 4294967296'), "0 to 4294967295"),
        (
            _retry('"maxAttempts": 1, "retryableStatusCodes": [14]'),
            "maxAttempts",
        ),
        (
            _retry('"maxAttempts": 2, "retryableStatusCodes": []'),
            "retryableStatusCodes",
        ),
        (
            _retry('"maxAttempts": 2, "retryableStatusCodes": ["OK"]'),
            "no status code 'OK'",
        ),
        (
            _retry('"maxAttempts": 2, "retryableStatusCodes": [17]'),
            "no status code 17",
        ),
        (
            '{"retryThrottling": {"maxTokens": 0, "tokenRatio": 1}}',
            "1 to 1000",
        ),
        (
            '{"retryThrottling": {"maxTokens": 1, "tokenRatio": 0}}',
            "more than 0",
        ),
        # RFC 8259 section 4: which of two counts is not said.
        ('{"methodConfig": [], "methodConfig": []}', "'methodConfig' twice"),
        (_method('"timeout": "1s", "timeout": "9s"'), "'timeout' twice"),
        ('{"unknown": [{"a": 1, "\\u0061": 2}]}', "'a' twice"),
        # service_config.md: one method config for a name.
        (
            _method('"name": [{"service": "a.B"}, {"service": "a.B"}]'),
            "'/a.B/' is named twice",
        ),
        (
            '{"methodConfig": [{"name": [{}]}, {"name": [{}]}]}',
            "'/' is named twice",
        ),
    ]
    for index in range(len(rows)):
        var told = String()
        try:
            _ = GrpcServiceConfig.parse(rows.at(index)[0])
        except error:
            told = String(error)
        assert_true(
            rows.at(index)[1] in told and "INVALID_ARGUMENT" in told,
            String(rows.at(index)[0], " gave ", told),
        )
