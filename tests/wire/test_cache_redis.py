"""Caches of several processes that share what they keep through Redis, and what
holds while Redis is away, full, emptied or written to by others (RFC 9111)."""

import re
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from conftest import Server, wait_until
from redis_servers import running_redis
from test_cached_proxy import Origin, serving, state
from wire_programs import built

WAIT_S = 20
# Look-ups have 250 ms, twice with a connection; the rest is for a busy machine.
BOUND_S = 4.0
KINDS = ["loop", "threads"]


class SharedOrigin(Origin):
    """Answers `/gate...` when the test says so, and `/vary...` by language."""

    def do_GET(self):
        self.language = self.headers.get("Accept-Language", "-")
        super().do_GET()

    do_HEAD = do_POST = do_GET

    def answer(self, status: int, fields: dict[str, str], body: bytes = b""):
        if self.path.startswith("/gate"):
            self.server.goes_on.wait(WAIT_S)
        if self.path.startswith("/vary"):
            fields = {**fields, "Vary": "Accept-Language"}
            body += b" " + self.language.encode()
        super().answer(status, fields, body)


@pytest.fixture
def origin():
    yield from serving(SharedOrigin)


@pytest.fixture
def redis(tmp_path):
    yield from running_redis(tmp_path / "redis")


class Cache(Server):
    """A server with a cache; of all of them the same host is asked."""

    def __init__(self, kind: str, origin, redis, *options: str) -> None:
        port = origin.server_address[1]
        if kind == "loop":
            options = (f"upstream=http://127.0.0.1:{port}", *options)
            binary = built("cached_proxy")
        else:
            options = (f"origin={port}", "threads=8", *options)
            binary = built("cache_server")
        super().__init__(binary, [f"redis={redis.url}", *options])

    def ask(self, path: str, method: str = "GET", **fields: str) -> httpx.Response:
        headers = {"Host": "test"}
        headers |= {name.replace("_", "-"): value for name, value in fields.items()}
        return httpx.request(method, self.url + path, headers=headers, timeout=WAIT_S)

    def figure(self, event: str) -> int:
        text = httpx.get(f"{self.url}/metrics", timeout=WAIT_S).text
        name = f'http_cache_shared_total{{event="{event}"}}'
        if event in ("waiting", "away"):
            name = f"http_cache_shared_{event}"
        return int(re.search(rf"^{re.escape(name)} (\d+)$", text, re.M)[1])

    def comes_to(self, event: str, count: int) -> bool:
        return wait_until(lambda: self.figure(event) == count, WAIT_S)


@pytest.fixture
def caches(origin, redis):
    """Starts caches; they end well."""
    started: list[Cache] = []

    def start(kind: str, *options: str) -> Cache:
        started.append(Cache(kind, origin, redis, *options))
        return started[-1]

    yield start
    for cache in started:
        assert cache.is_alive(), "the server died during the test"
        assert cache.stop() == 0


@pytest.fixture(params=KINDS)
def pair(caches, request):
    return caches(request.param), caches(request.param)


def kept(redis) -> list[str]:
    return re.findall(r"cache:of:[0-9a-f]{32}", redis.ask("KEYS", "cache:of:*").decode())


def share(pair, path: str = "/a") -> str:
    """Has the first fetch something and the second find it."""
    first, second = pair
    written = first.figure("written")
    text = first.ask(path).text
    assert first.comes_to("written", written + 1)
    assert second.ask(path).text == text
    return text


def test_what_one_fetches_the_other_serves(origin, pair):
    first, second = pair
    one = first.ask("/a")
    assert state(one) == "flare; fwd=uri-miss; stored"
    assert first.comes_to("written", 1)
    other = second.ask("/a")
    assert (other.text, state(other)) == (one.text, "flare; hit; detail=shared")
    assert 0 <= int(other.headers["age"]) <= 20
    assert other.headers["etag"] == '"v1"'
    # From then on memory has it.
    assert state(second.ask("/a")) == "flare; hit"
    assert second.figure("found") == 1
    assert len(origin.asked) == 1


