"""What is answered and logged when a handler raises, and the id that ties both."""

from flare.bytes.ascii import (
    equals_ignore_case,
    hex_text,
    write_visible,
)
from flare.bytes.checked import *
from flare.bytes.compare import same_octets
from flare.bytes.text import Text
from flare.http.message.header_map import HeaderMap
from flare.http.message.request import Request, RequestRecord
from flare.http.message.response import Response, internal_error
from flare.http.handler.operation import InputError
from flare.sys.clock import monotonic_ns, realtime_ns
from flare.sys.log import LibraryLine, give_line, has_line_taker, log_line
from flare.sys.random import fill_random


def bad_input_of(req: Request, error: Error) -> Optional[InputError]:
    """Tells what to answer if a handler raises what its request has refused to
    it; nothing if the error is the handler's.

    An error of Mojo carries a text and nothing else, and a client may have
    chosen parts of a text. So a text alone never makes an error the client's
    fault: the request remembers that it refused, and what it said. A handler
    that catches that error and raises another of its own is answered for with
    500 as ever.
    """
    # SAFETY: the storage outlives the request, and is copied from here.
    ref noted = req.route_params()[].bad_input
    if not noted or not same_octets(
        noted.held().detail.as_bytes(), String(error).as_bytes()
    ):
        return None
    ref bad_input = noted.held()
    return InputError(
        bad_input.status, bad_input.place, String(), bad_input.detail
    )


def failure_response(req: Request, error: Error) -> Response:
    """Makes what is answered for a handler that raises: a problem, mostly 400,
    if the request has refused input of the client; else a 500 that says nothing but the id, which
    stands in the log."""
    var bad_input = bad_input_of(req, error)
    if bad_input:
        return with_failure_fields(req, bad_input.held().response())
    var response = internal_error()
    try:
        response.headers.set("X-Request-Id", request_id(req))
    except error:
        # Never, since ids are visible ASCII.
        log_line(String(error))
    return with_failure_fields(req, response^)


@no_inline
def note_failure_fields(req: Request, fields: HeaderMap):
    """Has fields added to what is answered if a handler raises: middleware does
    so that would have set them on its response, and lets the error go on. What
    was noted further in stays."""
    ref params = req.route_params()[]
    var noted = fields.copy()
    if params.failure_fields:
        noted = params.failure_fields.held()[].copy()
        add_fields(noted, fields)
    params.note_failure_fields(noted^)


@no_inline
def with_failure_fields(req: Request, var response: Response) -> Response:
    """Adds what middleware has noted to an answer in place of a handler that has
    raised."""
    ref params = req.route_params()[]
    if params.failure_fields:
        add_fields(response.headers, params.failure_fields.held()[])
    return response^


def add_fields(mut headers: HeaderMap, more: HeaderMap):
    """Adds fields that middleware has set on what stands for a response; what
    was set further in wins, but for fields that are lists by their nature."""
    for index in range(len(more)):
        var name = more.name(index)
        if name in headers and not _is_list(name.as_bytes()):
            continue
        try:
            headers.append(name, more.value(index))
        except:
            # It was checked when it was set; a block that is full takes none.
            return


def _is_list(name: Span[UInt8, _]) -> Bool:
    return equals_ignore_case(name, "vary".as_bytes()) or equals_ignore_case(
        name, "set-cookie".as_bytes()
    )


@no_inline
def answer_failure(req: Request, error: Error) -> Response:
    """Logs what a handler or its middleware has raised, and makes what is
    answered in its place."""
    if not bad_input_of(req, error):
        log_failure(req, error)
    return failure_response(req, error)


def refusal(status: Int, var reason: String) -> Response:
    """Makes what is answered in place of a handler; with 503 goes Retry-After.
    The content says the reason, fit for strangers."""
    var response = Response(
        status, reason^, content_type="text/plain; charset=utf-8"
    )
    if status == 503:
        try:
            response.headers.set("Retry-After", "1")
        except error:
            # Never, for both are well-formed.
            log_line(String(error))
    return response^


