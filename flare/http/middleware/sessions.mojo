"""Sessions of clients, from cookie to handler and back."""

from flare.bytes.base64 import base64url_text
from flare.bytes.erased import Erased, ErasedBox
from flare.http.message.extensions import ExtensionScope
from flare.http.message.fields import Fields
from flare.http.message.form import FORM_PAIR_COUNT_MAX
from flare.http.message.header_map import add_vary
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.handler.failure import log_failure, refusal
from flare.http.handler.handler import Handler
from flare.http.handler.operation import Input, InputError, Operation
from flare.http.handler.surroundings import Surroundings
from flare.http.routing.stack import Layer
from flare.http.session.session import (
    CSRF_NAME,
    CSRF_RANDOM_LEN,
    Session,
    SessionConfig,
    has_csrf_token,
    issue_csrf_token,
)
from flare.http.session.signing_keys import SigningKeys
from flare.http.session.store import SessionStore
from flare.sys.clock import unix_seconds
from flare.sys.random import fill_random
from std.memory import ArcPointer

comptime STORED_LEN_MAX = 65_536
"""Longest session that is given to a store, as an encoded form, in bytes: it is
read at each request that asks for it."""
comptime _ID_LEN = 32
# Random octets of a session's id.


struct Sessions[H: Handler](Layer):
    """Reads the session of each request, and sends it back if it was changed.

        def login(req: Request) raises -> Response:
            CurrentSession.of(req)[].set("user", "7")
            return ok("welcome")

        var keys = SigningKeys("newest key ...", "older key ...")
        server.serve(Sessions(router^, keys^))

    A session that is changed, or was signed with an older key, goes back in a
    new cookie; one that was emptied is ended. Nothing is sent if the handler
    raises. Responses of handlers that ask for the session say so to caches
    (Vary, RFC 9110 section 12.5.5).

    With a `SessionStore`, such as `RedisSessions`, the cookie has a signed id
    and the store has the values: many more of them, out of sight of the client,
    and a session can be ended from outside. The store is asked only where a
    handler asks for the session; where it cannot be, the answer is 503. Two
    requests of one session at once: what is saved last stays. But if one of
    them, or `RedisSessions.revoke_owner`, ends or renews it, what the other
    changes is not kept, and no cookie is sent: see `CurrentSession.save`.

    Parameters:
        H: The inner handler's type.
    """

    comptime Inner = Self.H
    comptime Around[I: Handler]: Handler = Sessions[I]
    var handler: Self.H
    """What answers."""
    var config: SessionConfig
    """How sessions are kept."""
    var _keys: ArcPointer[SigningKeys]
    var _store: Optional[ArcPointer[_Store]]

    def __init__(
        out self,
        var handler: Self.H,
        var keys: SigningKeys,
        var config: SessionConfig = SessionConfig(),
    ):
        """Wraps a handler.

        Args:
            keys: What signs sessions; the first key signs new ones.
        """
        self.handler = handler^
        self.config = config^
        self._keys = ArcPointer(keys^)
        self._store = None

    def __init__[
        S: SessionStore
    ](
        out self,
        var handler: Self.H,
        var keys: SigningKeys,
        var config: SessionConfig = SessionConfig(),
        *,
        var store: S,
    ):
        """Wraps a handler; cookies have an id, and a store has the values.

        Parameters:
            S: The store's type.

        Args:
            keys: What signs ids; the first key signs new ones.
            store: Keeps the values, such as `RedisSessions`.
        """
        self = Self(handler^, keys^, config^)
        self._store = ArcPointer(_Store(store^))

    def serve(self, req: Request) raises -> Response:
        """Lets the inner handler answer, with a session at hand.

        Raises:
            Error: What the inner handler raises; or `CookieError` if the
                session has become too long for a cookie, or an error if it is
                longer than `STORED_LEN_MAX`.
        """
        var now_s = unix_seconds()
        if self._store:
            return self._serve_stored(req, now_s)
        var session = Session.read(
            req.headers, self._keys[], self.config, now_s
        )
        var current = CurrentSession(_Visit(session^, self._keys))
        var scope = ExtensionScope(req.extensions(), current)
        var response = self.handler.serve(req)
        scope^.end()
        ref visit = current._visit[]
        if visit.is_seen:
            add_vary(response.headers, "Cookie")
        if visit.session.is_changed():
            response.set_cookie(
                visit.session.cookie(self._keys[], self.config, unix_seconds())
            )
        return response^

    def problem(self, around: Surroundings) -> String:
        """Tells why no session can be kept: what is wrong with the
        configuration, or further in; empty if all is well."""
        var problem = self.config.problem()
        if problem.byte_length() > 0:
            return problem^
        return self.handler.problem(around)

    @no_inline
    def _serve_stored(self, req: Request, now_s: Int) raises -> Response:
        """Lets the inner handler answer; the store is asked when it wants to see
        the session."""
        var stored = self._store.value()
        var session = stored[].read(
            req.headers, self._keys[], self.config, now_s
        )
        var visit = _Visit(session^, self._keys)
        visit.store = stored
        visit.max_age_s = self.config.max_age_s
        var current = CurrentSession(visit^)
        try:
            var scope = ExtensionScope(req.extensions(), current)
            var response = self.handler.serve(req)
            scope^.end()
            ref seen = current._visit[]
            stored[].save(seen)
            if not seen.has_failed:
                if seen.is_seen:
                    add_vary(response.headers, "Cookie")
                if seen.is_told and not seen.is_lost:
                    response.set_cookie(
                        seen.session.id_cookie(
                            self._keys[], self.config, unix_seconds()
                        )
                    )
                return response^
        except error:
            if not current._visit[].has_failed:
                raise error^
            log_failure(req, error)
        return refusal(503, "sessions cannot be reached now\n")


