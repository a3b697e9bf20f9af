# 13 Cookies: set them as a server, keep them as a client.
#
# Expected output:
#   id=42; Max-Age=3600; Path=/; Secure; HttpOnly; SameSite=Lax
#   id is 42 for 3600 seconds
#   cookie value 'a b': octet 32 at byte 1 is not allowed; *
#   session=abc
#   to the shop: cart=7; id=42
#   to its plain twin: theme=dark
#   to another site: nothing
#   an hour later: cart=7
#   a handler reads id=42

from flare.http import Cookie, CookieJar, Url, ok, parse_set_cookie_header
from flare.http.message import OwnedRequest, SameSite


def main() raises:
    # A server sets one on its response. What cannot be written is refused.
    var cookie = Cookie(
        "id",
        "42",
        path="/",
        max_age=3600,
        secure=True,
        http_only=True,
        same_site=SameSite.LAX,
    )
    var response = ok("hello")
    response.set_cookie(cookie)
    print(response.headers["Set-Cookie"])
    var received = parse_set_cookie_header(response.headers["Set-Cookie"])
    print(received.name, "is", received.value, "for", received.max_age, end="")
    print(" seconds")
    try:
        _ = Cookie("id", "a b")
    except error:
        print(error)

    # A jar of one's own cookies.
    var own = CookieJar()
    own.set(Cookie("session", "abc", secure=True, http_only=True))
    print(own.to_request_header())

    # A client's jar keeps hosts apart; the clock is the caller's.
    var jar = CookieJar()
    var shop = Url.parse("https://shop.example.com/cart/add")
    var twin = Url.parse("http://www.example.com/")
    var now_s = 1_700_000_000
    _ = jar.store(shop, response.headers["Set-Cookie"], now_s)
    _ = jar.store(shop, "cart=7", now_s)
    _ = jar.store(twin, "theme=dark", now_s)
    _ = jar.store(twin, "evil=1; Domain=com", now_s)
    print("to the shop:", jar.header_for(shop, now_s))
    print("to its plain twin:", jar.header_for(twin, now_s))
    var sent = jar.header_for(Url.parse("https://example.net/"), now_s)
    print("to another site:", "nothing" if sent == "" else sent)
    print("an hour later:", jar.header_for(shop, now_s + 3_600))

    var request = OwnedRequest("GET", "/")
    request.add_header("Cookie", "id=42")
    print("a handler reads", request.view().cookies()[0])
