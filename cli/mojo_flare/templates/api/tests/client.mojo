"""What the tests begin with: a client, and one that is logged in."""

from app.service import service
from app.settings import Settings
from flare.http import BasicAuth
from flare.settings import Secret
from flare.testing import TestClient
from std.testing import assert_equal

comptime PASSWORD = "correct horse battery staple"
comptime KEY = "a key for tests, and for tests alone"


def new_client() raises -> TestClient:
    """Makes a client of a service that has no items."""
    var settings = Settings()
    settings.password = Secret(PASSWORD)
    settings.key = Secret(KEY)
    return TestClient(service(settings))


def signed_in_client() raises -> TestClient:
    """Makes a client that may change things."""
    var client = new_client()
    var answer = client.post(
        "/api/login", "", auth=BasicAuth("admin", PASSWORD)
    )
    assert_equal(answer.status, 200)
    return client^
