"""Cookies that a client keeps: the jar, and which of them match a request (RFC 6265bis section 5)."""

from flare.bytes.checked import *
from flare.bytes.copy import text_of
from flare.bytes.never import NEVER
from flare.http.cookie.set_cookie import parse_set_cookie_header
from flare.http.cookie.suffix import is_public_suffix
from flare.http.message.cookie import Cookie, CookieError
from flare.net.ip import is_ip_address
from flare.url.url import Url

comptime COOKIE_COUNT_MAX = 3_000
"""Most cookies of a jar (RFC 6265 section 6.1 asks for at least as many)."""
comptime DOMAIN_COOKIE_COUNT_MAX = 50
"""Most cookies of one domain (RFC 6265 section 6.1 asks for at least as many).
"""
comptime LIFETIME_S_MAX = 400 * 86_400
"""Longest that a cookie is kept, in seconds (RFC 6265bis section 5.5)."""


@fieldwise_init
struct _Entry(Copyable, Movable):
    """A cookie in a jar; its path is filled in."""

    var cookie: Cookie
    # The host it came from, or its domain; empty if it is for no host.
    var domain: String
    var is_host_only: Bool
    var expiry_s: Int
    # Counted, not clocked, so that order does not hang on a clock's steps.
    var created: Int
    var used: Int

    def is_same(self, other: Self) -> Bool:
        """Tells whether one replaces the other."""
        return (
            self.cookie.name == other.cookie.name
            and self.domain == other.domain
            and self.is_host_only == other.is_host_only
            and self.cookie.path == other.cookie.path
        )

    def is_for(self, url: Url) -> Bool:
        """Tells whether the cookie goes to a URL (RFC 6265 section 5.4)."""
        if self.domain.byte_length() == 0:
            return False
        if self.cookie.secure and not _is_secure(url):
            return False
        if self.is_host_only:
            if url.hostname() != self.domain:
                return False
        elif not domain_matches(url.hostname(), self.domain):
            return False
        return path_matches(url.pathname(), self.cookie.path)


