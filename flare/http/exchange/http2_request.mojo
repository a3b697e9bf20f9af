"""A request on a stream of HTTP/2: its fields, and content as it comes."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.padding import Padding
from flare.http.exchange.http1_request import Http1Request
from flare.http.exchange.outgoing_request import (
    OutgoingRequest,
    RequestStream,
    Supply,
)
from flare.http.exchange.request_phase import RequestEvent
from flare.http.h1.error import LocalProtocolError
from flare.http.h1.serialiser import RequestFraming, RequestStart
from flare.http.message.header_map import HeaderMap
from flare.http.message.trailers import Trailers


struct Http2Request(Movable):
    """What is sent on a stream, and what is left of it.

    Who finds out that the server speaks HTTP/1.1 writes it to an `Http1Request`.
    """

    var _padding: Padding[128]
    var target: String
    var headers: HeaderMap
    var framing: RequestFraming
    """How long the content is, if that is known."""
    var outgoing: OutgoingRequest
    """Content that is here."""
    var trailers: Trailers
    """What is sent after it."""

    def __init__(
        out self,
        target: StringSpan,
        headers: HeaderMap,
        framing: RequestFraming,
        supply: Supply,
    ):
        """Takes a request without its content. The supply is ALL if that is
        appended before the first attempt, ARRIVING if it goes on arriving."""
        self._padding = {}
        self.target = String(target)
        self.headers = headers.copy()
        self.framing = framing
        self.outgoing = OutgoingRequest(Buffer(0))
        self.outgoing.framing = RequestFraming(0, framing.expects_continue)
        self.outgoing.supply = supply
        self.trailers = Trailers()

    def is_empty(self) -> Bool:
        """Tells whether nothing follows the fields."""
        return (
            self.outgoing.supply == Supply.ALL
            and len(self.outgoing.output) == 0
            and not self.trailers
        )

    def push[S: RequestStream](mut self, mut stream: S) -> RequestEvent:
        """Sends what windows and connection take. Returns what
        `OutgoingRequest.push_content` has answered."""
        return self.outgoing.push_content(stream, self.trailers)

    def end(mut self, var trailers: Trailers):
        """Notes that all content is here; the trailers are sent after it."""
        self.trailers = trailers^
        self.outgoing.end_content()

    def write_to(
        mut self,
        mut request: Http1Request,
        method: StringSpan,
        host: StringSpan,
    ) raises LocalProtocolError:
        """Writes it as HTTP/1.1 has it, into a request where nothing was
        written, with the content that is here; it has no content then. `host`
        is the host and port that are asked for. Raises if a part must not be
        sent."""
        request.outgoing.supply = Supply.ARRIVING
        request.write_head(
            RequestStart(method, StringSpan(self.target), host, 1),
            self.headers,
            self.framing,
        )
        request.outgoing.append(self.outgoing.output.span())
        if self.outgoing.supply.has_all():
            request.outgoing.append_end(self.trailers)
        self.outgoing.output = Buffer(0)
