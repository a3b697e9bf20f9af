"""Who sends a request: a user's session in a signed cookie."""

from app.settings import Settings
from flare.http import Handler, Middleware, RateLimit, Request, RequireBasicAuth
from flare.http import Response, Router, no_content, ok_json, principal
from flare.http.extract import Input, InputError, Operation
from flare.http.middleware import CurrentSession, KnownUsers
from flare.http.openapi import SecurityScheme

comptime REALM = "{{name}}"
"""What browsers say the password is for."""
comptime CHALLENGE = 'Cookie realm="{{name}}"'
"""What requests without a session are told."""
comptime TRIES_PER_SECOND = 0.2
"""How often one address may try a password in the long run."""
comptime TRIES_AT_ONCE = 10


@fieldwise_init
struct SignedIn(Input):
    """The user who sends the request: a field of endpoints that need one."""

    var user: String

    @staticmethod
    def extract(req: Request) raises InputError -> Self:
        try:
            var user = CurrentSession.of(req)[].get("user")
            if user:
                return Self(user.take())
        except error:
            raise InputError(500, "cookie", "session", String(error))
        raise InputError(401, "cookie", "session", "log in at POST /api/login")

    @staticmethod
    def describe(mut operation: Operation):
        operation.wants(
            SecurityScheme.cookie("session", "from POST /api/login")
        )


@fieldwise_init
struct LoginChallenge[H: Handler](Middleware):
    """Says in each 401 what is asked for, as RFC 9110 section 15.5.2 wants it.

    Sessions in cookies have no scheme that is registered. Browsers pass over one
    that they do not know; by `Basic` they would ask people for a password, which
    the routes inside do not take.
    """

    comptime Inner = Self.H
    var handler: Self.H

    def serve(self, req: Request) raises -> Response:
        var response = self.handler.serve(req)
        if response.status == 401:
            if "WWW-Authenticate" not in response.headers:
                response.headers.set("WWW-Authenticate", CHALLENGE)
        return response^


@fieldwise_init
struct Account(Copyable, Movable):
    """What a user is told of themselves."""

    var user: String


@fieldwise_init
struct Login(Handler):
    """Begins a session; who it is has been found out by the guard around it."""

    def serve(self, req: Request) raises -> Response:
        var user = principal(req)
        CurrentSession.of(req)[].set("user", user)
        return ok_json(Account(user))

    def describe(self, mut operation: Operation):
        operation.id = "login"
        operation.summary = "Begin a session with a name and a password"
        operation.gives[Account]()


@fieldwise_init
struct Logout(Handler):
    """Ends the session, if there is one."""

    def serve(self, req: Request) raises -> Response:
        CurrentSession.of(req)[].clear()
        return no_content()

    def describe(self, mut operation: Operation):
        operation.id = "logout"
        operation.summary = "End the session"
        operation.answers(204)


def login_routes(settings: Settings) raises -> Router:
    """Makes the routes of logging in and out."""
    # For people's own passwords write a `PasswordCheck` over a slow hash.
    var users = KnownUsers("admin", settings.password.value().reveal())
    var router = Router()
    router.post(
        "/login",
        RateLimit(
            RequireBasicAuth(Login(), users^, REALM),
            rate=TRIES_PER_SECOND,
            burst=TRIES_AT_ONCE,
        ),
    )
    router.post("/logout", Logout())
    return router^