struct CookieJar(Copyable, Movable, Sized):
    """Cookies with the rules for storing and sending them (RFC 6265 section 5).

    The clock is the caller's: every call that depends on the time takes it, in
    seconds since 1970. SameSite is kept but not enforced, as there is no page
    that causes requests. A cookie for a public suffix, such as `com`, `co.uk` or
    `github.io`, is refused unless it comes from that very host, and is for that
    host alone then.
    """

    var _entries: List[_Entry]
    var _count: Int
    # As a value, so that a program without a jar has no list in its build.
    var _is_suffix: def(String) thin -> Bool

    def __init__(out self):
        """Makes an empty jar."""
        self._entries = List[_Entry]()
        self._count = 0
        self._is_suffix = is_public_suffix

    def __len__(self) -> Int:
        """Counts the cookies.

        Returns:
            How many there are, those that ended since the last call included.
        """
        return len(self._entries)

    def clear(mut self):
        """Drops all cookies."""
        self._entries.clear()

    def set(mut self, cookie: Cookie) raises CookieError:
        """Puts a cookie of one's own in, replacing one of the same name.

        Without a domain it is for `to_request_header` alone and goes to no URL:
        `store_cookie` binds a cookie to a host. With `max_age` of 0 it removes
        one.

        Raises:
            CookieError: If it cannot be sent.
        """
        _check_sendable("name", cookie.name)
        _check_sendable("value", cookie.value)
        var expiry_s = cookie.expires.or_else(NEVER)
        if cookie.max_age:
            expiry_s = NEVER if cookie.max_age.value() > 0 else -1
        # URLs have their hosts in lower case (RFC 6265 section 5.1.2).
        var domain = cookie.domain.lower()
        var entry = _Entry(cookie.copy(), domain^, False, expiry_s, 0, 0)
        if entry.cookie.path.byte_length() == 0:
            entry.cookie.path = "/"
        self._put(entry^, 0)

    def to_request_header(self) -> String:
        """Writes all cookies, whatever they are for, as a Cookie field.

        Returns:
            The field's value, such as `a=b; c=d`; empty if there is none.
        """
        var indices = List[Int]()
        for index in range(len(self._entries)):
            indices.append(index)
        return self._written(indices^)

    def store(mut self, url: Url, set_cookie: StringSpan, now_s: Int) -> Bool:
        """Stores what a response sets, unless it must not.

        Args:
            url: Where the response came from.
            set_cookie: The value of one Set-Cookie field line.

        Returns:
            False if the cookie is ignored.
        """
        try:
            var cookie = parse_set_cookie_header(set_cookie)
            return self.store_cookie(url, cookie, now_s)
        except:
            return False

    def store_cookie(mut self, url: Url, cookie: Cookie, now_s: Int) -> Bool:
        """Stores a cookie for a host as if the host had set it.

        Source: RFC 6265 section 5.3, with 6265bis for prefixes, for public
        suffixes (section 5.7), and for secure cookies: a plain connection
        neither sets nor replaces them.

        Args:
            url: A URL of the host.
            cookie: The cookie.

        Returns:
            False if the cookie is ignored. One that has ended already removes
            its predecessor.
        """
        var host = String(url.hostname())
        if host.byte_length() == 0 or (cookie.secure and not _is_secure(url)):
            return False
        var entry = _Entry(cookie.copy(), host, True, NEVER, 0, 0)
        if cookie.domain.byte_length() > 0:
            var domain = cookie.domain.lower()
            if not domain_matches(host, domain):
                return False
            var is_suffix = self._is_suffix(domain)
            if is_suffix and host != domain:
                return False
            # A suffix, one label, or an address: no other host can be meant.
            entry.is_host_only = (
                is_suffix or is_top_level(host) or is_ip_host(host)
            )
            entry.domain = domain^
        if cookie.path.byte_length() == 0:
            entry.cookie.path = default_path(url.pathname())
        # The path that the server has named, for a default is none of its promises.
        if not cookie.keeps_prefix(cookie.path):
            return False
        if not _is_secure(url) and self._hides_secure(entry):
            return False
        entry.expiry_s = _expiry_s(cookie, now_s)
        self._put(entry^, now_s)
        return True

    def header_for(mut self, url: Url, now_s: Int) -> String:
        """Writes the Cookie field of a request.

        Source: RFC 6265 section 5.4.

        Args:
            url: Where the request goes.
            now_s: The time, in seconds since 1970-01-01 00:00:00 UTC.

        Returns:
            The field's value, longer paths first, then older cookies; empty if
            there is none to send.
        """
        self._drop_ended(now_s)
        var indices = List[Int]()
        for index in range(len(self._entries)):
            if self._entries.at(index).is_for(url):
                self._count += 1
                self._entries.at(index).used = self._count
                indices.append(index)
        return self._written(indices^)

    def _written(self, var indices: List[Int]) -> String:
        # Insertion from the left; a jar's cookies for one URL are few.
        for end in range(1, len(indices)):
            var place = end
            while place > 0 and self._comes_before(
                indices[place], indices[place - 1]
            ):
                indices.swap_elements(place, place - 1)
                place -= 1
        var text = String()
        for index in indices:
            if text.byte_length() > 0:
                text.write("; ")
            text.write(self._entries.at(index).cookie)
        return text^

    def _comes_before(self, left: Int, right: Int) -> Bool:
        ref a = self._entries.at(left)
        ref b = self._entries.at(right)
        var a_len = a.cookie.path.byte_length()
        var b_len = b.cookie.path.byte_length()
        if a_len != b_len:
            return a_len > b_len
        return a.created < b.created

    def _hides_secure(self, entry: _Entry) -> Bool:
        """Tells whether a cookie would stand before a secure one of its name."""
        for ref other in self._entries:
            if (
                not other.cookie.secure
                or other.cookie.name != entry.cookie.name
            ):
                continue
            if (
                domain_matches(entry.domain, other.domain)
                or domain_matches(other.domain, entry.domain)
            ) and path_matches(entry.cookie.path, other.cookie.path):
                return True
        return False

    def _put(mut self, var entry: _Entry, now_s: Int):
        """Adds, replaces or, if the cookie has ended, removes."""
        self._count += 1
        entry.created = self._count
        entry.used = self._count
        for index in range(len(self._entries)):
            if self._entries.at(index).is_same(entry):
                entry.created = self._entries.at(index).created
                _ = self._entries.pop(index)
                break
        if entry.expiry_s <= now_s:
            return
        var domain = entry.domain
        self._entries.append(entry^)
        self._make_room(domain, now_s)

    def _make_room(mut self, domain: String, now_s: Int):
        """Evicts what is beyond the limits (RFC 6265bis section 5.7)."""
        var count = 0
        for ref entry in self._entries:
            if entry.domain == domain:
                count += 1
        if count <= DOMAIN_COOKIE_COUNT_MAX:
            if len(self._entries) <= COOKIE_COUNT_MAX:
                return
        self._drop_ended(now_s)
        count = 0
        for ref entry in self._entries:
            if entry.domain == domain:
                count += 1
        if count > DOMAIN_COOKIE_COUNT_MAX:
            self._evict(domain)
        if len(self._entries) > COOKIE_COUNT_MAX:
            self._evict("")

    def _evict(mut self, domain: String):
        """Drops the cookie used longest ago, plain ones before secure ones."""
        var chosen = -1
        for index in range(len(self._entries)):
            ref entry = self._entries.at(index)
            if domain.byte_length() > 0 and entry.domain != domain:
                continue
            if chosen < 0:
                chosen = index
                continue
            ref best = self._entries[chosen]
            if domain.byte_length() > 0:
                if entry.cookie.secure != best.cookie.secure:
                    if best.cookie.secure:
                        chosen = index
                    continue
            if entry.used < best.used:
                chosen = index
        if chosen >= 0:
            _ = self._entries.pop(chosen)

    def _drop_ended(mut self, now_s: Int):
        var index = 0
        while index < len(self._entries):
            if self._entries.at(index).expiry_s <= now_s:
                _ = self._entries.pop(index)
            else:
                index += 1


