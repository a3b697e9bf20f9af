"""Header fields and requests, written as lines."""

from flare.http.message.header_map import HeaderMap
from flare.http.message.owned_request import OwnedRequest


def headers_of(lines: StringSpan) raises -> HeaderMap:
    """Reads fields, one a line.

    Args:
        lines: Such as `A: 1`, parted by line feeds.

    Returns:
        The fields.

    Raises:
        Error: If one of them is none.
    """
    var headers = HeaderMap()
    for line in lines.split("\n"):
        if line.byte_length() > 0:
            var at = line.find(":")
            headers.append(line[byte=:at], line[byte = at + 1 :])
    return headers^


def request_with(lines: StringSpan) raises -> OwnedRequest:
    """Makes a request for `/`.

    Args:
        lines: Its fields, as `headers_of` reads them.

    Returns:
        A GET.

    Raises:
        Error: If a field is none.
    """
    var owned = OwnedRequest("GET", "/")
    var headers = headers_of(lines)
    for index in range(len(headers)):
        owned.add_header(headers.name(index), headers.value(index))
    return owned^