@pytest.mark.parametrize("keep_max_s, most_ms", [(100, 100_000), (86_400, 7_200_000)])
def test_how_long_redis_keeps_at_most(redis, caches, keep_max_s, most_ms):
    """As long as it may be used and an hour more, to be validated; at most
    `keep_max_s`."""
    cache = caches("threads", f"keep_max_s={keep_max_s}")
    assert cache.ask("/hit?tag=v1&control=max-age%3D3600").status_code == 200
    assert cache.comes_to("written", 1)
    (key,) = kept(redis)
    left_ms = int(redis.ask("PTTL", key).removeprefix(b":"))
    assert most_ms // 2 < left_ms <= most_ms


def test_what_is_stale_is_validated_by_the_other(origin, pair):
    first, second = pair
    one = first.ask("/a?no-cache")
    assert first.comes_to("written", 1)
    other = second.ask("/a?no-cache")
    assert (other.status_code, other.text) == (200, one.text)
    assert "fwd=stale; fwd-status=304" in state(other)
    assert origin.asked[1][2]["If-None-Match"] == '"v1"'


def test_vary(origin, pair):
    first, second = pair
    texts = {tongue: first.ask("/vary", Accept_Language=tongue).text for tongue in ("de", "en")}
    assert first.comes_to("written", 2)
    for tongue in ("en", "de"):
        answer = second.ask("/vary", Accept_Language=tongue)
        assert (answer.text, state(answer)) == (texts[tongue], "flare; hit; detail=shared")
    # Of equal meaning (section 4.1).
    assert len(origin.asked) == 2
    assert second.ask("/vary", Accept_Language="fr").text.endswith(" fr")
    assert len(origin.asked) == 3


def test_ranges_conditions_and_head(origin, pair):
    first, second = pair
    text = first.ask("/a").text
    assert first.comes_to("written", 1)
    part = second.ask("/a", Range="bytes=0-1")
    assert (part.status_code, part.text) == (206, text[:2])
    assert second.ask("/a", If_None_Match='"v1"').status_code == 304
    assert second.ask("/a", "HEAD").headers["content-length"] == str(len(text))
    assert len(origin.asked) == 1


@pytest.mark.parametrize("how", ["key", "prefix", "invalid"])
def test_a_purge_reaches_the_other(origin, redis, caches, how):
    pair = first, second = caches("loop"), caches("loop")
    old = share(pair)
    share(pair, "/b")
    url = "http://test/" if how == "prefix" else "http://test/a"
    assert first.ask(f"/purge?how={how}&url={url}").text == ("2" if how == "prefix" else "1")
    assert second.comes_to("heard", 1)
    count = len(origin.asked)
    answer = second.ask("/a")
    assert len(origin.asked) == count + 1
    if how == "invalid":
        assert (answer.text, "fwd-status=304" in state(answer)) == (old, True)
    else:
        assert answer.text != old
    # What was not meant is there still, and what is fetched now is shared.
    assert (state(second.ask("/b")) == "flare; hit") == (how != "prefix")
    assert first.comes_to("removed", 1)
    assert wait_until(lambda: second.figure("written") >= 1, WAIT_S)
    assert first.ask("/a").text == answer.text


def test_cache_server_purges_too(origin, caches):
    pair = caches("threads"), caches("threads")
    old = share(pair)
    assert pair[1].ask("/purge?url=http://test/a").text == "1"
    assert pair[0].comes_to("heard", 1)
    assert pair[0].ask("/a").text != old


@pytest.mark.parametrize("is_heard", [True, False])
def test_a_purge_while_it_is_fetched(origin, redis, pair, is_heard):
    """What was asked for before the purge comes behind it, and is kept nowhere."""
    first, second = pair
    with ThreadPoolExecutor(1) as pool:
        late = pool.submit(first.ask, "/gate")
        assert wait_until(lambda: len(origin.asked) == 1, WAIT_S)
        second.ask("/purge?url=http://test/gate")
        assert second.comes_to("removed", 1)
        if is_heard:
            assert first.comes_to("heard", 1)
        origin.goes_on.set()
        old = late.result().text
    assert old == "call 1"
    assert first.comes_to("heard", 1)
    # What is queued goes in turn: behind this, it would be there.
    first.ask("/behind")
    assert first.comes_to("written", 1)
    assert len(kept(redis)) == 1
    assert second.ask("/gate").text != old
    assert first.ask("/gate").text != old


