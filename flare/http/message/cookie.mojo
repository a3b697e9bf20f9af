"""Cookies (RFC 6265bis): the value, its rules, and the Cookie field."""

from flare.bytes.ascii import equals_ignore_case, trim_whitespace, write_escaped
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.scan import OctetClass, TCHAR
from flare.http.message.date import append_imf_fixdate
from flare.http.message.header_map import HeaderError

# The last second of the year 9999: HTTP dates have four digits.
comptime _EXPIRES_MAX = 253_402_300_799


struct Cookie(Copyable, Equatable, Movable, Writable):
    """A cookie with its attributes (RFC 6265 section 4.1, with 6265bis).

    What a client sends has a name and a value only. Prints as `name=value`. One
    that a server has set may have no name (RFC 6265bis section 5.6).
    """

    var name: String
    """The name, a token; case-sensitive."""
    var value: String
    """The value as it is sent, visible ASCII without `",;\\`; quotes around it are
    part of it."""
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

    @no_inline
    def __deinit__(deinit self):
        return

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
            # Without the value, which is long, and nothing for a log.
            raise CookieError(
                "value",
                String(self.name, "=... (", length, " bytes)"),
                -1,
                "name and value have at most 4,096 bytes; set less",
            )
        if self.expires:
            var expires = self.expires.held()
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
        """Tells whether the cookie keeps what the prefix of its name promises:
        not if the name begins with `__Secure-` or `__Host-` and the attributes
        do not fit, or if there is no name and the value begins so: it would be
        sent as if it were one (section 5.7, step 22).

        Source: RFC 6265bis section 4.1.3.

        Args:
            path: The value of its Path attribute; empty without one.
        """
        if self.name.byte_length() == 0:
            return not (
                has_prefix(self.value, "__Secure-")
                or has_prefix(self.value, "__Host-")
            )
        if has_prefix(self.name, "__Secure-"):
            return self.secure
        if has_prefix(self.name, "__Host-"):
            var is_bound = self.domain.byte_length() == 0 and path == "/"
            return self.secure and is_bound
        return True

    def to_set_cookie_header(self) raises CookieError -> String:
        """Gives the value of a Set-Cookie field, such as `id=42; Path=/;
        Secure`.

        Source: RFC 6265 section 4.1.1.

        Raises:
            CookieError: If a field was changed to what cannot be written.
        """
        self.check()
        var text = String(self)
        if self.expires:
            var date = Buffer()
            append_imf_fixdate(date, self.expires.held())
            text.write("; Expires=", StringSpan(unsafe_from_utf8=date.span()))
        if self.max_age:
            text.write("; Max-Age=", max(self.max_age.held(), 0))
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
        """Writes `name=value`, or the value alone if there is no name.

        Source: RFC 6265bis section 5.8.3."""
        if self.name.byte_length() > 0:
            writer.write(self.name, "=")
        writer.write(self.value)


def parse_cookie_header(text: StringSpan) -> List[Cookie]:
    """Reads the value of a Cookie field: the cookies in its order.

    Args:
        text: As for the other overload.
    """
    return parse_cookie_header(text.as_bytes())


def parse_cookie_header(value: Span[UInt8, _]) -> List[Cookie]:
    """Reads the value of a Cookie field: the cookies in its order.

    Source: RFC 6265 section 5.4, read as kindly as browsers write it: pairs
    between semicolons, whitespace around names and values dropped, a pair
    without `=` or without a name left out. So is one that is not UTF-8, which
    has no say in the others: a page can set a cookie of any octets.

    Args:
        value: The field's value.
    """
    var cookies = List[Cookie]()
    var octets = value.as_imm()
    var start = 0
    while start < len(octets):
        var pair = _CookiePair(octets, start)
        if len(pair.name) > 0:
            _append(cookies, pair.name, pair.value)
        start = pair.next_start
    return cookies^


