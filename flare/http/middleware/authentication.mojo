"""Basic and Bearer credentials required of requests (RFC 7617, RFC 6750)."""

from flare.bytes.hash import equals_in_constant_time
from flare.http.message.authorization import (
    BasicCredentials,
    has_scheme,
    parse_basic,
    parse_bearer,
)
from flare.http.message.extensions import ExtensionScope
from flare.http.message.header_map import check_field
from flare.http.message.request import Request
from flare.http.message.response import Response, bad_request, unauthorized
from flare.http.handler.handler import Handler, RequestPolicy, refuses_by_head
from flare.http.handler.operation import Operation, SecurityScheme
from flare.http.routing.stack import Layer


trait PasswordCheck(Deinitable, Movable):
    """Knows the passwords of users; asked by several threads at once."""

    comptime IS_QUICK: Bool = False
    """True if `allows` takes next to no time. It is then also called on the
    worker's own thread before the content of a request is taken, so that a
    stranger's is not; if not, only requests without credentials are refused so
    early."""

    def allows(self, credentials: BasicCredentials) raises -> Bool:
        """Tells whether a user may enter; unknown users should take the same
        time.

        Args:
            credentials: What the client sent.

        Raises:
            Error: If it cannot be found out; the server answers 500.
        """
        ...


struct KnownUsers(PasswordCheck):
    """A fixed list of users with their passwords, for few and internal ones.

    Passwords lie in memory as they are. For people's own passwords write a
    `PasswordCheck` over a slow hash.
    """

    comptime IS_QUICK = True
    """The list is in memory."""
    var _users: List[BasicCredentials]

    def __init__(out self):
        """Makes a list without users, which lets nobody in."""
        self._users = []

    def __init__(out self, var user: String, var password: String):
        """Makes a list of one user.

        Args:
            user: The user's name.
            password: The user's password.
        """
        self._users = [BasicCredentials(user^, password^)]

    def add(mut self, var user: String, var password: String):
        """Adds a user."""
        self._users.append(BasicCredentials(user^, password^))

    def allows(self, credentials: BasicCredentials) raises -> Bool:
        """Tells whether name and password are those of a user; all users are
        looked at, always.

        Raises:
            Error: Never.
        """
        var is_known = False
        for ref known in self._users:
            var same_user = equals_in_constant_time(
                known.user.as_bytes(), credentials.user.as_bytes()
            )
            var same_password = equals_in_constant_time(
                known.password.as_bytes(), credentials.password.as_bytes()
            )
            is_known = is_known or (same_user and same_password)
        return is_known


struct RequireBasicAuth[H: Handler, C: PasswordCheck](Layer):
    """Answers 401 to requests without the credentials of a user (RFC 7617).

        router.get("/admin", RequireBasicAuth(Admin(), KnownUsers("ann", "secret")))

    The password travels as good as open: serve such a route by TLS alone.
    Inner handlers find the user by `principal(req)`.

    Parameters:
        H: The inner handler's type.
        C: The type of what knows the users.
    """

    comptime Inner = Self.H
    comptime Around[I: Handler]: Handler = RequireBasicAuth[I, Self.C]
    var handler: Self.H
    """What answers those who may enter."""
    var check: Self.C
    """Knows who may."""
    var _challenge: String

    def __init__(
        out self,
        var handler: Self.H,
        var check: Self.C,
        realm: StringSpan = "restricted",
    ) raises:
        """Wraps a handler.

        Args:
            realm: What is guarded; browsers show it.

        Raises:
            Error: If the realm cannot stand between quotes in a field.
        """
        self.handler = handler^
        self.check = check^
        self._challenge = challenge("Basic", realm) + ', charset="UTF-8"'

    def serve(self, req: Request) raises -> Response:
        """Lets the inner handler answer those who may enter.

        Returns:
            The response; 401 without credentials that are good, or with more
            than one Authorization field.

        Raises:
            Error: What the inner handler or the check raises.
        """
        var sent = _credentials(req)
        if sent and self.check.allows(sent.value()):
            if not refuses_by_head(req, self.handler):
                var note = Principal(sent.value().user)
                var scope = ExtensionScope(req.extensions(), note)
                var response = self.handler.serve(req)
                scope^.end()
                return response^
        var refusal = unauthorized()
        refusal.headers.set("WWW-Authenticate", self._challenge)
        return refusal^

    def policy_for(self, req: Request) -> RequestPolicy:
        """Gives what the inner handler says, or that the head is enough: the
        content of who may not enter is not needed."""
        var sent = _credentials(req)
        if not sent:
            return RequestPolicy.by_head()
        comptime if Self.C.IS_QUICK:
            try:
                if not self.check.allows(sent.value()):
                    return RequestPolicy.by_head()
            except:
                # `serve` meets it again, and says so.
                pass
        return policy_behind[Self.C.IS_QUICK](req, self.handler)

    def describe(self, mut operation: Operation):
        """Says what the inner handler takes, and that it is guarded."""
        self.handler.describe(operation)
        operation.wants(SecurityScheme.basic())


def policy_behind[
    H: Handler, //, IS_QUICK: Bool
](req: Request, handler: H) -> RequestPolicy:
    """Tells how a request is to be treated that a guard may let pass. A check
    that takes its time (not `IS_QUICK`) takes it also where the inner handler
    takes none."""
    var policy = handler.policy_for(req)
    comptime if not IS_QUICK:
        policy.blocks = True
        policy.needs_content = True
    return policy


def _find_authorization(req: Request) -> Int:
    """Finds the Authorization field; -1 if there is none, or several: whose word
    holds is then a matter of who reads them (RFC 9110 section 5.3)."""
    var index = req.headers.find("authorization")
    if index >= 0 and req.headers.find("authorization", index + 1) >= 0:
        return -1
    return index


