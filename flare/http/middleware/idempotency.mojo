"""Requests that may be repeated: the first answer is given again."""

from flare.bytes.ascii import find_octet
from flare.bytes.base64 import base64url_text
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.copy import list_of, text_of
from flare.bytes.hash import Sha256
from flare.bytes.text import Text
from flare.http.message.body import (
    Body,
    BodySource,
    BodyStream,
    HoldsSource,
    Poll,
)
from flare.http.message.method import Method
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.message.trailers import Trailers
from flare.http.middleware.idempotency_store import (
    AnyIdempotencyStore,
    IdempotencyStore,
    KeyClaim,
    KeyState,
)
from flare.http.middleware.rate_limit import RateKey
from flare.http.handler.failure import refusal
from flare.http.handler.handler import Handler, RequestPolicy, is_head_only
from flare.http.handler.later import LaterStep, finish_later, is_later
from flare.http.routing.stack import Layer
from flare.sys.log import log_line
from flare.sys.random import fill_random
from std.atomic import Atomic
from std.memory import ArcPointer

comptime _KEY_LEN_MAX = 255
comptime _OWNER_LEN = 16
# Random octets that tell one attempt from all others.


def by_authorization(req: Request) -> String:
    """Takes the credentials of a request for whose it is.

    Args:
        req: The request.

    Returns:
        Its Authorization field; empty if it has none.
    """
    return req.headers.get("authorization", "")


comptime _COPY_COUNT_MAX = 64
# So many answers of the greatest length are copied at once while they are made.

comptime _TIME_S_MAX = 100 * 366 * 86_400
# A century, in seconds. Longer ones count as this, so that no store that counts
# in milliseconds goes beyond its numbers.


struct IdempotencyConfig(Copyable, Movable):
    """How repeated requests are treated."""

    var is_required: Bool
    """Whether a POST or PATCH without a key is answered with 400. Default
    False."""
    var keep_s: Int
    """How long first answers are kept, in seconds. Default a day."""
    var lock_s: Int
    """How long a request may be carried out, in seconds. One that was lost on
    the way, with its process, may be repeated from then on. Default a minute.
    """
    var max_response_size: Int
    """Most content of an answer that is kept, in bytes. Of a longer one it is
    known only that the request was carried out; so it is of one that is streamed
    without an end, has trailers, or breaks off, or while 64 times as much is
    being streamed. Default 1 MiB."""
    var goes_without: Bool
    """Whether requests are carried out while the store cannot be asked, as if
    they had no key; else they are answered with 503. Default False."""
    var scope: RateKey
    """Tells whose key it is: keys of others are other keys. Default
    `by_authorization`."""

    def __init__(
        out self,
        *,
        is_required: Bool = False,
        keep_s: Int = 86_400,
        lock_s: Int = 60,
        max_response_size: Int = 1024 * 1024,
        goes_without: Bool = False,
        scope: RateKey = by_authorization,
    ) raises:
        """Chooses.

        Raises:
            Error: If a number is out of its range.
        """
        if keep_s < 1 or lock_s < 1 or max_response_size < 0:
            raise Error(
                "IdempotencyConfig: keep_s is ",
                keep_s,
                ", lock_s ",
                lock_s,
                " and max_response_size ",
                max_response_size,
                "; at least 1, 1 and 0 are allowed",
            )
        self.is_required = is_required
        self.keep_s = min(keep_s, _TIME_S_MAX)
        self.lock_s = min(lock_s, _TIME_S_MAX)
        self.max_response_size = max_response_size
        self.goes_without = goes_without
        self.scope = scope


