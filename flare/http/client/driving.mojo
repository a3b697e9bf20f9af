"""Driving an attempt with calls that wait."""

from flare.http.client.attempt import PIECE_LEN, Attempt, Step
from flare.http.client.call import Call
from flare.http.client.client_state import ClientState
from flare.http.client.connection import ClientConnection
from flare.http.client.error import (
    ClientError,
    Phase,
    SinkFailed,
    SourceFailed,
)
from flare.http.client.response_builder import ContentUse, ResponseBuilder
from flare.http.client.stepping import append_content, apply_step
from flare.http.client.waiting import wait_for_attempt
from flare.io.stream import Readable, Writable


struct NoStream(Readable, Writable):
    """The source and the sink of a request that has its content in memory."""

    def __init__(out self):
        """Makes one."""
        pass

    def read(mut self, room: MutSpan[UInt8, _]) raises -> Int:
        """Has nothing to read.

        Args:
            room: Where to.

        Returns:
            0, for the end.

        Raises:
            Error: Never.
        """
        return 0

    def write(mut self, octets: Span[UInt8, _]) raises -> Int:
        """Lets octets vanish.

        Args:
            octets: The octets.

        Returns:
            How many there are.

        Raises:
            Error: Never.
        """
        return len(octets)


def drive[
    R: Readable, W: Writable
](
    mut state: ClientState,
    mut connection: ClientConnection,
    mut call: Call,
    mut builder: ResponseBuilder,
    mut source: R,
    mut sink: W,
) raises ClientError:
    """Sends a request and receives its response.

    Parameters:
        R: The source's type.
        W: The sink's type.

    Args:
        state: The client, with the request's head in its attempt.
        connection: The connection.
        call: The request.
        builder: Gets the response.
        source: Where streamed content comes from.
        sink: Where streamed content of the response goes.

    Raises:
        ClientError: If it fails.
    """
    ref attempt = state.attempt
    while True:
        var step = attempt.step(connection, state.config.head_limits)
        if step == Step.WAIT:
            wait_for_attempt(attempt, connection, call.patience)
            continue
        if step == Step.NEEDS_CONTENT and call.upload.is_streamed:
            _feed(attempt, call, source)
            continue
        var is_over = apply_step(step, attempt, call, builder, state.config)
        if builder.use == ContentUse.PASS_ON:
            _pass_on(builder, sink)
            while step == Step.CONTENT and builder.has_more(attempt.exchange):
                builder.take_more(attempt.exchange)
                _pass_on(builder, sink)
        if is_over:
            return


def _feed[
    R: Readable
](mut attempt: Attempt, call: Call, mut source: R) raises ClientError:
    """Takes the next piece of streamed content."""
    var piece = List[UInt8](length=PIECE_LEN, fill=0)
    var count: Int
    try:
        count = source.read(Span(piece))
    except error:
        raise ClientError(
            attempt.phase(), materialize[SourceFailed](), String(error)
        )
    if count < 0 or count > PIECE_LEN:
        raise ClientError(
            attempt.phase(),
            materialize[SourceFailed](),
            String("the source claims to have read ", count, " bytes"),
        )
    append_content(attempt, call, piece[0:count])


def _pass_on[
    W: Writable
](mut builder: ResponseBuilder, mut sink: W) raises ClientError:
    """Writes decoded content to the caller's sink."""
    var start = 0
    var length = len(builder.content)
    while start < length:
        var count: Int
        try:
            count = sink.write(builder.content[start:])
        except error:
            raise ClientError(
                materialize[Phase.READ_BODY](),
                materialize[SinkFailed](),
                String(error),
            )
        if count < 1 or count > length - start:
            raise ClientError(
                materialize[Phase.READ_BODY](),
                materialize[SinkFailed](),
                String("the sink claims to have taken ", count, " bytes"),
            )
        start += count
    builder.content.clear()
