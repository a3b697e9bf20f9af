"""Reaches what applications are made of; see `everything.mojo`."""

from flare.http import (
    AccessLog,
    ApiInfo,
    App,
    RequireBasicAuth,
    RequireBearerAuth,
    Compress,
    Conditional,
    Cors,
    CurrentSession,
    Endpoint,
    Extracted,
    EntityTag,
    FnHandler,
    Form,
    ForwardedField,
    Health,
    Json,
    KnownToken,
    KnownUsers,
    LogFormat,
    RequestMetrics,
    Metrics,
    MetricsEndpoint,
    Multipart,
    MultipartReader,
    OptCookieStr,
    OptHeaderStr,
    OptQueryInt,
    PathInt,
    Peer,
    RateLimit,
    Readiness,
    Recover,
    Request,
    RequestId,
    Response,
    Router,
    SecurityHeaders,
    Sessions,
    SigningKeys,
    State,
    Streamed,
    Timeout,
    Timing,
    TrustedProxies,
    UploadedPart,
    Validators,
    add_api_docs,
    ok,
    ok_json,
    principal,
    request_id,
)
from flare.net import IpNetwork
from flare.testing import TestClient


@fieldwise_init
struct Item(Copyable, Movable):
    """What is sent and stored."""

    var name: String
    """Its name."""
    var price: Optional[Float64]
    """Its price."""


@fieldwise_init
struct Change(Endpoint):
    """Reaches inputs of all kinds."""

    var id: PathInt["id"]
    """From the path."""
    var page: OptQueryInt["page"]
    """From the query."""
    var trace: OptHeaderStr["x-trace"]
    """From a field."""
    var theme: OptCookieStr["theme"]
    """From a cookie."""
    var peer: Peer
    """From the connection."""
    var items: State[List[Item]]
    """From the App."""
    var item: Json[Item]
    """From the content."""

    def serve(self) raises -> Response:
        """Keeps the item.

        Returns:
            The item.

        Raises:
            Error: If it cannot be written.
        """
        self.items.lock()[].append(self.item.value.copy())
        return ok_json(self.item.value)


@fieldwise_init
struct Submit(Endpoint):
    """Reaches forms."""

    var item: Form[Item]
    """From the content."""

    def serve(self) raises -> Response:
        """Gives the item back.

        Returns:
            The item.

        Raises:
            Error: If it cannot be written.
        """
        return ok_json(self.item.value)


struct Photo(Movable):
    """A form with a file."""

    var title: String
    """Some text."""
    var image: UploadedPart
    """A file."""


@fieldwise_init
struct Upload(Endpoint):
    """Reaches forms with files."""

    var photo: Multipart[Photo]
    """From the content."""

    def serve(self) raises -> Response:
        """Answers with the title.

        Returns:
            The title.

        Raises:
            Error: Never.
        """
        return ok(self.photo.value.title)


def parts(req: Request) raises -> Response:
    """Reaches forms that are read while they arrive.

    Args:
        req: The request.

    Returns:
        The first part.

    Raises:
        Error: If there is none.
    """
    var form = MultipartReader(req)
    var room = List[UInt8](length=99, fill=0)
    return ok(String(form.next_part().value().name, form.read(Span(room))))


def who(req: Request) raises -> Response:
    """Reaches what guards and ids tell.

    Args:
        req: The request.

    Returns:
        Both.

    Raises:
        Error: If there is no guard.
    """
    return ok(principal(req) + request_id(req))


def count(req: Request, state: State[List[Item]]) raises -> Response:
    """Reaches functions with a state.

    Args:
        req: The request.
        state: The items.

    Returns:
        How many there are.

    Raises:
        Error: Never.
    """
    return ok(String(len(state.snapshot())))


def visit(req: Request) raises -> Response:
    """Reaches sessions and their tokens.

    Args:
        req: The request.

    Returns:
        A token.

    Raises:
        Error: If there is no session.
    """
    var session = CurrentSession.of(req)
    session[].set("user", "7")
    if session.has_csrf_token("x"):
        return ok()
    return ok(session.csrf_token())


def current(req: Request) raises -> Validators:
    """Reaches conditions on changes.

    Args:
        req: The request.

    Returns:
        What there is now.

    Raises:
        Error: Never.
    """
    return Validators(EntityTag("1"), None, True)


def applications() raises:
    """Reaches App, middleware, endpoints, documents and the test client.

    Raises:
        Error: If something fails, which a cross build does not try.
    """
    var metrics = Metrics()
    var router = Router()
    router.get("/count", count)
    router.put("/items/:id", Extracted[Change]())
    router.post("/items", Extracted[Submit]())
    router.post("/photos", Extracted[Upload]())
    router.post("/parts", Timeout(Streamed(parts), timeout_ms=9))
    router.get("/who", RequireBasicAuth(FnHandler(who), KnownUsers("a", "b")))
    router.get(
        "/token", RequireBearerAuth(FnHandler(who), KnownToken("t", "c"))
    )
    router.get("/live", Health())
    router.get("/ready", Readiness())
    router.get("/metrics", MetricsEndpoint(metrics))
    var visits = Sessions(
        FnHandler(visit), SigningKeys("0123456789abcdef0123456789abcdef")
    )
    router.put("/visit", Conditional(visits^, current, makes_tags=True))
    add_api_docs(router, ApiInfo("everything", "1"))
    var app = App(state=List[Item](), handler=Recover(router^))
    var inside = RateLimit(RequestMetrics(app^, metrics), rate=100, burst=10)
    var networks = [IpNetwork.parse("10.0.0.0/8")]
    var behind = TrustedProxies(
        Compress(inside^),
        List[IpNetwork](networks),
        ForwardedField.X_FORWARDED_FOR,
    )
    var safe = SecurityHeaders(Cors(behind^))
    var client = TestClient(AccessLog(Timing(RequestId(safe^)), LogFormat.JSON))
    print(client.get("/count").text())
