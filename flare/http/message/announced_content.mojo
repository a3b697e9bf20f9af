"""Content that a response to HEAD tells of and does not have (RFC 9110 section
9.3.2)."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.message.body import Body, BodySource, Poll
from flare.http.message.content_length import announced_len
from flare.http.message.method import Method
from flare.http.message.request import Request
from flare.http.message.response import Response


struct _NoContent(BodySource):
    """Content of unknown length that HEAD has not asked for."""

    def __init__(out self):
        pass

    def fill(mut self, mut out: Buffer) raises -> Poll:
        """Makes nothing, and says that this was all."""
        return Poll.DONE


def announce(mut response: Response, length: Optional[Int]) raises:
    """Says how long the content would be that HEAD has not asked for, if that is
    known."""
    if length:
        response.headers.set("Content-Length", String(length.held()))
        return
    _ = response.headers.remove("Content-Length")
    response.body = Body(_NoContent())


def left_out_len(req: Request, response: Response) -> Int:
    """Tells how long the content is that a response to HEAD tells of, in bytes; 0
    if it has its content, or does not know."""
    var has_content = response.body.is_stream() or len(response.body) > 0
    if req.method != Method.HEAD or has_content:
        return 0
    return announced_len(response.headers)
