"""What a server of gRPC answers with, as far as the tests need it: messages with a
prefix of five octets, and trailers with the status."""

from flare.bytes.buffer import Buffer
from flare.http import BodySource, Poll, Request, Response, ok, ok_stream
from flare.http.message.trailers import Trailers

comptime _PREFIX_LEN = 5


def unary(req: Request) raises -> Response:
    """Gives the message back, or says which error was asked for."""
    var response = ok("")
    response.headers.set("Content-Type", "application/grpc")
    if req.body[_PREFIX_LEN:] == "fail".as_bytes():
        response.headers.set("Grpc-Status", "5")
        response.headers.set("Grpc-Message", "not here")
        return response^
    var message = List[UInt8]()
    message.extend(req.body)
    response = ok(message^)
    response.headers.set("Content-Type", "application/grpc")
    return response^.with_trailer("Grpc-Status", "0")


@fieldwise_init
struct Repeated(BodySource):
    """A message, again and again, then the status."""

    var message: List[UInt8]
    var left_count: Int

    def fill(mut self, mut out: Buffer) raises -> Poll:
        if self.left_count == 0:
            return Poll.DONE
        self.left_count -= 1
        out.append(Span(self.message))
        return Poll.READY

    def trailers(mut self) raises -> Trailers:
        var trailers = Trailers()
        trailers.set("Grpc-Status", "0")
        trailers.set("X-Messages", "100")
        return trailers^


def streamed(req: Request) raises -> Response:
    """Gives the message back a hundred times."""
    var message = List[UInt8]()
    message.extend(req.body)
    var response = ok_stream(Repeated(message^, 100))
    response.headers.set("Content-Type", "application/grpc")
    return response^
