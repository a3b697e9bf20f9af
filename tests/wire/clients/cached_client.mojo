"""A client that keeps responses: sends what its arguments ask for.

    cached_client BASE_URL "METHOD PATH [FIELD: VALUE]"...

Each is answered with status, age or `-`, and content.
"""

from flare.http.cache import CacheStore
from flare.http.client import CachedClient, ClientRequest, HttpClient
from std.sys import argv


def main() raises:
    var store = CacheStore()
    var client = CachedClient(HttpClient(String(argv()[1])), store)
    for index in range(2, len(argv())):
        var words = String(argv()[index]).split(" ", 2)
        var request = ClientRequest(String(words[0]), String(words[1]))
        if len(words) > 2:
            var field = String(words[2]).split(": ", 1)
            request.set_header(String(field[0]), String(field[1]))
        var response = client.send(request^)
        var age = response.headers.get("age")
        var shown = String(age.value()) if age else String("-")
        print(response.status, shown, response.text(), flush=True)
    var stats = store.stats()
    print("hits", stats.hit_count, "revalidated", stats.revalidated_count)
