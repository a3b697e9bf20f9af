"""What the steps of an attempt mean for a request, whoever drives it."""

from flare.http.client.attempt import PIECE_LEN, Attempt, Step
from flare.http.client.call import UNKNOWN_LEN, Call
from flare.http.client.config import ClientConfig
from flare.http.client.error import ClientError, Phase, SourceFailed
from flare.http.client.redirect import is_redirect
from flare.http.client.response_builder import ContentUse, ResponseBuilder
from flare.http.h1.chunk_writer import LAST_CHUNK, append_chunk


def begin_attempt(
    mut attempt: Attempt, call: Call, config: ClientConfig
) raises ClientError:
    """Writes a request's head, and its content if that is small.

    Args:
        attempt: The attempt.
        call: The request.
        config: The client's configuration.

    Raises:
        ClientError: If a part of the request must not be sent.
    """
    var asks = call.expects_continue and call.has_content()
    attempt.begin(call.method, asks, config.strict)
    call.write_head(attempt.output, config)
    if call.upload.is_streamed:
        return
    if not asks:
        _append_from_memory(attempt, call)


def apply_step(
    step: Step,
    mut attempt: Attempt,
    call: Call,
    mut builder: ResponseBuilder,
    config: ClientConfig,
) raises ClientError -> Bool:
    """Does what a step other than `WAIT` asks for.

    Args:
        step: The step; `NEEDS_CONTENT` only for content in memory.
        attempt: The attempt.
        call: The request.
        builder: Gets the response.
        config: The client's configuration.

    Returns:
        True if the exchange is over.

    Raises:
        ClientError: If the content cannot be decoded.
    """
    if step == Step.NEEDS_CONTENT:
        _append_from_memory(attempt, call)
    elif step == Step.HEAD:
        builder.take_head(attempt.exchange)
        var use = _use(attempt, call, builder)
        builder.choose_use(attempt.exchange, use, config)
        if use == ContentUse.PASS_ON:
            attempt.size_setting = "max_download_size"
        else:
            attempt.size_setting = "max_response_size"
    elif step == Step.CONTENT:
        builder.take_content(attempt.exchange)
        # A sink takes its pieces one by one.
        while builder.use == ContentUse.KEEP and builder.has_more(
            attempt.exchange
        ):
            builder.take_more(attempt.exchange)
        return not builder.is_worth_reading(attempt.exchange)
    else:
        builder.take_end(attempt.exchange)
        return True
    return False


def _use(attempt: Attempt, call: Call, builder: ResponseBuilder) -> ContentUse:
    var status = builder.response.status
    if call.will_follow(builder.response):
        return ContentUse.DISCARD
    if call.will_stop_expecting(builder.response, attempt.content_len):
        return ContentUse.DISCARD
    if call.wants_stream and status >= 200 and status < 300:
        return ContentUse.PASS_ON
    return ContentUse.KEEP


def _append_from_memory(mut attempt: Attempt, call: Call):
    ref content = call.body.content
    var start = attempt.content_len
    var end = min(start + PIECE_LEN, len(content))
    attempt.output.append(content.as_bytes()[start:end])
    attempt.content_len = end
    if end == len(content):
        attempt.end_content()


def append_content(
    mut attempt: Attempt, call: Call, octets: Span[UInt8, _]
) raises ClientError:
    """Frames the next piece of streamed content.

    Args:
        attempt: The attempt.
        call: The request.
        octets: The piece; empty at the end of the source.

    Raises:
        ClientError: If the content is not as long as it was said to be.
    """
    var wanted = call.upload.content_len
    attempt.content_len += len(octets)
    if wanted == UNKNOWN_LEN:
        append_chunk(attempt.output, octets)
        if len(octets) == 0:
            attempt.output.append(LAST_CHUNK.as_bytes())
            attempt.end_content()
        return
    var is_short = len(octets) == 0 and attempt.content_len < wanted
    if is_short or attempt.content_len > wanted:
        raise ClientError(
            attempt.phase(),
            materialize[SourceFailed](),
            String(
                "the source has given ",
                attempt.content_len,
                " bytes of content announced with ",
                wanted,
            ),
        )
    attempt.output.append(octets)
    if attempt.content_len == wanted:
        attempt.end_content()
