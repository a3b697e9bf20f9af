"""Cookies: HEX(url) HEX(url of a request) HEX(Set-Cookie value) ... to `OK` and
the Cookie field of that request in hex, or `OK -`."""

from flare.http.cookie.jar import CookieJar
from flare.url.url import Url
from tests.vectors.hex_text import hex_of, octets_of

# The dates in the suite are old: it is 2011-04-01 here.
comptime _NOW_S = 1_301_616_000


def run_cookie(line: StringSpan) raises -> String:
    """Runs one case."""
    var fields = line.split(" ")
    if len(fields) < 2:
        raise Error("two fields are needed at least: ", line)
    var url = Url.parse(String(from_utf8_lossy=octets_of(fields[0])))
    var jar = CookieJar()
    for index in range(2, len(fields)):
        var value = String(unsafe_from_utf8=octets_of(fields[index]))
        _ = jar.store(url, value, _NOW_S)
    var request = Url.parse(String(from_utf8_lossy=octets_of(fields[1])))
    return String("OK ", hex_of(jar.header_for(request, _NOW_S).as_bytes()))
