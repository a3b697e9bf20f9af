"""Where a request goes."""

from flare.http.client.client_request import ClientRequest
from flare.http.client.error import BadUrl, ClientError, Phase
from flare.http.message.url import Url
from flare.http.message.url_parse_error import URL_TOO_LONG


def request_url(
    base: Optional[Url], request: ClientRequest
) raises ClientError -> Url:
    """Finds the URL of a request.

    Args:
        base: The client's base URL. A URL without a scheme is appended to it,
            whatever it begins with, so that no path can name another host.
        request: The request.

    Returns:
        The URL, with the request's query.

    Raises:
        ClientError: If it is no absolute URL.
    """
    var text = request.url
    if base and not _has_scheme(text):
        ref start = base.value()
        var joined = String(start.protocol(), "//", start.host())
        joined.write(start.pathname().removesuffix("/"))
        if not (
            text.startswith("/")
            or text.startswith("?")
            or text.byte_length() == 0
        ):
            joined.write("/")
        joined.write(text)
        text = joined^
    var url = parse_request_url(text)
    if len(request.query) == 0:
        return url^
    var hash = url.hash()
    var with_query = String(String(url).removesuffix(hash))
    with_query.write("&" if url.search().byte_length() > 0 else "?")
    with_query.write(request.query, hash)
    return parse_request_url(with_query)


def parse_request_url(text: StringSpan) raises ClientError -> Url:
    """Reads an absolute URL.

    Args:
        text: The URL.

    Returns:
        The URL.

    Raises:
        ClientError: If it is none; a password in it is not repeated.
    """
    try:
        return Url.parse(text)
    except error:
        var reason = String(error.reason, " (byte ", error.offset, ")")
        if "@" not in text or error.reason == URL_TOO_LONG:
            reason = String(error)
        raise ClientError(
            materialize[Phase.REQUEST](), materialize[BadUrl](), reason^
        )


def _has_scheme(text: StringSpan) -> Bool:
    var end = text.find("://")
    if end < 1:
        return False
    for octet in text.as_bytes()[0:end]:
        if octet == 47 or octet == 63 or octet == 35:
            return False
    return True
