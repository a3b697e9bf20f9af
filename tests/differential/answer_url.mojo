"""URLs, as the URL parser reads them."""

from tests.differential.quoted import quoted
from tests.support.url_parts import url_at, url_members


def answer_url(input: Span[UInt8, _]) -> String:
    """Parses a URL at a base.

    Args:
        input: The base, a NUL, and the text; no base if that is empty.

    Returns:
        `M` and the members of the URL class, or `E refuse:` and the reason.
    """
    var end = 0
    while end < len(input) and input[end] != 0:
        end += 1
    var base = String(from_utf8_lossy=input[:end])
    var text = String(from_utf8_lossy=input[min(end + 1, len(input)) :])
    try:
        var url = url_at(text, base)
        var answer = String("M")
        for part in url_members(url):
            answer.write(" ", quoted(part.as_bytes()))
        answer.write(" E end")
        return answer^
    except error:
        return String("E refuse:", String(error.reason).replace(" ", "_"))
