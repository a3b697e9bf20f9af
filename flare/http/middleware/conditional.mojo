"""Answering clients that say what they have."""

from flare.bytes.base64 import base64url_text
from flare.bytes.checked import *
from flare.bytes.hash import sha256
from flare.http.conditional.conditional import (
    EntityTag,
    Precondition,
    Validators,
    evaluate_preconditions,
)
from flare.http.message.date import parse_http_date
from flare.http.message.method import Method
from flare.http.message.owned_request import OwnedRequest
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.handler.handler import Handler
from flare.http.handler.later import LaterStep, finish_later, is_later
from flare.http.routing.stack import Layer
from flare.sys.clock import unix_seconds

comptime ValidatorHook = def[o: ImmOrigin](Request[o]) raises thin -> Validators
"""Tells what the target of a request has now, before the handler is called."""

comptime _TAG_OCTETS = 16
# Of a digest: 128 bits, with which no two versions meet by chance.


struct Conditional[H: Handler](Layer):
    """Evaluates the conditions of requests, in RFC 9110 section 13.2.2 order.

        router.get("/notes/:id", Conditional(FnHandler(show), makes_tags=True))
        router.put("/notes/:id", Conditional(FnHandler(save), current_note))

    GET and HEAD are answered by the inner handler; a 2xx response becomes a 304
    or 412 by what its own ETag and Last-Modified say. Any other method must not
    be begun if its conditions fail, so it needs a hook that tells the current
    validators beforehand; without one it is left to the inner handler. Put
    guards outside, for who may not do a thing is not told its version, and
    `Compress` inside, which changes tags.

    Between the hook and the handler another client may be served. Where that
    matters the handler calls `evaluate_preconditions` itself, under its lock.

    Parameters:
        H: The inner handler's type.
    """

    comptime Inner = Self.H
    comptime Around[I: Handler]: Handler = Conditional[I]
    var handler: Self.H
    """What answers."""
    var makes_tags: Bool
    """Whether a 200 without ETag gets one, made from its content if that is in
    memory."""
    var _hook: Optional[ValidatorHook]

    def __init__(out self, var handler: Self.H, *, makes_tags: Bool = False):
        """Wraps a handler whose responses have validators."""
        self.handler = handler^
        self.makes_tags = makes_tags
        self._hook = None

    def __init__(
        out self,
        var handler: Self.H,
        hook: ValidatorHook,
        *,
        makes_tags: Bool = False,
    ):
        """Wraps a handler that changes things.

        Args:
            hook: Tells what the target has now; called before the handler, for
                requests with conditions and for GET and HEAD. What it raises
                goes to the caller, and the handler is not called.
        """
        self = Self(handler^, makes_tags=makes_tags)
        self._hook = hook

    def serve(self, req: Request) raises -> Response:
        """Lets the inner handler answer, unless a condition is against it,
        which makes a 304 or 412.

        Raises:
            Error: What the hook or the inner handler raises.
        """
        if req.method == Method.GET or req.method == Method.HEAD:
            return self._read(req)
        if self._hook and _has_conditions(req):
            var outcome = evaluate_preconditions(
                req.method, req.headers, self._hook.value()(req), unix_seconds()
            )
            if outcome == Precondition.FAILED:
                return Response(412)
        return self.handler.serve(req)

    def _read(self, req: Request) raises -> Response:
        # Asked first, so that content is never older than its validators: a
        # newer one is fetched again, an older one would be kept.
        var told = Validators()
        if self._hook:
            told = self._hook.value()(req)
        var response = self.handler.serve(req)
        var read = _Read(told^, self.makes_tags)
        if is_later(req, response):
            finish_later(
                req, response, _LateRead(read^, OwnedRequest(copy_of=req))
            )
            return response^
        return read.answer(req, response^)


@fieldwise_init
struct _Read(Movable):
    """A GET or HEAD whose response is judged by its own validators."""

    # What the target had before the handler was called.
    var told: Validators
    var makes_tags: Bool

    def answer(self, req: Request, var response: Response) raises -> Response:
        var code = response.status.code
        # Section 13.2.1: other responses are given as they are.
        if code < 200 or code > 299:
            return response^
        if "etag" not in response.headers:
            if self.told.exists and "last-modified" not in response.headers:
                self.told.describe(response.headers)
            if self.makes_tags:
                _add_tag(req, response)
        if not _has_conditions(req):
            return response^
        var now_s = unix_seconds()
        var outcome = evaluate_preconditions(
            req.method, req.headers, _validators(response, now_s), now_s
        )
        if outcome == Precondition.FAILED:
            return Response(412)
        if outcome == Precondition.NOT_MODIFIED:
            return _not_modified(response)
        return response^


@fieldwise_init
struct _LateRead(LaterStep):
    """Judges a response that is made later."""

    var read: _Read
    var request: OwnedRequest

    def finish(mut self, var response: Response) raises -> Response:
        return self.read.answer(self.request.view(), response^)


def _has_conditions(req: Request) -> Bool:
    for name in [
        "if-match",
        "if-unmodified-since",
        "if-none-match",
        "if-modified-since",
    ]:
        if name in req.headers:
            return True
    return False


def _validators(response: Response, now_s: Int) -> Validators:
    """Reads the validators of a response; malformed ones are none."""
    var validators = Validators()
    validators.exists = True
    var tag = response.headers.get("etag")
    if tag:
        try:
            validators.entity_tag = EntityTag.parse(tag.value().as_bytes())
        except:
            pass
    var date = response.headers.get("last-modified")
    if date:
        validators.modified_s = parse_http_date(date.value().as_bytes(), now_s)
    return validators^


def _add_tag(req: Request, mut response: Response) raises:
    """Makes a strong tag (RFC 9110 section 8.8.3) from the content."""
    if response.status != 200 or response.body.is_stream():
        return
    if "etag" in response.headers:
        return
    # A handler of HEAD may have left the content away.
    if req.method == Method.HEAD and len(response.body) == 0:
        return
    var digest = sha256(response.body.as_bytes())
    var tag = EntityTag(base64url_text(Span(digest).before(_TAG_OCTETS)))
    response.headers.set("ETag", String(tag))


def _not_modified(response: Response) raises -> Response:
    """Makes the 304 of a 2xx response (RFC 9110 section 15.4.5).

    All fields stay but those that describe content which is not sent.
    """
    var short = Response(304)
    short.headers = response.headers.copy()
    for name in [
        "Content-Type",
        "Content-Encoding",
        "Content-Language",
        "Content-Length",
        "Content-Range",
        "Accept-Ranges",
    ]:
        _ = short.headers.remove(name)
    return short^