def _credentials(req: Request) -> Optional[BasicCredentials]:
    var index = _find_authorization(req)
    if index < 0:
        return None
    return parse_basic(req.headers.value_bytes(index))


def challenge(scheme: StringSpan, realm: StringSpan) raises -> String:
    """Writes the start of a WWW-Authenticate field (RFC 9110 section 11.6.1),
    such as `Basic realm="restricted"`. Raises if the realm cannot stand between
    quotes in a field."""
    check_field("WWW-Authenticate", realm)
    if '"' in realm or "\\" in realm:
        raise Error(
            "realm '", realm, "': write it without quotes and backslashes"
        )
    return String(scheme, ' realm="', realm, '"')


trait TokenCheck(Deinitable, Movable):
    """Knows tokens; asked by several threads at once."""

    comptime IS_QUICK: Bool = False
    """True if `holder` takes next to no time; as `PasswordCheck.IS_QUICK`."""

    def holder(self, token: StringSpan) raises -> Optional[String]:
        """Tells whose token it is, by a name for `principal(req)`; nothing if
        the token is not good.

        Args:
            token: What the client sent: visible ASCII.

        Raises:
            Error: If it cannot be found out; the server answers 500.
        """
        ...


@fieldwise_init
struct KnownToken(TokenCheck):
    """One token that does not change."""

    comptime IS_QUICK = True
    """It is in memory."""
    var token: String
    """The token."""
    var name: String
    """Whose it is."""

    def holder(self, token: StringSpan) raises -> Optional[String]:
        """Gives the name if the token is the known one, compared in constant
        time.

        Raises:
            Error: Never.
        """
        if equals_in_constant_time(self.token.as_bytes(), token.as_bytes()):
            return self.name
        return None


struct RequireBearerAuth[H: Handler, C: TokenCheck](Layer):
    """Answers 401 to requests without a good token (RFC 6750).

        App(state=..., handler=RequireBearerAuth(router^, KnownToken("t0k", "ci")))

    Inner handlers find the token's holder by `principal(req)`.

    Parameters:
        H: The inner handler's type.
        C: The type of what knows tokens.
    """

    comptime Inner = Self.H
    comptime Around[I: Handler]: Handler = RequireBearerAuth[I, Self.C]
    var handler: Self.H
    """What answers those who may enter."""
    var check: Self.C
    """Knows who may."""
    var _challenge: String

    def __init__(
        out self,
        var handler: Self.H,
        var check: Self.C,
        realm: StringSpan = "restricted",
    ) raises:
        """Wraps a handler.

        Args:
            realm: What is guarded.

        Raises:
            Error: If the realm cannot stand between quotes in a field.
        """
        self.handler = handler^
        self.check = check^
        self._challenge = challenge("Bearer", realm)

    def serve(self, req: Request) raises -> Response:
        """Lets the inner handler answer those who may enter.

        Returns:
            The response; 401 without a token, with one that is not good, or
            with more than one Authorization field; 400 with a malformed one
            (RFC 6750 section 3.1).

        Raises:
            Error: What the inner handler or the check raises.
        """
        var index = _find_authorization(req)
        if index < 0 or not has_scheme(
            req.headers.value_bytes(index), "bearer"
        ):
            return self._refuse(unauthorized(), "")
        var token = parse_bearer(req.headers.value_bytes(index))
        if not token:
            return self._refuse(
                bad_request("malformed bearer token"), "invalid_request"
            )
        var holder = self.check.holder(token.value())
        if not holder or refuses_by_head(req, self.handler):
            return self._refuse(unauthorized(), "invalid_token")
        var note = Principal(holder.value())
        var scope = ExtensionScope(req.extensions(), note)
        var response = self.handler.serve(req)
        scope^.end()
        return response^

    def policy_for(self, req: Request) -> RequestPolicy:
        """Gives what the inner handler says, or that the head is enough."""
        var index = _find_authorization(req)
        if index < 0:
            return RequestPolicy.by_head()
        var token = parse_bearer(req.headers.value_bytes(index))
        if not token:
            return RequestPolicy.by_head()
        comptime if Self.C.IS_QUICK:
            try:
                if not self.check.holder(token.value()):
                    return RequestPolicy.by_head()
            except:
                # `serve` meets it again, and says so.
                pass
        return policy_behind[Self.C.IS_QUICK](req, self.handler)

    def describe(self, mut operation: Operation):
        """Says what the inner handler takes, and that it is guarded."""
        self.handler.describe(operation)
        operation.wants(SecurityScheme.bearer())

    @no_inline
    def _refuse(
        self, var refusal: Response, code: StringSpan
    ) raises -> Response:
        var value = String(self._challenge)
        if code.byte_length() > 0:
            value.write(', error="', code, '"')
        refusal.headers.set("WWW-Authenticate", value)
        return refusal^


@fieldwise_init
struct Principal(Copyable, Movable):
    """Who sends a request; lent by a guard to its inner handlers."""

    var name: String
    """The user's name, or whatever a guard tells of them."""


def principal(req: Request) raises -> String:
    """Tells who sends a request.

    Args:
        req: The request that is being handled.

    Returns:
        The name that the innermost guard around the handler has found.

    Raises:
        Error: If there is no guard around the handler.
    """
    # SAFETY: the guard that lends its note is in the midst of a call.
    var found = req.extension[Principal]()
    if not found:
        raise Error(
            "no guard around this handler knows who sends the request; wrap it",
            " in a RequireBasicAuth or a RequireBearerAuth",
        )
    return found.value()[].name