def finished_refusal(var response: Response) raises -> Response:
    """Takes what `Handler.refuse` has made of a refusal. Raises if that is what
    it must not make of it: a success or a stream."""
    var code = response.status.code
    if code < 400 or code > 599 or response.body.is_stream():
        raise Error(
            Text().add("a refusal was made a stream or a ").add(code).end()
        )
    return response^


def failure_status(req: Request, error: Error) -> Int:
    """Tells with which status a server answers for a handler that raises: that
    of what the request has refused to it, mostly 400, else 500."""
    var bad_input = bad_input_of(req, error)
    return bad_input.held().status if bad_input else 500


def failure_line(req: Request, error: Error) -> String:
    """Writes what a handler raised, with the request line and the id, in one
    line without its end.

    Octets of the request are escaped, so that no request can forge a line.
    """
    var line = Text().add("handler failed: ").add(_one_line(String(error)))
    line = line^.add(" [")
    line = line^.add_escaped(req.method_name.as_bytes())
    line = line^.add(" ")
    line = line^.add_escaped(req.url.as_bytes())
    line = line^.add(" ").add(req.version).add(", from ").add(req.peer)
    line = line^.add(", id ").add(request_id(req)).add("]")
    return line^.end()


comptime _ERROR_LEN_MAX = 1_000
# Longer than an error that quotes a text (`ESCAPED_LEN_MAX`, each octet escaped)
# and says the rule behind it.


def _one_line(message: String) -> String:
    """Keeps an error in one line, and short. What it has escaped itself, such as
    octets of a request, stays as it is."""
    var octets = message.as_bytes()
    var line = String()
    write_visible(octets.before(min(len(octets), _ERROR_LEN_MAX)), line)
    if len(octets) > _ERROR_LEN_MAX:
        line.write("... (", len(octets), " bytes)")
    return line^


def log_failure(req: Request, error: Error):
    """Logs what a handler raised, unless `ServerConfig.logs_errors` is off."""
    if not req.route_params()[].record.logs_errors:
        return
    if has_line_taker():
        give_line(_failure(req, error))
    else:
        log_line(failure_line(req, error))


@no_inline
def _failure(req: Request, error: Error) -> LibraryLine:
    """Tells what a handler raised as fields."""
    var line = LibraryLine("handler failed", is_error=True)
    line.add("error", String(error))
    line.add("method", req.method_name)
    line.add("target", req.url)
    line.add("peer", String(req.peer))
    line.add("request_id", request_id(req))
    if req.route().byte_length() > 0:
        line.add("route", req.route())
    return line^


comptime _OWN_LEN = 16
# In octets; twice as many hex digits.


def request_id(req: Request) -> String:
    """Names a request, the same way for whoever asks: by 32 hex digits, or by
    what a `RequestId` took over from the client.

    The first to ask makes the id, and it stays with the request: a `RequestId`
    middleware, the access log, what is logged of a failure, a 500. Nothing is
    made for a request that nobody asks about.

    Args:
        req: The request that is being handled.
    """
    return recorded_id(req.route_params()[].record)


def recorded_id(mut record: RequestRecord) -> String:
    """Names the request that a record is of; see `request_id`."""
    if not record.has_id():
        record.set_id(_new_id().as_bytes())
    return String(record.id())


def _new_id() -> String:
    var octets = Array[UInt8, _OWN_LEN](uninitialized=True)
    try:
        fill_random(octets)
    except error:
        # Without random numbers, two clocks are the best there is.
        var time = UInt64(realtime_ns()) ^ (UInt64(monotonic_ns()) << 20)
        for index in range(_OWN_LEN):
            octets.at(index) = UInt8((time >> UInt64(index % 8 * 8)) & 255)
    return hex_text(Span(octets))