struct Idempotency[H: Handler](Layer):
    """Carries a POST or PATCH with an Idempotency-Key out once, however often it
    is sent (draft-ietf-httpapi-idempotency-key-header).

        router.post("/orders", Idempotency(FnHandler(save), LocalIdempotency()))

    A repeated request gets the first answer, with `Idempotent-Replayed: true`.
    While the first is under way it is 409, and 422 if the key was used for
    another target, type or content. An answer of 408, 421, 425, 429 or from 500
    up, a refusal for which the content was not waited for, and an error decide
    nothing: the request may come again. Where a client went away before there
    was an answer, or a process died, the key is held for `lock_s`.

    With `RedisIdempotency` in place of `LocalIdempotency` all processes know of
    all keys. The whole content is compared, so it is waited for also where the
    inner handler would read it while it arrives (`Streamed`, `ReverseProxy`).

    Parameters:
        H: The inner handler's type.
    """

    comptime Inner = Self.H
    comptime Around[I: Handler]: Handler = Idempotency[I]
    var handler: Self.H
    """What answers."""
    var _answers: ArcPointer[FirstAnswers]

    def __init__[
        S: IdempotencyStore
    ](
        out self,
        var handler: Self.H,
        var store: S,
        var config: IdempotencyConfig,
    ):
        """Wraps a handler.

        Parameters:
            S: The store's type.

        Args:
            store: Keeps first answers.
            config: How repeated requests are treated.
        """
        self.handler = handler^
        self._answers = ArcPointer(
            FirstAnswers(AnyIdempotencyStore(store^), config^)
        )

    def __init__[
        S: IdempotencyStore
    ](out self, var handler: Self.H, var store: S) raises:
        """Wraps a handler; all else has its default.

        Raises:
            Error: Never.
        """
        self = Self(handler^, store^, IdempotencyConfig())

    def serve(self, req: Request) raises -> Response:
        """Lets the inner handler answer, or gives its first answer again."""
        if not _may_have_key(req):
            return self.handler.serve(req)
        ref answers = self._answers[]
        var known = answers.begin(req)
        if known.response:
            return known.response.take()
        if not known.is_held:
            return self.handler.serve(req)
        try:
            var response = self.handler.serve(req)
            if is_later(req, response):
                finish_later(
                    req,
                    response,
                    _LateAnswer(self._answers, known.claim.copy()),
                )
            elif is_head_only(req) and response.status.code >= 400:
                # Refused without its content, which the key goes with.
                answers.forget(known.claim)
            else:
                _end(self._answers, known.claim, response)
            return response^
        except error:
            answers.forget(known.claim)
            raise error^

    def policy_for(self, req: Request) -> RequestPolicy:
        """Gives what the inner handler says, but after the content if there is
        a key: it is compared before."""
        var policy = self.handler.policy_for(req)
        if _may_have_key(req) and "idempotency-key" in req.headers:
            policy.streams = False
        return policy


def _may_have_key(req: Request) -> Bool:
    return req.method == Method.POST or req.method == Method.PATCH


@fieldwise_init
struct _LateAnswer(LaterStep):
    """Keeps an answer that is made later. One that nobody waits for any more
    may have been carried out, so its key stays held."""

    var answers: ArcPointer[FirstAnswers]
    var claim: KeyClaim

    def finish(mut self, var response: Response) raises -> Response:
        _end(self.answers, self.claim, response)
        return response^


def _end(
    answers: ArcPointer[FirstAnswers], claim: KeyClaim, mut response: Response
):
    """Keeps an answer, one that is made piece by piece when all of it was."""
    answers[].end(claim, response)
    if not answers[].may_keep_pieces(response):
        return
    var inner = response.body.stream()
    var length = inner[].length
    response.body = Body(
        _KeptAnswer(inner, answers, claim.copy(), write_answer(response)),
        length=length,
    )