struct _Visit(Movable):
    """A session in the course of one request."""

    var session: Session
    var keys: ArcPointer[SigningKeys]
    var store: Optional[ArcPointer[_Store]]
    var is_seen: Bool
    # Whether the store could not be asked.
    var has_failed: Bool
    # Whether the client is to have a cookie.
    var is_told: Bool
    # Whether the session was ended by somebody else since it was loaded.
    var is_lost: Bool
    # How long the store keeps it.
    var max_age_s: Int

    def __init__(out self, var session: Session, keys: ArcPointer[SigningKeys]):
        self.session = session^
        self.keys = keys
        self.store = None
        self.is_seen = False
        self.has_failed = False
        self.is_told = False
        self.is_lost = False
        self.max_age_s = 0

    def see(mut self) raises:
        """Notes that a handler wants the session, and fetches its values."""
        if self.is_seen:
            return
        self.is_seen = True
        if self.store and self.session.id != "":
            var stored = self.store.value()
            self.has_failed = True
            stored[].load(self.session)
            self.has_failed = False


comptime _Read = def[o: ImmOrigin](
    Fields[o], SigningKeys, SessionConfig, Int
) thin -> Session


struct _Store(Movable):
    """A store of any type, and what is done with it: only programs that name one
    have the code of that."""

    # SAFETY: the functions were made for its type.
    var _store: ErasedBox
    var read: _Read
    var _load: def(Erased, mut Session) raises thin -> None
    var _save: def(Erased, mut _Visit) raises thin -> None

    def __init__[S: SessionStore](out self, var store: S):
        self._store = ErasedBox(store^)
        self.read = _read
        self._load = _load[S]
        self._save = _save[S]

    def load(self, mut session: Session) raises:
        """Fetches the values of a session."""
        self._load(self._store.at, session)

    def save(self, mut visit: _Visit) raises:
        """Keeps what the handler has changed."""
        if not visit.is_seen or visit.has_failed or visit.is_lost:
            return
        if not visit.session.is_changed():
            return
        var text = visit.session.values_text()
        var length = text.byte_length()
        var count = text.count("&") + 1
        if length > STORED_LEN_MAX or count > FORM_PAIR_COUNT_MAX:
            # More values could not be read again.
            raise Error(
                "the session has ",
                length,
                " bytes and ",
                count,
                " values, and a store keeps ",
                STORED_LEN_MAX,
                " bytes and ",
                FORM_PAIR_COUNT_MAX,
                " values at most; keep an id in it, and the rest elsewhere",
            )
        visit.has_failed = True
        self._save(self._store.at, visit)
        visit.has_failed = False
        visit.is_told = True
        visit.session.note_saved()


def _read[
    o: ImmOrigin
](
    fields: Fields[o], keys: SigningKeys, config: SessionConfig, now_s: Int
) -> Session:
    return Session.read_id(fields, keys, config, now_s)


def _load[S: SessionStore](erased: Erased, mut session: Session) raises:
    # SAFETY: `_Store` made the pointer from an S of its own.
    ref store = erased.unsafe_bitcast[S]()[]
    var values = store.load(session.id)
    if values:
        session.fill(values.take())
    else:
        # It has ended; what is set now is another session.
        session.id = String()