def find_cookie_value[
    o: ImmOrigin, //
](value: Span[UInt8, o], name: StringSpan) -> Optional[StringSpan[o]]:
    """Finds the first cookie of a name whose value is UTF-8 in the value of a
    Cookie field, without copying it; nothing if there is none.

    Source: RFC 6265 section 5.4; read as `parse_cookie_header` does. The case
    of the name counts.
    """
    var start = 0
    while start < len(value):
        var pair = _CookiePair(value, start)
        if len(pair.name) > 0 and pair.name == name.as_bytes():
            try:
                return StringSpan(from_utf8=pair.value)
            except:
                pass
        start = pair.next_start
    return None


struct _CookiePair[o: ImmOrigin]:
    """The next pair of a Cookie field; what is no pair has an empty name."""

    var name: Span[UInt8, Self.o]
    var value: Span[UInt8, Self.o]
    var next_start: Int

    def __init__(out self, octets: Span[UInt8, Self.o], start: Int):
        var end = start
        var equals_sign = -1
        while end < len(octets) and octets.at(end) != 59:
            if octets.at(end) == 61 and equals_sign < 0:
                equals_sign = end
            end += 1
        self.name = octets.between(start, start)
        self.value = octets.between(end, end)
        self.next_start = end + 1
        if equals_sign >= 0:
            self.name = trim_whitespace(octets.between(start, equals_sign))
            self.value = trim_whitespace(octets.between(equals_sign + 1, end))


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


struct CookieError(Copyable, Movable, Writable):
    """A cookie breaks a rule of RFC 6265 or of those who read cookies."""

    var part: StaticString
    """What is wrong: "name", "value" or an attribute."""
    var text: String
    """The refused text."""
    var offset: Int
    """Where in `text` the offending octet stands, in bytes; -1 if it is the
    whole."""
    var rule: StaticString
    """What is allowed."""

    def __init__(
        out self,
        part: StaticString,
        text: StringSpan,
        offset: Int,
        rule: StaticString,
    ):
        """Describes a refused part."""
        self.part = part
        self.text = String(text)
        self.offset = offset
        self.rule = rule

    @implicit
    def __init__(out self, error: HeaderError):
        """Describes a Set-Cookie field that does not fit into a message.

        Args:
            error: Why not.
        """
        self.part = "field"
        self.text = error.text
        self.offset = -1
        self.rule = "the header block would be too long; set fewer cookies"

    def write_to(self, mut writer: Some[Writer]):
        """Writes the message, with the refused text escaped."""
        writer.write_string(self._message())

    def _message(self) -> String:
        var text = String()
        text.write("cookie ", self.part, " '")
        write_escaped(self.text.as_bytes(), text)
        text.write("': ")
        if self.offset >= 0 and self.offset < self.text.byte_length():
            text.write("octet ", Int(self.text.as_bytes().at(self.offset)))
            text.write(" at byte ", self.offset, " is not allowed; ")
        text.write(self.rule)
        return text^


comptime COOKIE_LEN_MAX = 4_096
"""Most octets of name and value together (RFC 6265bis section 5.7)."""
comptime ATTRIBUTE_LEN_MAX = 1_024
"""Most octets of an attribute's value (RFC 6265bis section 5.6)."""

