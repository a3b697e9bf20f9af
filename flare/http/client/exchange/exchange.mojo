"""What goes from a request into its attempt, and from the attempt into the
response."""

from flare.http.client.exchange.attempt import PIECE_LEN, Attempt, Step
from flare.http.client.message.config import ClientConfig
from flare.http.client.connect.error import ClientError, SourceFailed
from flare.http.client.connect.connection import ClientConnection
from flare.http.client.exchange.sent_fields import write_head
from flare.http.client.exchange.prepared_request import (
    PreparedRequest,
    UNKNOWN_LEN,
)
from flare.http.client.message.response import (
    ContentUse,
    ResponseBuilder,
    copy_fields,
)
from flare.http.h1.field_section import HeadLimits
from flare.http.message.trailers import Trailers
from flare.sys.clock import monotonic_ns
from std.memory import OwnedPointer


def begin_attempt(
    mut attempt: Attempt, request: PreparedRequest, config: ClientConfig
) raises ClientError:
    """Writes a request's head, and its content if that is small. Raises if a
    part of the request must not be sent, or a file of a form not be read."""
    var framing = request.framing()
    attempt.begin(request.method, framing, config.strict)
    write_head(request, attempt.outgoing.output, config)
    if not request.upload.is_streamed and not framing.expects_continue:
        append_own_content(attempt, request)


def apply_step(
    step: Step,
    mut attempt: Attempt,
    mut request: PreparedRequest,
    mut builder: ResponseBuilder,
    config: ClientConfig,
) raises ClientError -> Bool:
    """Does what a step other than `WAIT` asks for, `NEEDS_CONTENT` only for the
    request's own content, and tells whether the exchange is over. Raises if the
    content cannot be decoded, or a file of a form not be read."""
    if step == Step.NEEDS_CONTENT:
        append_own_content(attempt, request)
    elif step == Step.HEAD:
        builder.take_head(attempt.parser)
        attempt.parser.body.max_body_size = begin_content(
            attempt,
            request,
            builder,
            config,
            has_content=attempt.parser.has_content(),
            content_len=attempt.parser.head.framing.content_length,
        )
    elif step == Step.CONTENT:
        builder.take_content(attempt.parser.content())
        return not builder.is_worth_reading(attempt.parser.body.taken_len)
    else:
        builder.take_end()
        var trailers = attempt.parser.trailers()
        if len(trailers) > 0:
            copy_fields(trailers, builder.response.trailers)
        return True
    return False


comptime DRAIN_LEN_MAX = 16_384
"""Most content that is dropped to keep a connection whose response nobody reads
to its end, in bytes, and only if it is here already."""


def drain(
    mut attempt: Attempt,
    mut connection: OwnedPointer[ClientConnection],
    limits: HeadLimits,
) -> Bool:
    """Drops the rest of a response's content if it is here, and tells whether
    that was its end. The limits bound fields after the content."""
    var limit = attempt.parser.body.taken_len + DRAIN_LEN_MAX
    try:
        while not attempt.wants_write() and (
            attempt.parser.body.taken_len <= limit
        ):
            var step = attempt.step(connection, limits)
            if step == Step.END:
                return True
            if step == Step.WAIT and not attempt.receive(connection):
                return False
    except:
        # What fails is not kept.
        pass
    return False


def begin_content(
    mut attempt: Attempt,
    mut request: PreparedRequest,
    mut builder: ResponseBuilder,
    config: ClientConfig,
    *,
    has_content: Bool,
    content_len: Int,
) raises ClientError -> Int:
    """Decides what becomes of the content of a response whose head is there;
    there is none for sure without `has_content`, and `content_len` bytes of it
    were announced, 0 or less if that is not known. Returns how long it may be,
    as transferred, in bytes; raises if it is coded and a library is missing."""
    var use = _content_use(attempt, request, builder)
    attempt.size_setting = use.size_setting()
    return builder.begin_content(use, has_content, content_len, config)


def _content_use(
    attempt: Attempt,
    mut request: PreparedRequest,
    mut builder: ResponseBuilder,
) -> ContentUse:
    """Decides what becomes of the content of a response whose head is there, and
    with that whether the response is the final one."""
    builder.response.exchange.head_ns = (
        monotonic_ns() - request.timeouts.start_ns
    )
    request.tell_head(builder.response)
    var status = builder.response.status
    if request.will_follow(builder.response):
        return ContentUse.DISCARD
    if request.will_stop_expecting(builder.response, attempt.content_len):
        return ContentUse.DISCARD
    if request.extras and (
        request.will_authenticate(builder.response, attempt.content_len)
        or request.plans_retry(builder.response, attempt.content_len)
    ):
        return ContentUse.DISCARD
    var is_success = status >= 200 and status < 300
    if request.content_use == ContentUse.PASS_ON and not is_success:
        return ContentUse.KEEP
    return request.content_use


def append_own_content(
    mut attempt: Attempt, request: PreparedRequest
) raises ClientError:
    """Takes the next piece of content that can be had again."""
    var length = request.body.content_len()
    var start = attempt.content_len
    var end = min(start + PIECE_LEN, length)
    if end > start:
        _make_room(attempt)
        request.body.append_to(attempt.outgoing.output, start, end)
        attempt.content_len = end
    if end == length:
        attempt.outgoing.end_content()


def append_content(
    mut attempt: Attempt, request: PreparedRequest, octets: Span[UInt8, _]
) raises ClientError:
    """Frames the next piece of streamed content, which is empty at the end of
    the source. Raises if the content is not as long as it was said to be."""
    var wanted = request.upload.content_len
    var is_last = len(octets) == 0
    attempt.content_len += len(octets)
    if wanted != UNKNOWN_LEN:
        if (is_last and attempt.content_len < wanted) or (
            attempt.content_len > wanted
        ):
            raise ClientError(
                attempt.phase(),
                SourceFailed,
                String(
                    "the source has given ",
                    attempt.content_len,
                    " bytes of content announced with ",
                    wanted,
                ),
            )
        is_last = attempt.content_len == wanted
    _make_room(attempt)
    attempt.outgoing.append(octets)
    if is_last:
        attempt.outgoing.append_end(Trailers())


def _make_room(mut attempt: Attempt):
    """Drops what was sent: a repetition makes the request anew."""
    if attempt.outgoing.left_len() == 0:
        attempt.outgoing.replace_sent()
