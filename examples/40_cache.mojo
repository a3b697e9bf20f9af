# 40 Cache: responses are kept as they ask for it, validated when they are stale,
# and dropped on request.
#
# Expected output:
#   edition 1 | flare; fwd=uri-miss; stored
#   edition 1 | flare; hit
#   edition 1 for somebody else, too: True
#   after an invalidation: flare; fwd=stale; stored
#   after a purge: edition 3
#   hits: 2

from flare.http import FnHandler, Request, Response, State, ok
from flare.http.cache import CacheControl, CacheStore
from flare.http.client import ClientResponse
from flare.http.middleware import Cache
from flare.http.routing import App
from flare.testing import TestClient


@fieldwise_init
struct Press(Movable):
    var edition: Int


def news(req: Request) raises -> Response:
    """Takes long to make, and holds for a minute."""
    var press = State[Press].of(req).lock()
    press[].edition += 1
    var control = CacheControl(is_public=True, max_age_s=60)
    return ok(String("edition ", press[].edition)).with_header(
        "Cache-Control", String(control)
    )


def status(response: ClientResponse) raises -> String:
    """Tells what the cache did, without the seconds that are left."""
    var words = String(response.headers["cache-status"]).split("; ttl=")
    return String(words[0])


def main() raises:
    var store = CacheStore(octet_max=16 << 20)
    var handler = Cache(FnHandler(news), store)
    var client = TestClient(App(state=Press(0), handler=handler^))

    for _ in range(2):
        var response = client.get("/news")
        print(response.text(), "|", status(response))
    var other = client.get("/news", headers={"User-Agent": "another"})
    print("edition 1 for somebody else, too:", other.text() == "edition 1")
    _ = store.invalidate("http://testserver/news")
    print("after an invalidation:", status(client.get("/news")))
    _ = store.purge("http://testserver/news")
    print("after a purge:", client.get("/news").text())
    print("hits:", store.stats().hit_count)