def test_unsafe_methods(origin, pair):
    """RFC 9111 section 4.4: what is kept is validated, everywhere."""
    first, second = pair
    share(pair)
    assert first.ask("/a", "POST").status_code == 200
    assert second.comes_to("heard", 1)
    count = len(origin.asked)
    answer = second.ask("/a")
    assert "fwd=stale; fwd-status=304" in state(answer)
    assert len(origin.asked) == count + 1


def test_what_is_for_one_user_stays_away(origin, redis, pair):
    """RFC 9111 sections 3 and 3.5."""
    first, second = pair
    for path, fields in [
        ("/a?private", {}),
        ("/b?no-store", {}),
        ("/c?max-age=60,private", {}),
        ("/d?max-age=60", {"Authorization": "Basic eDp5"}),
    ]:
        assert first.ask(path, **fields).status_code == 200
    first.ask("/behind")
    assert first.comes_to("written", 1)
    assert len(kept(redis)) == 1
    assert second.ask("/d?max-age=60").text == "call 6"


def test_what_is_never_kept_is_not_looked_for(origin, pair):
    first, _ = pair
    first.ask("/a?no-store")
    missed = first.figure("missed")
    for _ in range(3):
        first.ask("/a?no-store")
    assert first.figure("missed") == missed
    assert len(origin.asked) == 4


def test_keys_and_lifetimes_are_bounded(redis, pair):
    first, _ = pair
    first.ask("/" + "x" * 4_000 + "?max-age=99999999")
    first.ask("/short?max-age=60")
    assert first.comes_to("written", 2)
    names = re.findall(r"cache:[\w:]+", redis.ask("KEYS", "*").decode())
    assert max(map(len, names)) < 50
    for name in kept(redis):
        left_s = int(redis.ask("TTL", name)[1:])
        # A day, or a minute and an hour for validation.
        assert 3_500 < left_s <= 86_400


def test_redis_that_hangs(origin, redis, pair):
    first, second = pair
    share(pair)
    redis.pause()
    longest = 0.0
    for number in range(8):
        begun = time.monotonic()
        assert first.ask(f"/new{number}").status_code == 200
        longest = max(longest, time.monotonic() - begun)
    assert longest < BOUND_S
    assert first.figure("away") == 1
    skipped = first.figure("skipped")
    assert first.ask("/newer").status_code == 200
    assert first.figure("skipped") == skipped + 1
    assert state(first.ask("/a")) == "flare; hit"
    # It is passed on when it can be.
    first.ask("/purge?url=http://test/a")
    redis.go_on()
    assert first.comes_to("away", 0)
    assert second.comes_to("heard", 1)
    count = len(origin.asked)
    second.ask("/a")
    assert len(origin.asked) == count + 1
    assert first.ask("/last").status_code == 200
    assert wait_until(lambda: first.figure("written") >= 2, WAIT_S)
    assert "answers again" in first.stderr()


def test_redis_that_is_killed_and_comes_back_empty(origin, redis, pair):
    """Removals may have been lost with it, so memory goes, too."""
    first, second = pair
    share(pair)
    redis.kill()
    assert first.comes_to("away", 1)
    assert state(first.ask("/a")) == "flare; hit"
    assert first.ask("/b").status_code == 200
    redis.start()
    for cache in pair:
        assert cache.comes_to("away", 0)
        assert cache.comes_to("reset", 1)
    assert "fwd=uri-miss" in state(second.ask("/a"))
    share(pair, "/c")


