"""What needs no connection of its own: the page, and the feed."""

from app.room import Room
from app.service import service
from flare.testing import TestClient
from std.testing import assert_equal, assert_true

comptime HEADING = "<h1>{{name}}</h1>"


def test_the_page_and_its_parts_are_served() raises:
    var client = TestClient(service("site", Room()))
    var page = client.get("/")
    assert_equal(page.status, 200)
    assert_true(HEADING in page.text())
    assert_equal(client.get("/room.js").status, 200)
    assert_equal(client.get("/room.css").status, 200)


def test_the_feed_is_an_event_stream() raises:
    var client = TestClient(service("site", Room()))
    var feed = client.get("/events")
    assert_equal(feed.headers.get("Content-Type").value(), "text/event-stream")


def test_the_room_is_for_websockets() raises:
    var client = TestClient(service("site", Room()))
    assert_equal(client.get("/room").status, 400)
