"""Sending a request to an upstream that speaks HTTP/1.1: content as it comes."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.h1.chunked import append_chunk, append_last_chunk
from flare.http.message.body_reader import BodyError
from flare.http.proxy.response_reading import READ_LEN
from flare.http.proxy.upstream_content import trailers_of
from flare.http.handler.later import RequestContent


def take_content(
    mut content: RequestContent,
    mut scratch: Buffer,
    mut output: Buffer,
    is_chunked: Bool,
    mut has_all: Bool,
) raises BodyError -> Bool:
    """Takes what has come of a request's content, in place of what was sent.

    Args:
        content: Brings it.
        scratch: Room, empty; empty again afterwards.
        output: Gets the octets in their framing.
        is_chunked: True if chunks frame it.
        has_all: Set if that was all.

    Returns:
        False if there is none now.

    Raises:
        BodyError: If no more will come.
    """
    try:
        has_all = content.take(scratch)
    except error:
        scratch.clear()
        raise error^
    if len(scratch) == 0 and not has_all:
        return False
    output.clear()
    if is_chunked:
        append_chunk(output, scratch.span())
    else:
        output.append(scratch.span())
    scratch.clear()
    if scratch.capacity() > 4 * READ_LEN:
        scratch = Buffer(0)
    if has_all and is_chunked:
        append_last_chunk(output, trailers_of(content.trailers()))
    return True
