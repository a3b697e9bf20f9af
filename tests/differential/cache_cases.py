"""Generated responses and later requests for the rules of caches."""

import json
from random import Random

# As in answer_cache.mojo: 2024-01-01.
DATES = [
    "Mon, 01 Jan 2024 00:00:00 GMT", "Sun, 31 Dec 2023 23:59:00 GMT", "Mon, 01 Jan 2024 00:01:40 GMT",
    "Fri, 22 Dec 2023 00:00:00 GMT", "Mon, 01 Jan 2024 01:00:00 GMT", "0", "x", "-1",
]
TOLD = [
    *("max-age=60", "max-age=0", "s-maxage=30", "s-maxage=0", "public", "private", "no-cache", "no-store", "must-revalidate"),
    *("proxy-revalidate", "immutable", "stale-while-revalidate=100", "stale-if-error=100", "max-age=x", 'max-age="60"', "max-age=-5", "max-age=1.5"),
    *('no-cache="x-a"', 'private="set-cookie"', "must-understand", "no-transform", "max-age", "MAX-AGE=20", "max-age=60, max-age=10", "x", "", "max-age=99999999999", "only-if-cached"),
]
ASKED = ["no-cache", "no-store", "max-age=0", "max-age=30", "max-stale", "max-stale=50", "min-fresh=20", "only-if-cached", "max-stale=x", "x", "max-age=x"]
VARIES = ["accept", "Accept, X-A", "*", "", "x-a, *", "accept-language"]
STATUSES = [200, 200, 200, 200, 200, 203, 204, 206, 300, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 405, 410, 414, 500, 501, 503, 299, 418, 100, 599]


def told(random: Random, words: list[str]) -> str:
    count = random.choice((1, 1, 1, 2, 2, 3))
    return random.choice((", ", ", ", ",", " , ")).join(random.choice(words) for _ in range(count))


def some(random: Random, share: float) -> bool:
    return random.random() < share


def cache_case(random: Random) -> bytes:
    response, request, asked = {}, {}, {}
    if some(random, 0.8):
        response["cache-control"] = told(random, TOLD[:12] if some(random, 0.7) else TOLD)
    if some(random, 0.6):
        response["date"] = random.choice(DATES[:5] if some(random, 0.9) else DATES)
    if some(random, 0.2):
        response["expires"] = random.choice(DATES)
    if some(random, 0.3):
        response["last-modified"] = random.choice(DATES)
    if some(random, 0.2):
        response["etag"] = '"v1"'
    if some(random, 0.15):
        response["age"] = random.choice(("10", "0", "100", "x", "-1", "1.5", "10, 20", "99999999999", ""))
    if some(random, 0.2):
        response["vary"] = random.choice(VARIES)
    if some(random, 0.08):
        response["set-cookie"] = "a=b"
    if some(random, 0.06):
        response["pragma"] = "no-cache"
    if some(random, 0.12):
        request["authorization"] = "Basic x"
    if some(random, 0.1):
        request["cache-control"] = told(random, ASKED)
    if some(random, 0.2):
        request["accept"] = random.choice(("a/b", "c/d", "a/b, c/d"))
        if some(random, 0.8):
            asked["accept"] = random.choice((request["accept"], "a/b"))
    if some(random, 0.1):
        asked["x-a"] = "1"
    if some(random, 0.25):
        asked["cache-control"] = told(random, ASKED)
    if some(random, 0.05):
        asked["pragma"] = "no-cache"
    case = {
        "shared": some(random, 0.6),
        "request": request,
        "status": random.choice(STATUSES),
        "response": response,
        "later": random.choice((0, 0, 5, 20, 29, 30, 31, 59, 60, 61, 100, 150, 161, 100000)),
        "asked": asked,
    }
    return json.dumps(case).encode()
