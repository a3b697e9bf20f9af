"""Clients that keep responses, in one store: they send what the arguments ask for.

    cached_client BASE_URL "METHOD PATH [NAME=VALUE]... [FIELD: VALUE]"...

Each is answered with status, age or `-`, content, and whether that is decoded. The
names are `client` (whose it is), `auth`, `digest` and `url` (who logs in, and how).
"""

from flare.http.cache import CacheStore
from flare.http.client import (
    AttemptOutcome,
    BasicAuth,
    CachedClient,
    ClientConfig,
    ClientHook,
    ClientRequest,
    DigestAuth,
    HttpClient,
    OutgoingAttempt,
)
from std.sys import argv


@fieldwise_init
struct Tenant(ClientHook):
    """Says on whose behalf a request is made."""

    var name: String

    def before_attempt(self, mut attempt: OutgoingAttempt) raises:
        print("before", attempt.number)
        attempt.headers.set("X-Tenant", self.name)

    def after_attempt(self, outcome: AttemptOutcome):
        print("after", outcome.number, outcome.status)


def client_of(url: String, name: String) raises -> HttpClient:
    var config = ClientConfig()
    if name == "bob":
        return HttpClient(url, BasicAuth("bob", "secret"))
    if name == "german":
        config.headers.set("Accept-Language", "de")
    if name == "careful":
        config.headers.set("Cache-Control", "no-cache")
    if name == "red" or name == "blue":
        config.hooks.append(Tenant(name))
    var client = HttpClient(url, config=config^)
    if name == "browser":
        client = client^.with_cookies()
    return client^


def send(
    url: String, line: String, store: CacheStore, mut browser: CachedClient
) raises:
    var words = line.split(" ", 2)
    var request = ClientRequest(String(words[0]), String(words[1]))
    var rest = String(words[2]) if len(words) > 2 else String()
    var name = String("plain")
    while rest.find("=") > 0 and (
        rest.find(":") < 0 or rest.find("=") < rest.find(":")
    ):
        var parts = rest.split(" ", 1)
        var pair = String(parts[0]).split("=", 1)
        var value = String(pair[1])
        if pair[0] == "client":
            name = value
        elif pair[0] == "auth":
            request.auth = BasicAuth(value, "secret")
        elif pair[0] == "digest":
            request.auth = DigestAuth(value, "secret")
        elif pair[0] == "url":
            var login = String("http://", value, ":secret@")
            request.url = url.replace("http://", login) + request.url
        rest = String(parts[1]) if len(parts) > 1 else String()
    if rest.byte_length() > 0:
        var field = rest.split(": ", 1)
        request.set_header(String(field[0]), String(field[1]))
    if name == "browser":
        show(browser, request^)
        return
    var client = CachedClient(client_of(url, name), store)
    show(client, request^)


def show(mut client: CachedClient, var request: ClientRequest) raises:
    var response = client.send(request^)
    var age = response.headers.get("age")
    var shown = String(age.value()) if age else String("-")
    var text = response.text()
    if response.is_decoded:
        text += " (decoded)"
    print(response.status, shown, text, flush=True)


def main() raises:
    var store = CacheStore()
    var url = String(argv()[1])
    var browser = CachedClient(client_of(url, "browser"), store)
    for index in range(2, len(argv())):
        send(url, String(argv()[index]), store, browser)
    var stats = store.stats()
    print("hits", stats.hit_count, "revalidated", stats.revalidated_count)
