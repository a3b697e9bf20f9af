"""What a request does with what has come on its stream, without sockets."""

from flare.http.client.exchange.attempt import Attempt, Step
from flare.http.client.exchange.prepared_request import (
    ClientBase,
    prepare_request,
    Upload,
)
from flare.http.client.message.config import ClientConfig
from flare.http.client.connect.connection import ClientConnection, Endpoint
from flare.http.client.connect.error import ResponseTooLarge
from flare.http.client.exchange.http2_exchange import Http2Exchange
from flare.http.client.exchange.http2_flight import Http2Flight
from flare.http.client.exchange.http2_link import Http2Link
from flare.http.client.message.request import ClientRequest
from flare.http.client.message.response import ResponseBuilder
from flare.http.client.connect.transport import Transport
from flare.net.raw_socket import RawSocket
from std.memory import ArcPointer, OwnedPointer
from tests.support.assertions import assert_equal


@fieldwise_init
struct _Announced(Copyable):
    """A response that says more than is allowed, and whether it is refused."""

    var rule: StaticString
    var method: StaticString
    var status: Int
    var is_refused: Bool


def test_a_length_without_content_is_no_content() raises:
    # The stream has not ended with the head: an empty DATA frame may follow.
    for row in [
        _Announced("9110-9.3.2 that of a GET", "HEAD", 200, False),
        _Announced("9110-15.4.5 that of a 200", "GET", 304, False),
        _Announced("9110-15.3.5 none follows", "GET", 204, False),
        _Announced("it is too much", "GET", 200, True),
    ]:
        var config = ClientConfig()
        config.max_response_size = 10
        var connection = OwnedPointer(
            ClientConnection(
                Transport(RawSocket(owned=-1)), Endpoint("a.test", 443)
            )
        )
        var link = ArcPointer(Http2Link(connection^, config))
        var exchange = Http2Exchange(link, -1)
        var flight = Http2Flight(1, -1, 0)
        flight.status = row.status
        flight.content_length = 11
        exchange.flight = ArcPointer(flight^)
        var attempt = Attempt()
        var request = prepare_request(
            ClientRequest(String(row.method), "https://a.test/"),
            Upload(),
            ClientBase(),
            Pointer(to=config),
        )
        var builder = ResponseBuilder(request.url.copy(), 0)
        var is_refused = False
        try:
            _ = exchange.apply(Step.HEAD, attempt, request, builder, config)
        except error:
            is_refused = error.kind == ResponseTooLarge
        assert_equal(is_refused, row.is_refused, row.rule)
