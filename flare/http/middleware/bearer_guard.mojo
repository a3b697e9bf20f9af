"""Letting in who has a token."""

from flare.bytes.hmac import equals_in_constant_time
from flare.http.message.authorization import has_scheme, parse_bearer
from flare.http.message.request import Request
from flare.http.message.extensions import ExtensionScope
from flare.http.message.response import Response, bad_request, unauthorized
from flare.http.middleware.basic_guard import challenge
from flare.http.middleware.principal import Principal
from flare.http.routing.handler import (
    Handler,
    Middleware,
    RequestPolicy,
    refuses_by_head,
)
from flare.http.routing.operation import Operation


trait TokenCheck(Deinitable, Movable):
    """Knows tokens; asked by several threads at once."""

    comptime IS_QUICK: Bool = False
    """True if `holder` takes next to no time; as `PasswordCheck.IS_QUICK`."""

    def holder(self, token: StringSpan) raises -> Optional[String]:
        """Tells whose token it is.

        Args:
            token: What the client sent: visible ASCII.

        Returns:
            A name for `principal(req)`; nothing if the token is not good.

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
        """Compares tokens in constant time.

        Args:
            token: What the client sent.

        Returns:
            The name, if the token is the known one.

        Raises:
            Error: Never.
        """
        if equals_in_constant_time(self.token.as_bytes(), token.as_bytes()):
            return self.name
        return None


struct BearerGuard[H: Handler, C: TokenCheck](Middleware):
    """Answers 401 to requests without a good token (RFC 6750).

        App(state=..., handler=BearerGuard(router^, KnownToken("t0k", "ci")))

    Inner handlers find the token's holder by `principal(req)`.

    Parameters:
        H: The inner handler's type.
        C: The type of what knows tokens.
    """

    comptime Inner = Self.H
    """The inner handler's type."""
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
            handler: What answers those who may enter.
            check: Knows who may.
            realm: What is guarded.

        Raises:
            Error: If the realm cannot stand between quotes in a field.
        """
        self.handler = handler^
        self.check = check^
        self._challenge = challenge("Bearer", realm)

    def serve(self, req: Request) raises -> Response:
        """Lets the inner handler answer those who may enter.

        Args:
            req: The request.

        Returns:
            The response; 401 without a token or with one that is not good, 400
            with a malformed one (RFC 6750 section 3.1).

        Raises:
            Error: What the inner handler or the check raises.
        """
        var index = req.headers.find("authorization")
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
        """Tells that the content of who may not enter is not needed.

        Args:
            req: The request's head.

        Returns:
            What the inner handler says, or that the head is enough.
        """
        var index = req.headers.find("authorization")
        if index < 0:
            return RequestPolicy.by_head()
        var token = parse_bearer(req.headers.value_bytes(index))
        if not token or self._is_wrong(token.value()):
            return RequestPolicy.by_head()
        var policy = self.handler.policy_for(req)
        comptime if not Self.C.IS_QUICK:
            # The check takes its time also where the inner handler takes none.
            policy.blocks = True
            policy.needs_content = True
        return policy

    def _is_wrong(self, token: StringSpan) -> Bool:
        """Tells whether a token is known not to be good."""
        comptime if Self.C.IS_QUICK:
            try:
                return not self.check.holder(token)
            except:
                # `serve` meets it again, and says so.
                return False
        else:
            return False

    def describe(self, mut operation: Operation):
        """Says what the inner handler takes, and that it is guarded.

        Args:
            operation: What is known of the route.
        """
        self.handler.describe(operation)
        operation.guards.append("bearer")

    @no_inline
    def _refuse(
        self, var refusal: Response, code: StringSpan
    ) raises -> Response:
        var value = String(self._challenge)
        if code.byte_length() > 0:
            value.write(', error="', code, '"')
        refusal.headers.set("WWW-Authenticate", value)
        return refusal^
