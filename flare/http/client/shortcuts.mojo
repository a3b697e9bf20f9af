"""Single requests, without a client that is kept."""

from flare.http.client.client import HttpClient
from flare.http.client.client_response import ClientResponse
from flare.http.client.error import ClientError
from flare.http.client.request_body import RequestBody


def get(url: StringSpan) raises ClientError -> ClientResponse:
    """Fetches a resource over a connection of its own.

    Args:
        url: Its URL.

    Returns:
        The response.

    Raises:
        ClientError: If there is none.
    """
    var client = HttpClient()
    return client.get(url)


def head(url: StringSpan) raises ClientError -> ClientResponse:
    """Fetches what is said of a resource, without its content.

    Args:
        url: Its URL.

    Returns:
        The response.

    Raises:
        ClientError: If there is none.
    """
    var client = HttpClient()
    return client.head(url)


def options(url: StringSpan) raises ClientError -> ClientResponse:
    """Asks what a resource allows.

    Args:
        url: Its URL.

    Returns:
        The response.

    Raises:
        ClientError: If there is none.
    """
    var client = HttpClient()
    return client.options(url)


def delete(
    url: StringSpan, var body: RequestBody = RequestBody()
) raises ClientError -> ClientResponse:
    """Removes a resource.

    Args:
        url: Its URL.
        body: The content.

    Returns:
        The response.

    Raises:
        ClientError: If there is none.
    """
    var client = HttpClient()
    return client.delete(url, body^)


def post(
    url: StringSpan, var body: RequestBody = RequestBody()
) raises ClientError -> ClientResponse:
    """Lets a resource process content.

    Args:
        url: Its URL.
        body: The content: text is sent as JSON, octets as octets, a form as a
            form.

    Returns:
        The response.

    Raises:
        ClientError: If there is none.
    """
    var client = HttpClient()
    return client.post(url, body^)


def put(
    url: StringSpan, var body: RequestBody = RequestBody()
) raises ClientError -> ClientResponse:
    """Replaces a resource.

    Args:
        url: Its URL.
        body: The content, as for `post`.

    Returns:
        The response.

    Raises:
        ClientError: If there is none.
    """
    var client = HttpClient()
    return client.put(url, body^)


def patch(
    url: StringSpan, var body: RequestBody = RequestBody()
) raises ClientError -> ClientResponse:
    """Changes a part of a resource.

    Args:
        url: Its URL.
        body: The content, as for `post`.

    Returns:
        The response.

    Raises:
        ClientError: If there is none.
    """
    var client = HttpClient()
    return client.patch(url, body^)