struct _KeptAnswer(BodySource, HoldsSource):
    """Passes content on, and keeps the answer with it when all of it is there."""

    var _inner: ArcPointer[BodyStream]
    var _answers: ArcPointer[FirstAnswers]
    var _claim: KeyClaim
    # The answer so far; nothing once it is kept, or will not be.
    var _answer: Optional[List[UInt8]]
    # What of its content counts among all copies under way, in bytes.
    var _counted_len: Int
    var _trailers: Trailers

    def __init__(
        out self,
        inner: ArcPointer[BodyStream],
        answers: ArcPointer[FirstAnswers],
        var claim: KeyClaim,
        var head: List[UInt8],
    ):
        self._inner = inner.copy()
        self._answers = answers.copy()
        self._claim = claim^
        self._answer = head^
        self._counted_len = 0
        self._trailers = Trailers()

    def __deinit__(deinit self):
        """Gives the room of its copy back."""
        _ = self._answers[].count_copy(-self._counted_len)

    def source(self) -> ArcPointer[BodyStream]:
        return self._inner

    def fill(mut self, mut out: Buffer) raises -> Poll:
        var start = len(out)
        var poll = self._inner[].fill(out)
        self._copy_piece(out.span().after(start))
        if poll == Poll.DONE:
            self._trailers = self._inner[].trailers()
            self._keep()
        return poll

    def _copy_piece(mut self, piece: Span[UInt8, _]):
        if not self._answer:
            return
        self._counted_len += len(piece)
        ref answers = self._answers[]
        if (
            not answers.count_copy(len(piece))
            or self._counted_len > answers.config.max_response_size
        ):
            self._give_up()
        else:
            self._answer.value().extend(piece)

    def _give_up(mut self):
        """Keeps nothing, and gives the room of the copy back."""
        self._answer = None
        _ = self._answers[].count_copy(-self._counted_len)
        self._counted_len = 0

    def _keep(mut self):
        if not self._answer or self._trailers:
            return
        # One of another length breaks off.
        var length = self._inner[].length
        if length.or_else(self._counted_len) == self._counted_len:
            self._answers[].keep(self._claim, self._answer.take())

    def trailers(mut self) raises -> Trailers:
        return self._trailers.copy()

    def end_early(mut self, mut out: Buffer) -> Poll:
        self._give_up()
        return self._inner[].end_early(out)


struct _Known(Movable):
    """What is to be done with a request."""

    # The answer, if it is not for the handler.
    var response: Optional[Response]
    # Whether the key is held for it.
    var is_held: Bool
    var claim: KeyClaim

    def __init__(out self):
        self.response = None
        self.is_held = False
        self.claim = KeyClaim(String(), String(), String())


struct FirstAnswers(Movable):
    """The keys of requests and their answers, by the rules."""

    var store: AnyIdempotencyStore
    var config: IdempotencyConfig
    var _copied_len: Atomic[Int64]

    def __init__(
        out self,
        var store: AnyIdempotencyStore,
        var config: IdempotencyConfig,
    ):
        self.store = store^
        self.config = config^
        self._copied_len = Atomic[Int64](0)

    def count_copy(mut self, length: Int) -> Bool:
        """Counts so much more, or less, of copies under way; False if they are
        too long all together."""
        var before = Int(self._copied_len.fetch_add(Int64(length)))
        return (
            before + length <= _COPY_COUNT_MAX * self.config.max_response_size
        )

    def begin(self, req: Request) -> _Known:
        """Takes the key of a request, and tells what is to be done with it."""
        var known = _Known()
        var count = 0
        for line in req.headers.get_all("idempotency-key"):
            count += 1
            known.claim.key = _key_of(line)
        if count == 0:
            if self.config.is_required:
                known.response = refusal(
                    400, "this request needs an Idempotency-Key\n"
                )
            return known^
        if count > 1 or known.claim.key == "":
            known.response = refusal(
                400,
                "Idempotency-Key: one key of 1 to 255 visible ASCII characters"
                " is allowed\n",
            )
            return known^
        known.claim.key = _digest(
            self.config.scope(req), known.claim.key, "", "".as_bytes()
        )
        known.claim.fingerprint = _digest(
            req.method_name,
            req.url,
            req.headers.get("content-type", ""),
            req.body,
        )
        try:
            self._ask(known)
        except error:
            _log("the store cannot be asked", error)
            if not self.config.goes_without:
                known.response = refusal(503, "keys cannot be looked up now\n")
        return known^

    def _ask(self, mut known: _Known) raises:
        known.claim.owner = _new_owner()
        var record = self.store.begin(known.claim, self.config.lock_s * 1_000)
        if record.state == KeyState.NEW:
            known.is_held = True
        elif record.state == KeyState.OTHER:
            known.response = refusal(
                422, "this Idempotency-Key was used for another request\n"
            )
        elif record.state == KeyState.BUSY:
            known.response = refusal(
                409, "a request with this Idempotency-Key is under way\n"
            )
            known.response.value().headers.set("Retry-After", "1")
        elif len(record.answer) == 0:
            known.response = refusal(
                409,
                "this request was carried out; its answer is not kept, or not"
                " yet\n",
            )
        else:
            var response = read_answer(record.answer)
            response.headers.set("Idempotent-Replayed", "true")
            known.response = response^

    def end(self, claim: KeyClaim, response: Response):
        """Keeps an answer, or lets the key be used again."""
        if _decides_nothing(response):
            self.forget(claim)
            return
        var answer = List[UInt8]()
        var is_long = (
            response.body.is_stream()
            or len(response.body) > self.config.max_response_size
        )
        if not is_long:
            answer = write_answer(response)
        self.keep(claim, answer)

    def may_keep_pieces(self, response: Response) -> Bool:
        """Tells whether an answer that is made piece by piece may be kept."""
        if not response.body.is_stream() or response.body.listens():
            return False
        var stream = response.body.stream()
        return not (
            _decides_nothing(response)
            or stream[].is_endless()
            or stream[].length.or_else(0) > self.config.max_response_size
        )

    def keep(self, claim: KeyClaim, answer: List[UInt8]):
        try:
            self.store.finish(claim, answer, self.config.keep_s * 1_000)
        except error:
            _log("an answer could not be kept", error)

    def forget(self, claim: KeyClaim):
        try:
            self.store.forget(claim)
        except error:
            _log("a key could not be released", error)