def test_redis_that_is_emptied(origin, redis, pair):
    first, second = pair
    share(pair)
    assert redis.ask("FLUSHALL") == b"+OK\r\n"
    for cache in pair:
        assert cache.comes_to("reset", 1)
    assert "fwd=uri-miss" in state(first.ask("/a"))
    share(pair, "/c")


def test_redis_that_is_full(origin, redis, pair):
    first, second = pair
    share(pair)
    redis.ask("CONFIG", "SET", "maxmemory-policy", "noeviction")
    redis.ask("CONFIG", "SET", "maxmemory", "1")
    assert first.ask("/b").status_code == 200
    assert wait_until(lambda: first.figure("failed") >= 1, WAIT_S)
    # What is there is found, and nobody is turned away.
    third = first.ask("/c")
    assert "fwd=uri-miss" in state(third)
    assert first.comes_to("away", 0)
    # What is removed goes at once; the others hear of it when there is room.
    first.ask("/purge?url=http://test/a")
    assert wait_until(lambda: kept(redis) == [], WAIT_S)
    redis.ask("CONFIG", "SET", "maxmemory", "0")
    assert second.comes_to("heard", 1)
    share(pair, "/d")


GARBAGE = [
    ("SET", "{key}", "garbage"),
    ("HSET", "{key}", "names", "\x00\xff"),
    ("HSET", "{key}", "names", "accept-language,x\r\ny"),
    ("HSET", "{key}", "since", "garbage"),
    ("HSET", "{key}", "{field}", ""),
    ("HSET", "{key}", "{field}", "flarec1\n" + "\xff" * 200),
    ("RENAME", "{key}", "elsewhere"),
]


def test_what_others_write(origin, redis, caches):
    first = caches("loop")
    seen: set[str] = set()
    for number, garbage in enumerate(GARBAGE):
        path = f"/a{number}"
        first.ask(path)
        assert first.comes_to("written", number + 1)
        (key,) = set(kept(redis)) - seen
        seen.add(key)
        names = redis.ask("HKEYS", key).decode()
        field = re.search(r"\b[0-9a-f]{32}\b", names)[0]
        redis.ask(*(word.format(key=key, field=field).encode("latin-1") for word in garbage))
        second = caches("loop")
        answer = second.ask(path)
        assert answer.status_code == 200
        assert re.fullmatch(r"call \d+", answer.text)
    # And what tells of removals.
    redis.ask("LPUSH", "cache:removed", "garbage")
    redis.ask("INCR", "cache:removals")
    assert wait_until(lambda: first.figure("reset") >= 1, WAIT_S)
    redis.ask("SET", "cache:removed", "garbage")
    redis.ask("INCR", "cache:removals")
    assert first.comes_to("away", 1)
    assert first.ask("/b").status_code == 200
    redis.ask("DEL", "cache:removed")
    assert first.comes_to("away", 0)


def test_a_handler_on_the_loop_does_not_wait_for_redis(redis, caches, origin):
    """It is quicker than a look-up; but what it makes is shared."""
    first = caches("threads", "threads=0")
    second = caches("threads", "threads=0")
    assert first.ask("/hit").text == "call 1"
    assert first.comes_to("written", 1)
    assert "fwd=uri-miss" in state(second.ask("/hit"))
    assert (second.figure("found"), second.figure("missed")) == (0, 0)


def test_worker_processes(origin, redis, caches):
    """Each connection may fall to another one, and all have what one has."""
    cache = caches("loop", "processes=3")
    first = cache.ask("/a")
    assert wait_until(lambda: len(kept(redis)) == 1, WAIT_S)
    assert {cache.ask("/a").text for _ in range(30)} == {first.text}
    assert len(origin.asked) == 1
    cache.ask("/purge?url=http://test/a")
    assert wait_until(lambda: cache.ask("/a").text == "call 2", WAIT_S)


def test_without_redis_at_the_start(origin, redis, caches):
    redis.kill()
    first = caches("loop")
    assert first.ask("/a").status_code == 200
    redis.start()
    second = caches("loop")
    assert first.comes_to("away", 0)
    share((first, second), "/b")
