"""The rules for the parts of a cookie that we write."""

from flare.bytes.ascii import equals_ignore_case
from flare.bytes.octet_class import OctetClass, TCHAR
from flare.http.message.cookie_error import CookieError

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

    Args:
        name: The name.

    Raises:
        CookieError: If it is none.
    """
    comptime RULE = StaticString(
        "a name is letters, digits and !#$%&'*+-.^_`|~ (RFC 6265 section 4.1.1)"
    )
    if name.byte_length() == 0:
        raise CookieError("name", name, -1, RULE)
    for offset in range(name.byte_length()):
        if not materialize[TCHAR]().contains(name.as_bytes()[offset]):
            raise CookieError("name", name, offset, RULE)


def check_cookie_value(value: StringSpan) raises CookieError:
    """Checks a value: the octets that RFC 6265 allows, in quotes or without.

    Source: RFC 6265 section 4.1.1.

    Args:
        value: The value; anything else has to be encoded, for instance as hex
            or base64.

    Raises:
        CookieError: If it holds another octet.
    """
    var octets = value.as_bytes()
    var start = 0
    var end = len(octets)
    if end >= 2 and octets[0] == 34 and octets[end - 1] == 34:
        start = 1
        end -= 1
    for offset in range(start, end):
        if not materialize[_COOKIE_OCTET]().contains(octets[offset]):
            raise CookieError(
                "value",
                value,
                offset,
                "a value is visible ASCII without quotes, commas, semicolons"
                " and backslashes: encode it (RFC 6265 section 4.1.1)",
            )


def check_cookie_domain(domain: StringSpan) raises CookieError:
    """Checks a Domain attribute.

    Source: RFC 6265 section 4.1.2.3.

    Args:
        domain: A host name, its parent domain, or nothing.

    Raises:
        CookieError: If it is no name of a host.
    """
    var octets = domain.as_bytes()
    comptime RULE = StaticString(
        "a domain is a host name without port, such as example.com"
    )
    for offset in range(len(octets)):
        if not materialize[_HOST_OCTET]().contains(octets[offset]):
            raise CookieError("Domain", domain, offset, RULE)
        if octets[offset] == 46 and (offset == 0 or octets[offset - 1] == 46):
            raise CookieError("Domain", domain, offset, RULE)
    if len(octets) > 0 and octets[len(octets) - 1] == 46:
        raise CookieError("Domain", domain, len(octets) - 1, RULE)
    if len(octets) > 253:
        raise CookieError("Domain", domain, -1, RULE)


def check_cookie_path(path: StringSpan) raises CookieError:
    """Checks a Path attribute.

    Source: RFC 6265 section 4.1.1, path-value.

    Args:
        path: A path from the root, or nothing.

    Raises:
        CookieError: If it does not begin with a slash, or holds an octet that
            would end it.
    """
    var octets = path.as_bytes()
    comptime RULE = StaticString(
        "a path begins with / and is visible ASCII or spaces without semicolons"
    )
    if len(octets) > ATTRIBUTE_LEN_MAX:
        raise CookieError("Path", path, -1, "a path has at most 1,024 bytes")
    for offset in range(len(octets)):
        var octet = octets[offset]
        var is_bad = octet < 32 or octet >= 127 or octet == 59
        if is_bad or (offset == 0 and octet != 47):
            raise CookieError("Path", path, offset, RULE)


def has_prefix(name: StringSpan, prefix: StaticString) -> Bool:
    """Tells whether a cookie's name begins with a prefix, in any case.

    Source: RFC 6265bis section 4.1.3: a server that ignores case must not be
    fooled by another spelling.

    Args:
        name: The cookie's name.
        prefix: Such as `__Host-`.

    Returns:
        True if it does.
    """
    var octets = name.as_bytes()
    var length = prefix.byte_length()
    if len(octets) < length:
        return False
    return equals_ignore_case(octets[:length], prefix.as_bytes())
