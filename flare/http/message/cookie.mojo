"""Cookies: what a client sends, and what a server sets."""

from flare.bytes.ascii import trim_whitespace
from flare.bytes.buffer import Buffer
from flare.http.message.cookie_check import (
    COOKIE_LEN_MAX,
    check_cookie_domain,
    check_cookie_name,
    check_cookie_path,
    check_cookie_value,
    has_prefix,
)
from flare.http.message.cookie_error import CookieError
from flare.http.message.date import append_imf_fixdate
from flare.http.message.same_site import SameSite

# The last second of the year 9999: HTTP dates have four digits.
comptime _EXPIRES_MAX = 253_402_300_799


struct Cookie(Copyable, Equatable, Movable, Writable):
    """A cookie with its attributes (RFC 6265 section 4.1, with 6265bis).

    What a client sends has a name and a value only. Prints as `name=value`.
    """

    var name: String
    """The name, case-sensitive."""
    var value: String
    """The value as it is sent; quotes around it are part of it."""
    var domain: String
    """The domain whose hosts get the cookie; empty for the one host alone."""
    var path: String
    """The path below which it is sent; empty for the folder of the request."""
    var max_age: Optional[Int]
    """How long it lasts, in seconds; 0 or less deletes it. Wins over
    `expires`; with neither, it lasts for a session."""
    var expires: Optional[Int]
    """When it ends, in seconds since 1970-01-01 00:00:00 UTC."""
    var secure: Bool
    """Whether it is sent over secure connections alone."""
    var http_only: Bool
    """Whether it is kept from scripts."""
    var same_site: SameSite
    """When it is sent along with what other sites cause."""
    var partitioned: Bool
    """Whether each site that embeds another gets a cookie of its own."""

    def __init__(
        out self,
        var name: String,
        var value: String,
        *,
        var domain: String = String(),
        var path: String = String(),
        max_age: Optional[Int] = None,
        expires: Optional[Int] = None,
        secure: Bool = False,
        http_only: Bool = False,
        same_site: SameSite = SameSite.UNSET,
        partitioned: Bool = False,
    ) raises CookieError:
        """Makes a cookie to set.

        Args:
            name: The name, a token.
            value: The value: visible ASCII without `",;\\`.
            domain: The domain whose hosts get it; empty for the one host.
            path: The path below which it is sent; empty for the folder of the
                request.
            max_age: How long it lasts, in seconds; 0 deletes it.
            expires: When it ends, in seconds since 1970-01-01 00:00:00 UTC.
            secure: Whether it is sent over secure connections alone.
            http_only: Whether it is kept from scripts.
            same_site: When it is sent along with what other sites cause.
            partitioned: Whether each embedding site gets a cookie of its own.

        Raises:
            CookieError: If a part cannot be written, or browsers would not
                take it.
        """
        self.name = name^
        self.value = value^
        self.domain = domain^
        self.path = path^
        self.max_age = max_age
        self.expires = expires
        self.secure = secure
        self.http_only = http_only
        self.same_site = same_site
        self.partitioned = partitioned
        self.check()

    def __init__(
        out self, *, var received_name: String, var received_value: String
    ):
        """Makes a cookie that a peer sent, without attributes, unchecked.

        Args:
            received_name: The name.
            received_value: The value.
        """
        self.name = received_name^
        self.value = received_value^
        self.domain = String()
        self.path = String()
        self.max_age = None
        self.expires = None
        self.secure = False
        self.http_only = False
        self.same_site = SameSite.UNSET
        self.partitioned = False

    def check(self) raises CookieError:
        """Checks that the cookie can be set.

        Source: RFC 6265 section 4.1.1, and what browsers refuse: RFC 6265bis
        sections 4.1.3 (prefixes) and 5.7 (length).

        Raises:
            CookieError: If a part breaks its rule, or does not go with another.
        """
        check_cookie_name(self.name)
        check_cookie_value(self.value)
        check_cookie_domain(self.domain)
        check_cookie_path(self.path)
        var length = self.name.byte_length() + self.value.byte_length()
        if length > COOKIE_LEN_MAX:
            raise CookieError(
                "value",
                self.value,
                -1,
                "name and value have at most 4,096 bytes",
            )
        if self.expires:
            var expires = self.expires.value()
            if expires < 0 or expires > _EXPIRES_MAX:
                raise CookieError(
                    "Expires",
                    String(expires),
                    -1,
                    "a date lies in the years 1970 to 9999; to delete, use 0",
                )
        self._check_together()

    def _check_together(self) raises CookieError:
        if not self.secure and self.same_site == SameSite.NONE:
            raise CookieError(
                "SameSite", "None", -1, "it needs Secure; browsers refuse it"
            )
        if not self.secure and self.partitioned:
            raise CookieError(
                "Partitioned", "", -1, "it needs Secure; browsers refuse it"
            )
        if not self.keeps_prefix(self.path):
            raise CookieError(
                "name",
                self.name,
                -1,
                "__Secure- needs Secure; __Host- needs Secure, Path=/ and no"
                " Domain (RFC 6265bis section 4.1.3)",
            )

    def keeps_prefix(self, path: StringSpan) -> Bool:
        """Tells whether the cookie keeps what the prefix of its name promises.

        Source: RFC 6265bis section 4.1.3.

        Args:
            path: The path below which it is sent.

        Returns:
            False if the name begins with `__Secure-` or `__Host-` and the
            attributes do not fit.
        """
        if has_prefix(self.name, "__Secure-"):
            return self.secure
        if has_prefix(self.name, "__Host-"):
            var is_bound = self.domain.byte_length() == 0 and path == "/"
            return self.secure and is_bound
        return True

    def to_set_cookie_header(self) raises CookieError -> String:
        """Writes the value of a Set-Cookie field.

        Source: RFC 6265 section 4.1.1.

        Returns:
            Such as `id=42; Path=/; Secure`.

        Raises:
            CookieError: If a field was changed to what cannot be written.
        """
        self.check()
        var text = String(self)
        if self.expires:
            var date = Buffer()
            append_imf_fixdate(date, self.expires.value())
            text.write("; Expires=", StringSpan(unsafe_from_utf8=date.span()))
        if self.max_age:
            text.write("; Max-Age=", max(self.max_age.value(), 0))
        if self.domain.byte_length() > 0:
            text.write("; Domain=", self.domain)
        if self.path.byte_length() > 0:
            text.write("; Path=", self.path)
        if self.secure:
            text.write("; Secure")
        if self.http_only:
            text.write("; HttpOnly")
        if self.same_site != SameSite.UNSET:
            text.write("; SameSite=", self.same_site)
        if self.partitioned:
            text.write("; Partitioned")
        return text^

    def write_to(self, mut writer: Some[Writer]):
        """Writes `name=value`.

        Args:
            writer: Where to.
        """
        writer.write(self.name, "=", self.value)