# RFC 6265 section 4.1.1, cookie-octet.
comptime _COOKIE_OCTET = OctetClass(
    "!#$%&'()*+-./:<=>?@[]^_`{|}~0123456789"
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)
comptime _HOST_OCTET = OctetClass(
    "-._0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)


def check_cookie_name(name: StringSpan) raises CookieError:
    """Checks that a name is a token.

    Source: RFC 6265 section 4.1.1.
    """
    comptime RULE = StaticString(
        "a name is letters, digits and !#$%&'*+-.^_`|~ (RFC 6265 section 4.1.1)"
    )
    if name.byte_length() == 0:
        raise CookieError("name", name, -1, RULE)
    for offset in range(name.byte_length()):
        if not materialize[TCHAR]().contains(name.as_bytes().at(offset)):
            raise CookieError("name", name, offset, RULE)


def check_cookie_value(value: StringSpan) raises CookieError:
    """Checks a value: the octets that RFC 6265 allows, in quotes or without;
    anything else has to be encoded, for instance as hex or base64.

    Source: RFC 6265 section 4.1.1.
    """
    var octets = value.as_bytes()
    var start = 0
    var end = len(octets)
    if end >= 2 and octets.at(0) == 34 and octets.at(end - 1) == 34:
        start = 1
        end -= 1
    for offset in range(start, end):
        if not materialize[_COOKIE_OCTET]().contains(octets.at(offset)):
            raise CookieError(
                "value",
                value,
                offset,
                "a value is visible ASCII without quotes, commas, semicolons"
                " and backslashes: encode it (RFC 6265 section 4.1.1)",
            )


def check_cookie_domain(domain: StringSpan) raises CookieError:
    """Checks a Domain attribute: a host name, its parent domain, or nothing.

    Source: RFC 6265 section 4.1.2.3.
    """
    var octets = domain.as_bytes()
    comptime RULE = StaticString(
        "a domain is a host name without port, such as example.com"
    )
    for offset in range(len(octets)):
        if not materialize[_HOST_OCTET]().contains(octets.at(offset)):
            raise CookieError("Domain", domain, offset, RULE)
        if octets.at(offset) == 46 and (
            offset == 0 or octets.at(offset - 1) == 46
        ):
            raise CookieError("Domain", domain, offset, RULE)
    if len(octets) > 0 and octets.at(len(octets) - 1) == 46:
        raise CookieError("Domain", domain, len(octets) - 1, RULE)
    if len(octets) > 253:
        raise CookieError("Domain", domain, -1, RULE)


def check_cookie_path(path: StringSpan) raises CookieError:
    """Checks a Path attribute: nothing, or a slash and no octet that would end
    it.

    Source: RFC 6265 section 4.1.1, path-value.
    """
    var octets = path.as_bytes()
    comptime RULE = StaticString(
        "a path begins with / and is visible ASCII or spaces without semicolons"
    )
    if len(octets) > ATTRIBUTE_LEN_MAX:
        raise CookieError("Path", path, -1, "a path has at most 1,024 bytes")
    for offset in range(len(octets)):
        var octet = octets.at(offset)
        var is_bad = octet < 32 or octet >= 127 or octet == 59
        if is_bad or (offset == 0 and octet != 47):
            raise CookieError("Path", path, offset, RULE)


def has_prefix(name: StringSpan, prefix: StaticString) -> Bool:
    """Tells whether a cookie's name begins with a prefix such as `__Host-`, in
    any case.

    Source: RFC 6265bis section 4.1.3: a server that ignores case must not be
    fooled by another spelling.
    """
    var octets = name.as_bytes()
    var length = prefix.byte_length()
    if len(octets) < length:
        return False
    return equals_ignore_case(octets.before(length), prefix.as_bytes())


@fieldwise_init
struct SameSite(Equatable, TrivialRegisterPassable, Writable):
    """A cookie's SameSite attribute (RFC 6265bis section 5.6.7)."""

    var code: UInt8
    """A small number, distinct for each value."""

    comptime UNSET = SameSite(0)
    """No attribute: the browser decides, today mostly as `LAX`."""
    comptime STRICT = SameSite(1)
    """Only with requests that the cookie's own site causes."""
    comptime LAX = SameSite(2)
    """Also when a link of another site leads here."""
    comptime NONE = SameSite(3)
    """With all requests; browsers want `Secure` with it."""

    @staticmethod
    def parse(octets: Span[UInt8, _]) -> Self:
        """Reads the attribute's value, in any case; `UNSET` if it is unknown.

        Args:
            octets: The value.
        """
        if equals_ignore_case(octets, "strict".as_bytes()):
            return Self.STRICT
        if equals_ignore_case(octets, "lax".as_bytes()):
            return Self.LAX
        if equals_ignore_case(octets, "none".as_bytes()):
            return Self.NONE
        return Self.UNSET

    def name(self) -> StaticString:
        """Names the setting by the attribute's value; empty for `UNSET`."""
        if self == Self.STRICT:
            return "Strict"
        if self == Self.LAX:
            return "Lax"
        if self == Self.NONE:
            return "None"
        return ""

    def write_to(self, mut writer: Some[Writer]):
        """Writes the name."""
        writer.write(self.name())
