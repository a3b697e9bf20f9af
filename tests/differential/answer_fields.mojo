"""Values of single fields: cookies and dates."""

from flare.http.cookie.set_cookie import parse_set_cookie_header
from flare.http.message.cookie import parse_cookie_header
from flare.http.message.date import parse_http_date
from tests.differential.quoted import quoted

comptime _NOW_S = 1_704_067_200
# 2024-01-01, for years of two digits.


def answer_set_cookie(input: Span[UInt8, _]) -> String:
    """Reads a Set-Cookie field.

    Returns:
        `M name value path domain max-age expires secure http-only same-site
        partitioned`, or `E refuse:`.
    """
    try:
        var cookie = parse_set_cookie_header(StringSpan(unsafe_from_utf8=input))
        var answer = String("M ", quoted(cookie.name.as_bytes()), " ")
        answer.write(quoted(cookie.value.as_bytes()), " ")
        answer.write(quoted(cookie.path.as_bytes()), " ")
        answer.write(quoted(cookie.domain.as_bytes()), " ")
        if cookie.max_age:
            answer.write(max(0, cookie.max_age.value()), " ")
        else:
            answer.write("- ")
        if cookie.expires:
            answer.write(cookie.expires.value(), " ")
        else:
            answer.write("- ")
        answer.write("y " if cookie.secure else "n ")
        answer.write("y " if cookie.http_only else "n ")
        answer.write(quoted(cookie.same_site.name().as_bytes()), " ")
        answer.write("y" if cookie.partitioned else "n", " E end")
        return answer^
    except:
        return "E refuse:"


def answer_cookie(input: Span[UInt8, _]) -> String:
    """Reads a Cookie field.

    Returns:
        `M name:value|...`.
    """
    var word = String()
    for cookie in parse_cookie_header(input):
        word.write("|" if word else "", quoted(cookie.name.as_bytes()), ":")
        word.write(quoted(cookie.value.as_bytes()))
    return String("M ", word if word else String("-"), " E end")


def answer_date(input: Span[UInt8, _]) -> String:
    """Reads a date of HTTP.

    Returns:
        `M` and seconds since 1970, or `E refuse:`.
    """
    var found = parse_http_date(input, _NOW_S)
    if not found:
        return "E refuse:"
    return String("M ", found.value(), " E end")
