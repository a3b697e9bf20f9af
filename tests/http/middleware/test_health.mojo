"""Health and readiness."""

from flare.http.middleware.health import Health, Readiness
from flare.http.handler.ready_switch import ReadySwitch
from flare.testing.test_client import TestClient
from tests.support.assertions import assert_equal


def _works() raises:
    assert_equal(1 + 1, 2)


def _fails() raises:
    raise Error("at 10.0.0.5: password wrong")


def test_health() raises:
    var client = TestClient(Health())
    var response = client.get("/health")
    assert_equal(response.status.code, 200)
    assert_equal(response.text(), '{"status":"ok"}')
    assert_equal(response.headers["cache-control"], "no-store")


def test_readiness_by_switch() raises:
    var switch = ReadySwitch(False)
    var client = TestClient(Readiness(switch))
    assert_equal(client.get("/").status.code, 503)
    assert_equal(client.get("/").text(), '{"switch":"off"}')
    switch.set(True)
    assert_equal(client.get("/").status.code, 200)


def test_readiness_by_checks() raises:
    var ready = Readiness()
    ready.add("disk", _works)
    var client = TestClient(ready^)
    assert_equal(client.get("/").text(), '{"switch":"ok","disk":"ok"}')
    var broken = Readiness()
    broken.add("disk", _works)
    broken.add("database", _fails)
    client = TestClient(broken^)
    var response = client.get("/")
    assert_equal(response.status.code, 503)
    # The reason is for us, not for strangers.
    assert_equal(
        response.text(), '{"switch":"ok","disk":"ok","database":"failed"}'
    )
