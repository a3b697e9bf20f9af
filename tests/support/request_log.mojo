"""What comes out of a parser, as text that can be compared."""

from flare.http.h1.field_section import HeadLimits
from flare.http.h1.request_parser import Progress, RequestParser
from flare.http.message.request import PathParams, Request
from flare.net.socket_addr import SocketAddr


def drain_into(mut parser: RequestParser, mut log: String, limit: Int = 100):
    """Takes all complete requests, as a server does, and writes them down.

    Args:
        parser: The parser.
        log: Gets `[...]` for each request and `<status>` for a refusal.
        limit: Most content of a request in bytes.
    """
    while True:
        try:
            var progress = parser.advance(HeadLimits(8192, 8192, 100))
            if progress == Progress.HEAD_READY:
                parser.body.max_body_size = limit
                continue
            if progress == Progress.NEEDS_OCTETS:
                return
        except error:
            log.write("<", error.status(), ">")
            return
        describe(parser, log)
        parser.finish()


def describe(parser: RequestParser, mut log: String):
    """Writes down the complete request that is first.

    Args:
        parser: Has it.
        log: Gets it.
    """
    var params = PathParams()
    var request = _request(parser, params)
    describe_head(parser, log)
    log.write(String(from_utf8_lossy=request.body), "|")
    log.write(request.trailers, "]\n")
    _ = params^


def describe_head(parser: RequestParser, mut log: String):
    """Writes down the head of the request that is first.

    Args:
        parser: Has it.
        log: Gets it.
    """
    var params = PathParams()
    var request = _request(parser, params)
    log.write("[", request.method_name, " ", request.url, " ", request.path)
    log.write(" ", request.query, " ", request.version, "\n")
    log.write(request.headers, "|")
    _ = params^


def _request(
    parser: RequestParser, mut params: PathParams
) -> Request[ImmUntrackedOrigin]:
    return parser.unsafe_request[ImmUntrackedOrigin](
        SocketAddr.any(0),
        Pointer(to=params).unsafe_origin_cast[MutUntrackedOrigin](),
    )