def parse_cookie_header(text: StringSpan) -> List[Cookie]:
    """Reads the value of a Cookie field.

    Args:
        text: As for the other overload.

    Returns:
        The cookies in the order of the field.
    """
    return parse_cookie_header(text.as_bytes())


def parse_cookie_header(value: Span[UInt8, _]) -> List[Cookie]:
    """Reads the value of a Cookie field.

    Source: RFC 6265 section 5.4, read as kindly as browsers write it: pairs
    between semicolons, whitespace around names and values dropped, a pair
    without `=` or without a name left out. So is one that is not UTF-8, which
    has no say in the others: a page can set a cookie of any octets.

    Args:
        value: The field's value.

    Returns:
        The cookies in the order of the field.
    """
    var cookies = List[Cookie]()
    var octets = value.as_imm()
    var start = 0
    while start < len(octets):
        var end = start
        var equals_sign = -1
        while end < len(octets) and octets[end] != 59:
            if octets[end] == 61 and equals_sign < 0:
                equals_sign = end
            end += 1
        if equals_sign >= 0:
            var name = trim_whitespace(octets[start:equals_sign])
            var value = trim_whitespace(octets[equals_sign + 1 : end])
            if len(name) > 0:
                _append(cookies, name, value)
        start = end + 1
    return cookies^


def _append(
    mut cookies: List[Cookie], name: Span[UInt8, _], value: Span[UInt8, _]
):
    """Adds a cookie, unless it is no text."""
    try:
        cookies.append(
            Cookie(
                received_name=String(from_utf8=name),
                received_value=String(from_utf8=value),
            )
        )
    except:
        return