def _save[S: SessionStore](erased: Erased, mut visit: _Visit) raises:
    # SAFETY: as for `_load`.
    ref store = erased.unsafe_bitcast[S]()[]
    ref session = visit.session
    if session.is_empty():
        if session.id != "":
            store.remove(session.id)
            session.id = String()
        return
    var text = session.values_text()
    if session.id == "":
        session.id = _new_id()
        store.save(session.id, text, visit.max_age_s)
        return
    var id = _new_id() if session.is_renewed() else session.id.copy()
    visit.is_lost = not store.replace(session.id, id, text, visit.max_age_s)
    session.id = id^


def _new_id() raises -> String:
    var random = Array[UInt8, _ID_LEN](fill=0)
    fill_random(Span(random))
    return base64url_text(Span(random))


struct CurrentSession(ImplicitlyCopyable, Input):
    """The session of the request that is being handled.

        var session = CurrentSession.of(req)
        var user = session[].get("user")

    Or a field of an endpoint: `var session: CurrentSession`. It is of no use
    when the handler has answered.
    """

    var _visit: ArcPointer[_Visit]

    def __init__(out self, var _visit: _Visit):
        """Stands for a session; `Sessions` makes it.

        Args:
            _visit: The session and its keys.
        """
        self._visit = ArcPointer(_visit^)

    @staticmethod
    def of(req: Request) raises -> Self:
        """Finds the session of a request that the innermost `Sessions` around
        the handler keeps.

        Args:
            req: The request that is being handled.

        Raises:
            Error: If there is no `Sessions` around the handler; or if the store
                that it keeps sessions in cannot be asked, which is answered
                with 503 then.
        """
        # SAFETY: the Sessions that lends its note is in the midst of a call.
        var found = req.extension[Self]()
        if not found:
            raise Error(
                "no Sessions around this handler keeps a session; serve"
                " Sessions(router^, keys^)"
            )
        var current = found.value()[]
        current._visit[].see()
        return current

    @staticmethod
    def extract(req: Request) raises InputError -> Self:
        """Finds the session for a field of an endpoint.

        Raises:
            InputError: 500 if there is no `Sessions` around the endpoint.
        """
        try:
            return Self.of(req)
        except error:
            raise InputError(500, "session", String(), String(error))

    @staticmethod
    def describe(mut operation: Operation):
        """Says nothing: it is no input of which documents tell."""
        _ = operation

    def __getitem__[
        o: ImmOrigin
    ](ref[o] self) -> ref[o.unsafe_mut_cast[True]()] Session:
        """Lends the session, to read and to change.

        Parameters:
            o: The origin of this handle, which keeps the session.
        """
        # SAFETY: the visit lives on the heap for as long as this handle, and
        # one request is in the hands of one thread.
        return (
            Pointer(to=self._visit[].session)
            .unsafe_mut_cast[True]()
            .unsafe_origin_cast[o.unsafe_mut_cast[True]()]()[]
        )

    def save(self) raises -> Bool:
        """Keeps what was changed at once, for a handler that has to know: by
        itself a session is kept behind its handler, which then has answered.

            if not CurrentSession.of(req).save():
                return Response(409)

        Returns:
            False if the session was in a store, and has ended since this
            request has read it: by a log-out, a renewal, or from outside.
            Nothing of it is kept, nor is what is changed from now on. Always
            True for a session that lives in its cookie.

        Raises:
            Error: If the store cannot be asked, which is answered with 503.
        """
        ref visit = self._visit[]
        if visit.store:
            var stored = visit.store.value()
            stored[].save(visit)
        return not visit.is_lost

    def csrf_token(self) raises -> String:
        """Gives a token for a form of this session, or for its scripts, in
        digits that need no quoting.

        The first one adds a random value of the name `CSRF_NAME` to the
        session; when that goes, as at a log-out or with `renew`, its tokens are
        void.

        Raises:
            Error: If the system has no random octets.
        """
        ref visit = self._visit[]
        var random = Array[UInt8, CSRF_RANDOM_LEN](fill=0)
        if not visit.session.get(CSRF_NAME):
            fill_random(Span(random))
            visit.session.set(String(CSRF_NAME), base64url_text(Span(random)))
        fill_random(Span(random))
        return issue_csrf_token(
            visit.keys[], visit.session.get(CSRF_NAME).value(), random
        )

    def has_csrf_token(self, token: StringSpan) -> Bool:
        """Tells whether a token was made for this session. Answer 403
        otherwise, and change nothing.

        Args:
            token: What came with the request, in a field of the form or in a
                header field, never in a cookie.
        """
        ref visit = self._visit[]
        var bound = visit.session.get(CSRF_NAME)
        if not bound:
            return False
        return has_csrf_token(visit.keys[], bound.value(), token.as_bytes())
