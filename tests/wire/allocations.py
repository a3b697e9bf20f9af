"""What `counting_server` allocates."""

from collections.abc import Callable

from conftest import Client

WARM_UP_COUNT = 50


def counted(client: Client) -> int:
    """Asks how many allocations there were since it was asked last."""
    client.send(b"GET /allocations HTTP/1.1\r\nHost: a\r\n\r\n")
    return int(client.response().body)


def allocations(client: Client, request: bytes, count: int, is_right: Callable) -> int:
    """Counts those for so many requests, one after the other, of a server that has
    answered some like them; each answer has to be right."""
    for _ in range(WARM_UP_COUNT):
        client.send(request)
        client.response()
    counted(client)
    own = counted(client)  # what the counting request itself takes
    for _ in range(count):
        client.send(request)
        assert is_right(client.response())
    return counted(client) - own
