"""Fuzzes the cookie jar: whatever hosts set, no cookie reaches a host or a plain
connection that must not have it, and a plain one comes back."""

from flare.http.cookie.jar import CookieJar, DOMAIN_COOKIE_COUNT_MAX
from flare.http.cookie.set_cookie import parse_set_cookie_header
from flare.url.url import Url
from fuzz.engine import Target, fuzz_main

# A URL, and a letter for the site it belongs to.
comptime SITES = StaticString(
    "a http://a.example.com/x/y a https://a.example.com/x/"
    " a https://example.com/ b http://10.0.0.1/x c http://localhost/"
    " d https://other.net/x/y/z e http://1.net/ f http://badexample.com/"
)


def _is_secure(set_cookie: StringSpan) -> Bool:
    try:
        return parse_set_cookie_header(set_cookie).secure
    except:
        return False


@fieldwise_init
struct CookieJarTarget(Target):
    """One line of attributes for each response; its first octet chooses the
    host. A cookie's value says which site set it, and whether it is secure."""

    var urls: List[Url]
    var sites: List[String]

    def seeds(self) -> List[String]:
        """Lists responses."""
        return [
            "0; domain=example.com\n1; secure; path=/x\n2\n5;domain=net",
            "1; max-age=2\n3; domain=0.0.1\n4; domain=localhost\n6;path=/",
        ]

    def tokens(self) -> List[String]:
        """Lists what responses are made of."""
        return ["\n", "; secure", "; path=/x", "; domain=.com", "; max-age=0"]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Stores every line, and looks at what would be sent where."""
        var jar = CookieJar()
        var now_s = 1_000
        for line in String(from_utf8_lossy=input).splitlines():
            if line.byte_length() == 0:
                continue
            now_s += 1
            var host = Int(line.as_bytes()[0]) % len(self.urls)
            var rest = String(unsafe_from_utf8=line.as_bytes()[1:])
            var name = String("k", now_s % 5, "=")
            var kind = "+" if _is_secure(name + rest) else "-"
            var value = String(name, self.sites[host], kind, rest)
            if jar.store(self.urls[host], value, now_s):
                self.check_kept(jar, host, value, now_s)
            for index in range(len(self.urls)):
                self.check(jar, index, now_s)

    def check_kept(
        self, mut jar: CookieJar, host: Int, value: String, now_s: Int
    ) raises:
        """A cookie without attributes goes back to where it came from (RFC 6265
        section 5.4), unless there were too many."""
        if ";" in value or len(jar) >= DOMAIN_COOKIE_COUNT_MAX:
            return
        var cookie = String(parse_set_cookie_header(value))
        var header = jar.header_for(self.urls[host], now_s)
        if String("; ", header, "; ").find(String("; ", cookie, "; ")) < 0:
            raise Error("lost: ", cookie, "; sent: ", header)

    def check(self, mut jar: CookieJar, index: Int, now_s: Int) raises:
        """Checks the field of one request."""
        var header = jar.header_for(self.urls[index], now_s)
        var is_plain = self.urls[index].protocol() == "http:"
        for pair in header.split("; "):
            var octets = pair.as_bytes()
            if len(octets) == 0:
                continue
            # `k0=a-` and what the input put behind it.
            if len(octets) < 5 or octets[3] != self.sites[index].as_bytes()[0]:
                raise Error("it is another site's: ", pair)
            if is_plain and octets[4] == 43:
                raise Error("it is secure: ", pair)


def main() raises:
    """Runs the target."""
    var urls = List[Url]()
    var sites = List[String]()
    var words = materialize[SITES]().split(" ")
    for index in range(0, len(words), 2):
        sites.append(String(words[index]))
        urls.append(Url.parse(words[index + 1]))
    fuzz_main("cookie_jar", CookieJarTarget(urls^, sites^))