def _decides_nothing(response: Response) -> Bool:
    """Tells whether nothing was done, so that the same may be sent again: also
    after 408 and 421 (RFC 9110 sections 15.5.9 and 15.5.20) and 425 (RFC 8470
    section 5.2)."""
    var code = response.status.code
    return (
        code == 408 or code == 421 or code == 425 or code == 429 or code >= 500
    )


def _log(what: StaticString, error: Error):
    log_line(Text().add("idempotency: ").add(what).add(": ").add(error).end())


def _new_owner() raises -> String:
    var random = Array[UInt8, _OWNER_LEN](fill=0)
    fill_random(Span(random))
    return base64url_text(Span(random))


def _key_of(line: StringSpan) -> String:
    """Reads a key: a structured-fields string, or the same without quotes."""
    var octets = line.as_bytes()
    if (
        len(octets) > 1
        and octets.at(0) == 34
        and octets.at(len(octets) - 1) == 34
    ):
        octets = octets.between(1, len(octets) - 1)
    if len(octets) > _KEY_LEN_MAX:
        return String()
    for octet in octets:
        if octet <= 32 or octet >= 127 or octet == 34 or octet == 92:
            return String()
    return text_of(octets)


def _digest(
    first: StringSpan,
    second: StringSpan,
    third: StringSpan,
    content: Span[UInt8, _],
) -> String:
    """Names several parts, each with its length, by 43 characters."""
    var hash = Sha256()
    for part in [first.as_bytes(), second.as_bytes(), third.as_bytes()]:
        hash.update(String(len(part), ":").as_bytes())
        hash.update(part)
    hash.update(content)
    var digest = hash^.finish()
    return base64url_text(Span(digest))


def write_answer(response: Response) -> List[UInt8]:
    """Writes a response, with content in memory, for a store: a line with the
    status, a line for each field, an empty line, content."""
    var octets = List[UInt8]()
    octets.extend(String(response.status.code, "\n").as_bytes())
    for index in range(len(response.headers)):
        octets.extend(response.headers.name(index).as_bytes())
        octets.append(58)
        octets.extend(response.headers.value(index).as_bytes())
        octets.append(10)
    octets.append(10)
    octets.extend(response.body.as_bytes())
    return octets^


def read_answer(octets: Span[UInt8, _]) raises -> Response:
    var response = Response(200)
    var start = 0
    var is_first = True
    for index in range(len(octets)):
        if octets.at(index) != 10:
            continue
        var line = octets.between(start, index)
        start = index + 1
        if is_first:
            var code = Int(String(from_utf8=line))
            if code < 200 or code > 599:
                raise Error("what is kept of an answer has the status ", code)
            response.status = code
            is_first = False
        elif len(line) == 0:
            response.body = Body(list_of(octets.after(start)))
            return response^
        else:
            var colon = find_octet(line, 58)
            if colon == len(line):
                raise Error("what is kept of an answer has a line without ':'")
            response.headers.append(
                String(from_utf8=line.before(colon)),
                StringSpan(unsafe_from_utf8=line.after(colon + 1)),
            )
    raise Error("what is kept of an answer has no end")
