"""Whether and how a redirection is followed."""

from flare.bytes.ascii import equals_ignore_case, is_scheme_octet, write_escaped
from flare.bytes.checked import *
from flare.http.client.connect.error import ClientError, Phase, RedirectRefused
from flare.http.message.header_map import HeaderMap
from flare.http.message.status import Status
from flare.url.url import Url

comptime _CREDENTIAL_FIELDS = StaticString(
    "authorization cookie proxy-authorization host"
)
comptime CONTENT_FIELDS = StaticString(
    "content-type content-encoding content-language content-location"
    " content-length content-range content-digest repr-digest digest"
    " last-modified trailer expect"
)
"""What describes content that is left behind (RFC 9110 sections 15.4, 14.5 and
6.6.2, RFC 9530 for digests)."""

comptime CACHE_CONDITIONS = StaticString("if-none-match if-modified-since")
"""What a cache asks the URL that it has a response of, and no other one (RFC 9110
section 15.4)."""


@fieldwise_init
struct RequestOrigin(Equatable, TrivialRegisterPassable):
    """Where redirections have led a request, and what it may be given there."""

    var _number: UInt8

    comptime OWN = RequestOrigin(0)
    """Where it began: it has its credentials."""
    comptime OTHER = RequestOrigin(1)
    """Elsewhere: the credentials it began with are gone."""
    comptime OTHER_BEHIND_TLS = RequestOrigin(2)
    """The same, and it was asked over TLS on the way."""

    comptime COUNT = 3

    def leave(mut self, over_tls: Bool):
        """It goes to another origin, from one that was asked `over_tls` or
        not."""
        if over_tls or self == Self.OTHER_BEHIND_TLS:
            self = Self.OTHER_BEHIND_TLS
        else:
            self = Self.OTHER

    def may_log_in(self, over_tls: Bool) -> Bool:
        """Tells whether it may have a login that is known of the next origin:
        who answers without TLS may send a request on to take a password."""
        return over_tls or self != Self.OTHER_BEHIND_TLS


def is_redirect(status: Status) -> Bool:
    """Tells whether a status leads elsewhere by itself: 301, 302, 303, 307 and
    308 do.

    Source: RFC 9110 section 15.4. 300 wants a choice, 304 is about a copy, and
    305 and 306 are dead.
    """
    var code = status.code
    return 301 <= code <= 303 or code == 307 or code == 308


def redirected_method(status: Status, method: String) -> String:
    """Decides with which method a redirection is followed, for whose status
    `is_redirect` is true. If the method is another one than that of the request
    that was answered, the content is left behind.

    Source: RFC 9110 sections 15.4.2 to 15.4.4, 15.4.8 and 15.4.9: 303 turns all
    into GET; 301 and 302 turn POST into GET, as all clients have done; 307 and
    308 turn nothing.
    """
    if status == 303 and method != "HEAD":
        return "GET"
    if (status == 301 or status == 302) and method == "POST":
        return "GET"
    return method


def redirect_url(base: Url, location: StringSpan) raises ClientError -> Url:
    """Reads where to go from a Location field, by the URL that was asked (RFC
    9110 section 10.2.2). It has the old fragment if it has none of its own.

    Raises if it is no URL, its scheme is neither that of `base` nor `http` or
    `https`, or it holds user name or password other than those of `base`.
    """
    var next = _resolve(base, location)
    var is_web = next.protocol() == "http:" or next.protocol() == "https:"
    if not is_web and not next.has_same_origin(base):
        raise _refused(location, "only http and https are followed")
    # A relative reference has that of `base`.
    var is_own = next.has_same_origin(base) and (
        next.username() == base.username()
        and next.password() == base.password()
    )
    var has_userinfo = next.username().byte_length() > 0
    if not is_own and (has_userinfo or next.password().byte_length() > 0):
        # RFC 9110 section 4.2.4: such a reference is most likely a trap.
        raise _refused(location, "it holds user name or password")
    return next^


def _resolve(base: Url, location: StringSpan) raises ClientError -> Url:
    try:
        var next = Url.parse(location, base)
        # One without an octet is one, too.
        if "#" in String(next) or base.hash().byte_length() == 0:
            return next^
        return Url.parse(String(next, base.hash()))
    except error:
        raise _refused(location, error.reason)


def has_location(headers: HeaderMap) -> Bool:
    """Tells whether a response names a place to go to. A blank Location names
    none, although an empty reference would be the same one (RFC 3986 section
    4.4)."""
    var index = headers.find("location")
    while index >= 0:
        if headers.value(index).byte_length() > 0:
            return True
        index = headers.find("location", index + 1)
    return False


def location_of(headers: HeaderMap) raises ClientError -> String:
    """Reads the Location of a response that has one. Raises if there are two
    that differ.

    Source: RFC 9110 section 10.2.2: there is one. Who is in between may have
    looked at another one than we would.
    """
    var index = headers.find("location")
    if index < 0:
        return String()
    var first = headers.value(index)
    while True:
        index = headers.find("location", index + 1)
        if index < 0:
            return String(first)
        if headers.value(index) != first:
            raise ClientError(
                Phase.REDIRECT,
                RedirectRefused,
                (
                    "there are two Location fields that differ; set"
                    " max_redirects to 0 to see the response"
                ),
            )


def _refused(location: StringSpan, reason: StaticString) -> ClientError:
    var octets = location.as_bytes().as_imm()
    var text = String("Location '")
    # It may be no URL, but hold a password: that ends with the last `@`.
    var start = len(octets)
    while start > 0 and octets.at(start - 1) != 64:
        start -= 1
    if start > 0:
        write_escaped(octets.before(min(_scheme_len(octets), start)), text)
        text.write("...@")
    write_escaped(octets.after(start), text)
    text.write("': ", reason, "; set max_redirects to 0 to see the response")
    return ClientError(Phase.REDIRECT, RedirectRefused, text^)


def _scheme_len(location: Span[UInt8, _]) -> Int:
    """Finds the end of a scheme and the slashes after it; 0 without slashes:
    what looks like a scheme then may be a user name."""
    var end = 0
    while end < len(location) and is_scheme_octet(location.at(end)):
        end += 1
    var is_scheme = (
        end > 0
        and end + 2 < len(location)
        and (
            location.at(end) == 58
            and location.at(end + 1) == 47
            and location.at(end + 2) == 47
        )
    )
    return end + 3 if is_scheme else 0


def drop_credentials(mut headers: HeaderMap):
    """Takes off those of a request's own fields that must not reach another
    origin.

    Source: RFC 9110 section 15.4, RFC 6265 section 8.6 for cookies.
    """
    drop_fields(headers, _CREDENTIAL_FIELDS)


def is_credential(name: StringSpan) -> Bool:
    """Tells whether a field, by its name in any case, must not reach another
    origin: `drop_credentials` takes it off."""
    for own in _CREDENTIAL_FIELDS.split(" "):
        if equals_ignore_case(own.as_bytes(), name.as_bytes()):
            return True
    return False


def drop_fields(mut headers: HeaderMap, names: StaticString):
    for name in names.split(" "):
        _ = headers.remove(name)
