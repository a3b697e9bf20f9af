"""Steady state allocates nothing per request on the plain path."""

import pytest
from allocations import allocations, counted
from conftest import Client

pytestmark = pytest.mark.unsanitized
REQUEST_COUNT = 2000
# A trace that is not sampled; most targets do not look at it.
TRACE = (
    b"traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00\r\n"
    b"tracestate: vendor=" + b"x" * 100 + b"\r\n\r\n"
)


@pytest.mark.parametrize(
    "target", [b"/", b"/users/42", b"/users/abcdefghij?x=y", b"/traced"]
)
@pytest.mark.parametrize("batch", [1, 16], ids=["single", "pipelined"])
def test_no_allocation_per_request(start, target, batch):
    server = start("counting_server")
    request = b"GET " + target + b" HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n" + TRACE
    # As long as a batch, of which all but the first request may have to wait.
    long = request[:-2] + b"X-Long: " + b"x" * (batch * len(request)) + b"\r\n\r\n"
    with Client(server) as client, Client(server) as other:
        for _ in range(50):
            # In two pieces: so a worker on a busy machine, which lets others
            # have a turn amid pipelined requests, has a parser left for the rest,
            # with room for it.
            for warming in (request, long):
                client.send(warming[:-10])
                other.send(request)
                other.response()
                client.send(warming[-10:])
                assert client.response().status == 200
        counted(client)
        own = counted(client)  # what the counting request itself takes
        for _ in range(REQUEST_COUNT // batch):
            client.send(request * batch)
            for _ in range(batch):
                assert client.response().status == 200
        count = counted(client) - own
    print(
        f"\n{target.decode()}: {count} allocations in {REQUEST_COUNT} requests"
    )
    assert count == 0


def test_a_proxied_request_allocates_once(start):
    """What the upstream answers is content of the response until it is sent."""
    server = start("counting_server")
    request = b"GET /proxied/ HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n"
    with Client(server) as client:
        count = allocations(
            client, request, REQUEST_COUNT, lambda found: found.body == b"Hello, World!"
        )
    print(f"\n{count} allocations in {REQUEST_COUNT} proxied requests")
    assert count <= REQUEST_COUNT


def test_the_counter_counts(start):
    """A handler that allocates is seen, so a count of 0 means something."""
    server = start("counting_server")
    long_id = b"x" * 100
    request = b"GET /users/" + long_id + b" HTTP/1.1\r\nHost: a\r\n\r\n"
    with Client(server) as client:
        count = allocations(
            client, request, 100, lambda found: found.body == b"user " + long_id
        )
    assert count >= 100
