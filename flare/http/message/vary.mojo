"""The Vary field of a response that is being made."""

from flare.bytes.ascii import equals_ignore_case
from flare.http.message.header_error import HeaderError
from flare.http.message.header_map import HeaderMap
from flare.http.message.list_elements import ListElements


def add_vary(mut headers: HeaderMap, name: StringSpan) raises HeaderError:
    """Says that the response depends on a field of the request.

    Source: RFC 9110 section 12.5.5.

    Args:
        headers: The response's; unchanged if the name or `*` is there already.
        name: The request's field.

    Raises:
        HeaderError: If the name is none.
    """
    var index = headers.find("vary")
    while index >= 0:
        for element in ListElements(headers.value(index).as_bytes()):
            if len(element) == 1 and element[0] == 42:
                return
            if equals_ignore_case(element, name.as_bytes()):
                return
        index = headers.find("vary", index + 1)
    headers.append("Vary", name)