def _is_secure(url: Url) -> Bool:
    var protocol = url.protocol()
    return protocol == "https:" or protocol == "wss:"


def _expiry_s(cookie: Cookie, now_s: Int) -> Int:
    """Finds when a cookie ends (RFC 6265 section 5.3, step 3)."""
    if cookie.max_age:
        var max_age = min(cookie.max_age.value(), LIFETIME_S_MAX)
        return now_s + max_age if max_age > 0 else now_s
    if cookie.expires:
        return min(cookie.expires.value(), now_s + LIFETIME_S_MAX)
    return NEVER


def _check_sendable(part: StaticString, text: String) raises CookieError:
    """Checks that a text ends neither its pair nor its line."""
    var octets = text.as_bytes()
    if len(octets) == 0 and part == "name":
        raise CookieError(part, text, -1, "a cookie needs a name")
    for offset in range(len(octets)):
        var octet = octets.at(offset)
        var is_separator = octet == 59 or (octet == 61 and part == "name")
        if octet < 32 or octet == 127 or is_separator:
            raise CookieError(
                part, text, offset, "no control octets and no semicolons"
            )


def is_ip_host(host: StringSpan) -> Bool:
    """Tells whether a URL's host is an IP address: IPv4, or IPv6 in brackets."""
    var octets = host.as_bytes()
    if len(octets) > 0 and octets.at(0) == 91:
        return True
    return is_ip_address(host)


def is_top_level(domain: StringSpan) -> Bool:
    """Tells whether a domain is one label, such as `com` or `localhost`; a dot
    at its end does not count."""
    var octets = domain.as_bytes()
    for index in range(len(octets) - 1):
        if octets.at(index) == 46:
            return False
    return True


def domain_matches(host: StringSpan, domain: StringSpan) -> Bool:
    """Tells whether a host is in a domain: equal to it, or a name that ends
    with it after a dot. Both are in lower case.

    Source: RFC 6265 section 5.1.3. A top level holds no host but itself.
    """
    if host == domain:
        return True
    var longer = host.as_bytes()
    var shorter = domain.as_bytes()
    var start = len(longer) - len(shorter)
    if len(shorter) == 0 or start < 2 or longer.at(start - 1) != 46:
        return False
    for index in range(len(shorter)):
        if longer.at(start + index) != shorter.at(index):
            return False
    return not is_top_level(domain) and not is_ip_host(host)


def default_path(path: StringSpan) -> String:
    """Finds the folder of a URL's path, up to its last slash without that; at
    least `/`.

    Source: RFC 6265 section 5.1.4.
    """
    var octets = path.as_bytes()
    var end = len(octets) - 1
    while end > 0 and octets.at(end) != 47:
        end -= 1
    if end <= 0 or octets.at(0) != 47:
        return "/"
    return text_of(octets.before(end))


def path_matches(path: StringSpan, cookie_path: StringSpan) -> Bool:
    """Tells whether a request's path is a cookie's, or goes on after a slash.

    Source: RFC 6265 section 5.1.4.
    """
    var longer = path.as_bytes()
    var shorter = cookie_path.as_bytes()
    if len(longer) < len(shorter) or len(shorter) == 0:
        return False
    for index in range(len(shorter)):
        if longer.at(index) != shorter.at(index):
            return False
    if len(longer) == len(shorter) or shorter.at(len(shorter) - 1) == 47:
        return True
    return longer.at(len(shorter)) == 47
