"""What goes from a request into its attempt, header fields and content, and from
the attempt into the response."""

from flare.bytes.ascii import equals_ignore_case, hex_text
from flare.bytes.buffer import Buffer
from flare.bytes.hash import sha256
from flare.http.client.connect.connection import ClientConnection
from flare.http.client.connect.error import (
    ClientError,
    SourceFailed,
    bad_request,
)
from flare.http.client.exchange.attempt import PIECE_LEN, Attempt, Step
from flare.http.client.exchange.prepared_request import (
    PreparedRequest,
    UNKNOWN_LEN,
)
from flare.http.client.message.config import ClientConfig
from flare.http.client.message.redirect import RequestOrigin, is_credential
from flare.http.client.message.response import (
    ContentUse,
    ResponseBuilder,
    copy_fields,
    url_without_credentials,
)
from flare.http.h1.field_section import HeadLimits
from flare.http.h1.serialiser import RequestStart, write_request_head
from flare.http.message.header_map import HeaderError, HeaderMap
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
        # The connection ends, too.
        return attempt.parser.is_late_close() and (
            builder.use == ContentUse.DISCARD
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
    """Decides what becomes of the content of a response whose head is there,
    and with that whether the response is the final one; arguments, result and
    errors are those of `ResponseBuilder.begin_content`."""
    ref response = builder.response
    response.exchange.head_ns = monotonic_ns() - request.timeouts.start_ns
    request.tell_head(response)
    var sent_len = attempt.content_len
    var is_success = response.status >= 200 and response.status < 300
    var use = request.content_use
    if (
        request.will_follow(response.status, response.headers)
        or request.will_stop_expecting(response, sent_len)
        or request.goes_anew(attempt, response.exchange.was_reused)
    ):
        use = ContentUse.DISCARD
    elif request.extras and (
        request.will_authenticate(response, sent_len)
        or request.plans_retry(response, sent_len)
    ):
        use = ContentUse.DISCARD
    elif use == ContentUse.PASS_ON and not is_success:
        use = ContentUse.KEEP
    attempt.size_setting = use.size_setting("max_response_size")
    return builder.begin_content(use, has_content, content_len, config)


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


def sent_host(request: PreparedRequest) -> String:
    """Tells which authority a request names (RFC 9110 section 7.2): its own
    Host, or that of its URL."""
    var own = request.headers.find("host")
    if own >= 0:
        return String(request.headers.value(own))
    if request.endpoint.is_unix:
        return "localhost"
    return String(request.url.host())


def leaves_out(
    name: StringSpan, request: PreparedRequest, config: ClientConfig
) -> Bool:
    """Tells whether a field of the client's configuration does not go with a
    request, as that has its own, or must not have it."""
    if len(request.headers) > 0 and name in request.headers:
        return True
    if request.origin != RequestOrigin.OWN and is_credential(name):
        # They were for where the request began.
        return True
    if request.cookie.byte_length() > 0 and equals_ignore_case(
        name.as_bytes(), "cookie".as_bytes()
    ):
        # A request has one set of cookies (RFC 6265 section 5.4).
        return True
    return config.drops_codings(request.headers) and equals_ignore_case(
        name.as_bytes(), "accept-encoding".as_bytes()
    )


def sent_fields(
    request: PreparedRequest, config: ClientConfig
) raises HeaderError -> HeaderMap:
    """Gathers the fields of an attempt, for who selects by them (RFC 9111
    section 4.1); the hooks of the request have run, and its cookie is there.
    What frames its content, and what is for a proxy, is not among them.

    An answer to a digest challenge is another one each time: in its place
    stands a value that is the same for one user name and password, and is no
    Authorization to send. Raises if the fields are longer than a block.
    """
    var fields = HeaderMap()
    fields.append("Host", sent_host(request))
    for index in range(len(config.headers)):
        var name = config.headers.name(index)
        if not leaves_out(name, request, config):
            fields.append(name, config.headers.value(index))
    for index in range(len(request.headers)):
        var name = request.headers.name(index)
        if not equals_ignore_case(name.as_bytes(), "host".as_bytes()):
            fields.append(name, request.headers.value(index))
    if request.cookie.byte_length() > 0 and "cookie" not in request.headers:
        fields.append("Cookie", request.cookie)
    if request.has_turn():
        ref login = request.turn().login
        if login:
            var pair = String(login.value().user, ":", login.value().password)
            var digest = sha256(pair.as_bytes())
            fields.set("Authorization", "Digest " + hex_text(Span(digest)))
    return fields^


def write_head(
    request: PreparedRequest, mut out: Buffer, config: ClientConfig
) raises ClientError:
    """Writes the head of the next attempt. Raises if a part of the request must
    not be sent."""
    var is_absolute = request.asks_proxy()
    if is_absolute or request.cookie.byte_length() > 0:
        var headers = request.headers.copy()
        _add_extra(request, headers, is_absolute)
        _write(request, out, is_absolute, headers, config)
    else:
        _write(request, out, False, request.headers, config)


def _add_extra(
    request: PreparedRequest, mut headers: HeaderMap, is_absolute: Bool
) raises ClientError:
    """Adds the cookies, and what a proxy is told that takes the request."""
    try:
        if request.cookie.byte_length() > 0 and "cookie" not in headers:
            headers.set("Cookie", request.cookie)
        if is_absolute and request.proxy.value()[].credentials:
            ref credentials = request.proxy.value()[].credentials
            if not credentials.is_digest():
                headers.set("Proxy-Authorization", credentials.field_value())
            else:
                ref turn = request.turn()
                if turn.proxy_field.byte_length() > 0:
                    headers.set("Proxy-Authorization", turn.proxy_field)
    except:
        raise bad_request(
            "cookies or the proxy's credentials hold a control octet"
        )


def _write(
    request: PreparedRequest,
    mut out: Buffer,
    is_absolute: Bool,
    headers: HeaderMap,
    config: ClientConfig,
) raises ClientError:
    var target = String(request.url.request_target())
    if is_absolute:
        target = url_without_credentials(request.url)
    var host = sent_host(request)
    var start = RequestStart(
        StringSpan(request.method), target, host, request.minor_version
    )
    # What the request has itself is left out of them there.
    if request.origin == RequestOrigin.OWN and not config.drops_codings(
        request.headers
    ):
        write_request_head(
            out, start, headers, config.headers, request.framing()
        )
        return
    var defaults = config.headers.copy()
    for index in range(len(config.headers)):
        var name = config.headers.name(index)
        if leaves_out(name, request, config):
            _ = defaults.remove(name)
    write_request_head(out, start, headers, defaults, request.framing())
