"""The Set-Cookie field as clients read it."""

from flare.bytes.ascii import (
    ascii_lower,
    equals_ignore_case,
    find_octet,
    trim_whitespace,
)
from flare.bytes.checked import *
from flare.bytes.copy import text_of
from flare.bytes.digits import read_saturated
from flare.http.message.cookie import (
    ATTRIBUTE_LEN_MAX,
    COOKIE_LEN_MAX,
    Cookie,
    CookieError,
    SameSite,
)
from flare.http.message.date import parse_cookie_date

# Beyond this no clock goes; it keeps sums with a clock in range.
comptime _MAX_AGE_MAX = 1 << 40


def parse_set_cookie_header(text: StringSpan) raises CookieError -> Cookie:
    """Reads the value of a Set-Cookie field.

    Source: RFC 6265bis section 5.6. Attributes that are unknown or make no
    sense are left out, as browsers do. A cookie may have no name: what stands
    without `=`, or behind one alone, is its value.

    Args:
        text: The field's value.

    Returns:
        The cookie; its domain in lower case without a leading dot, its path
        empty unless it begins with a slash.

    Raises:
        CookieError: If there is neither name nor value, a control octet, or name
            and value have more than `COOKIE_LEN_MAX` octets.
    """
    var octets = text.as_bytes().as_imm()
    for offset in range(len(octets)):
        if (octets.at(offset) < 32 and octets.at(offset) != 9) or octets.at(
            offset
        ) == 127:
            raise CookieError(
                "field", text, offset, "it holds no control octet but HTAB"
            )
    var end = find_octet(octets, 59)
    var cookie = _parse_pair(octets.before(end))
    while end < len(octets):
        var start = end + 1
        end = find_octet(octets, 59, start)
        _note_attribute(cookie, octets.between(start, end))
    return cookie^


def _parse_pair[
    o: ImmOrigin
](octets: Span[UInt8, o]) raises CookieError -> Cookie:
    var equals_sign = find_octet(octets, 61, 0)
    var has_name = equals_sign < len(octets)
    var name = trim_whitespace(octets.before(equals_sign if has_name else 0))
    var value = trim_whitespace(
        octets.after(equals_sign + 1 if has_name else 0)
    )
    if len(name) == 0 and len(value) == 0:
        raise CookieError(
            "name",
            StringSpan(unsafe_from_utf8=octets),
            -1,
            "a cookie is written name=value",
        )
    if len(name) + len(value) > COOKIE_LEN_MAX:
        raise CookieError(
            "value",
            StringSpan(unsafe_from_utf8=value),
            -1,
            "name and value have at most 4,096 bytes",
        )
    return Cookie(
        received_name=text_of(name),
        received_value=text_of(value),
    )


def _note_attribute[o: ImmOrigin](mut cookie: Cookie, octets: Span[UInt8, o]):
    """Takes an attribute into account; of several, the last counts."""
    var equals_sign = find_octet(octets, 61, 0)
    var name = trim_whitespace(octets.before(equals_sign))
    var value = trim_whitespace(octets.after(equals_sign))
    if len(value) > 0:
        value = trim_whitespace(value.after(1))
    if len(value) > ATTRIBUTE_LEN_MAX:
        return
    if equals_ignore_case(name, "expires".as_bytes()):
        var expires = parse_cookie_date(value)
        if expires:
            cookie.expires = expires
    elif equals_ignore_case(name, "max-age".as_bytes()):
        var max_age = _parse_max_age(value)
        if max_age:
            cookie.max_age = max_age
    elif equals_ignore_case(name, "domain".as_bytes()):
        if len(value) > 0:
            cookie.domain = _domain(value)
    elif equals_ignore_case(name, "path".as_bytes()):
        cookie.path = String()
        if len(value) > 0 and value.at(0) == 47:
            cookie.path = text_of(value)
    elif equals_ignore_case(name, "secure".as_bytes()):
        cookie.secure = True
    elif equals_ignore_case(name, "httponly".as_bytes()):
        cookie.http_only = True
    elif equals_ignore_case(name, "samesite".as_bytes()):
        cookie.same_site = SameSite.parse(value)
    elif equals_ignore_case(name, "partitioned".as_bytes()):
        cookie.partitioned = True


def _parse_max_age(octets: Span[UInt8, _]) -> Optional[Int]:
    """Reads seconds (RFC 6265 section 5.2.2); a huge number is cut."""
    var is_negative = len(octets) > 0 and octets.at(0) == 45
    var start = 1 if is_negative else 0
    var seconds = read_saturated(octets.after(start), _MAX_AGE_MAX)
    if seconds < 0:
        return None
    return -seconds if is_negative else seconds


def _domain(octets: Span[UInt8, _]) -> String:
    """Takes one leading dot off and folds case (RFC 6265 section 5.2.3)."""
    var folded = List[UInt8](capacity=len(octets))
    for index in range(len(octets)):
        if index > 0 or octets.at(index) != 46:
            folded.append(ascii_lower(octets.at(index)))
    return text_of(folded)
