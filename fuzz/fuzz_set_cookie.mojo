"""Fuzzes the Set-Cookie field and its dates: what is written is read again."""

from flare.bytes.buffer import Buffer
from flare.http.cookie.set_cookie import parse_set_cookie_header
from flare.http.message.cookie import Cookie, CookieError
from flare.http.message.date import append_imf_fixdate, parse_cookie_date
from fuzz.engine import Target, fuzz_main


def _check_date(input: Span[UInt8, _]) raises:
    var unix_s = parse_cookie_date(input).or_else(-1)
    if unix_s >= 0:
        var written = Buffer()
        append_imf_fixdate(written, unix_s)
        if parse_cookie_date(written.span()).or_else(-1) != unix_s:
            raise Error("another date: ", unix_s)


def _round_trip(cookie: Cookie) raises CookieError -> Bool:
    var again = parse_set_cookie_header(cookie.to_set_cookie_header())
    again.max_age = cookie.max_age
    return again == cookie


@fieldwise_init
struct SetCookieTarget(Target):
    """Round trip of what can be written."""

    def seeds(self) -> List[String]:
        """Lists fields."""
        return [
            "a=b; Path=/; Domain=.c.d; Max-Age=3; Secure; HttpOnly",
            "__Host-a=b; Path=/; secure; SameSite=None; Partitioned",
            "a=b; expires=Sun, 06-Nov-94 08:49:37 GMT",
            "1 jan 70 0:0:0",
        ]

    def tokens(self) -> List[String]:
        """Lists what fields are made of."""
        return ["=", "; ", "Domain=", "path=/", "max-age=-1", "29 Feb", "69"]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Reads the input as a field and as a date."""
        _check_date(input)
        var cookie: Cookie
        try:
            cookie = parse_set_cookie_header(StringSpan(unsafe_from_utf8=input))
        except error:
            if error.offset >= len(input):
                raise Error("offset outside of the field: ", error)
            return
        var is_same: Bool
        try:
            is_same = _round_trip(cookie)
        except:
            # Peers send what we would not write.
            return
        if not is_same:
            raise Error("changed by a round trip: ", cookie)


def main() raises:
    """Runs the target."""
    fuzz_main("set_cookie", SetCookieTarget())
