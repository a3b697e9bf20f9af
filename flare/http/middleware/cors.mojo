"""Cross-origin requests of browsers."""

from flare.bytes.checked import *
from flare.http.message.header_map import (
    HeaderError,
    HeaderMap,
    add_vary,
    check_field,
)
from flare.http.message.method import Method
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.handler.handler import Handler
from flare.http.middleware.late_response import SetsFields, serve_with_fields
from flare.http.routing.stack import Layer
from flare.url.url import Url


struct CorsPolicy(Copyable, Movable):
    """Which pages of other origins may call, and what they may see.

    Source: Fetch Standard section 3.3. Without `origins` it is refused (`check`);
    `Cors` without a policy lets every origin in, without credentials.
    """

    var origins: List[String]
    """Origins as browsers send them, such as `https://app.example.com`, or `*`
    alone for every one."""
    var methods: String
    """Methods allowed beside GET, HEAD and POST with simple content, parted by
    commas. Default GET, HEAD, POST, PUT, PATCH, DELETE."""
    var headers: String
    """Request fields allowed beside the simple ones, parted by commas; empty
    allows those that a preflight asks for. Default empty."""
    var exposed: String
    """Response fields that scripts may read beside the simple ones, parted by
    commas. Default none."""
    var credentials: Bool
    """Whether cookies and Authorization may come along. Default False."""
    var max_age_s: Int
    """How long a browser keeps the answer to a preflight, in seconds. Default
    600."""

    def __init__(
        out self,
        var origins: List[String] = [],
        *,
        var methods: String = "GET, HEAD, POST, PUT, PATCH, DELETE",
        var headers: String = "",
        var exposed: String = "",
        credentials: Bool = False,
        max_age_s: Int = 600,
    ):
        """Makes a policy."""
        self.origins = origins^
        self.methods = methods^
        self.headers = headers^
        self.exposed = exposed^
        self.credentials = credentials
        self.max_age_s = max_age_s

    def check(self) raises:
        """Checks that browsers can use the policy.

        Raises:
            Error: If it contradicts itself, an origin is none, `max_age_s` is
                below 0, or a text cannot stand in a field.
        """
        check_field("Access-Control-Allow-Methods", self.methods)
        check_field("Access-Control-Allow-Headers", self.headers)
        check_field("Access-Control-Expose-Headers", self.exposed)
        if self.max_age_s < 0:
            raise Error(
                "CORS: 'max_age_s' is ",
                self.max_age_s,
                "; allowed is 0, for not at all, or more",
            )
        if len(self.origins) == 0:
            raise Error("CORS: 'origins' is empty; name the origins, or '*'")
        for origin in self.origins:
            if origin == "*":
                if len(self.origins) > 1:
                    raise Error("CORS: '*' stands alone among 'origins'")
                if self.credentials:
                    raise Error(
                        "CORS: browsers refuse 'credentials' with origin '*';"
                        " name the origins"
                    )
            elif origin != "null":
                _check_origin(origin)
        if self.credentials:
            for names in [self.methods, self.headers, self.exposed]:
                if String(names.strip()) == "*":
                    raise Error(
                        "CORS: browsers take '*' for a name where there are"
                        " 'credentials'; name the methods and fields"
                    )


def _check_origin(origin: String) raises:
    """Checks that an origin stands as browsers send it (RFC 6454 section 6.2):
    another form of it would never be met. Raises what is wrong with it."""
    if "*" in origin:
        raise Error(
            "CORS: '",
            origin,
            "' stands for no origins, since origins are compared whole; name",
            " each, or '*' alone for every one",
        )
    var start = origin.find("://") + 3
    var is_bare = start > 3 and start < origin.byte_length()
    for octet in origin.as_bytes()[start:]:
        is_bare = is_bare and octet > 32 and octet not in "/?#@\\".as_bytes()
    var sent = String()
    try:
        var url = Url.parse(origin)
        sent.write(url.scheme(), "://", url.host())
    except:
        is_bare = False
    if not is_bare:
        raise Error(
            "CORS: '",
            origin,
            "' is no origin; write scheme, host and port alone, such",
            " as https://app.example.com",
        )
    if sent != origin:
        raise Error(
            "CORS: browsers send the origin '", origin, "' as '", sent, "'"
        )


struct Cors[H: Handler](Layer, SetsFields):
    """Lets pages of other origins call the inner handler from scripts.

    Preflights (OPTIONS with Access-Control-Request-Method) are answered here.
    An origin that is not let in gets no such fields, which makes its browser
    keep the response from the page; the request itself is still handled.

        Cors(router^, CorsPolicy(["https://app.example.com"]))

    Parameters:
        H: The inner handler's type.
    """

    comptime Inner = Self.H
    comptime Around[I: Handler]: Handler = Cors[I]
    var handler: Self.H
    """What answers."""
    var policy: CorsPolicy
    """Who may call; by default every origin, without credentials."""
    var _is_open: Bool

    def __init__(
        out self,
        var handler: Self.H,
        var policy: CorsPolicy = CorsPolicy(["*"]),
    ) raises:
        """Wraps a handler.

        Raises:
            Error: If the policy contradicts itself.
        """
        policy.check()
        self._is_open = policy.origins.at(0) == "*"
        self.handler = handler^
        self.policy = policy^

    def serve(self, req: Request) raises -> Response:
        """Answers a preflight, or lets the inner handler answer.

        Raises:
            Error: What the inner handler raises. The answer to it has the
                fields, too, so that the page is told of the 500, and not of its
                origin.
        """
        if (
            req.method == Method.OPTIONS
            and "origin" in req.headers
            and "access-control-request-method" in req.headers
        ):
            return self._preflight(req)
        return serve_with_fields(self.handler, req, self)

    def refuse(self, req: Request, var response: Response) raises -> Response:
        """Lets pages of other origins see an answer of the server's own, if the
        origin was read and is let in."""
        response = self.handler.refuse(req, response^)
        self._set_fields(req, response.headers)
        return response^

    def _set_fields(
        self, req: Request, mut headers: HeaderMap
    ) raises HeaderError:
        """Sets the fields for the request's origin."""
        var origin = _origin(req)
        if self._is_open:
            # Also without an origin: the same is given to all, so a cache may
            # give this response to any page, and nothing varies.
            headers.set("Access-Control-Allow-Origin", "*")
            self._expose(headers)
            return
        # Also without an origin: a cache must not give this to one.
        add_vary(headers, "Origin")
        if origin and self._lets_in(origin.value()):
            headers.set("Access-Control-Allow-Origin", origin.value())
            if self.policy.credentials:
                headers.set("Access-Control-Allow-Credentials", "true")
            self._expose(headers)

    def _expose(self, mut headers: HeaderMap) raises HeaderError:
        if self.policy.exposed.byte_length() > 0:
            headers.set("Access-Control-Expose-Headers", self.policy.exposed)

    def _lets_in(self, origin: StringSpan) -> Bool:
        for ref known in self.policy.origins:
            if known == origin:
                return True
        return False

    @no_inline
    def _preflight(self, req: Request) raises HeaderError -> Response:
        """Answers what a browser asks before the request proper."""
        var response = Response(204)
        var origin = _origin(req)
        ref headers = response.headers
        headers.set(
            "Vary",
            (
                "Origin, Access-Control-Request-Method,"
                " Access-Control-Request-Headers"
            ),
        )
        if not self._is_open and not (origin and self._lets_in(origin.value())):
            response.status = 403
            return response^
        headers.set(
            "Access-Control-Allow-Origin",
            StringSpan("*") if self._is_open else origin.value(),
        )
        headers.set("Access-Control-Allow-Methods", self.policy.methods)
        var wanted = req.headers.get("access-control-request-headers")
        if self.policy.headers.byte_length() > 0:
            headers.set("Access-Control-Allow-Headers", self.policy.headers)
        elif wanted:
            headers.set("Access-Control-Allow-Headers", wanted.value())
        if self.policy.credentials:
            headers.set("Access-Control-Allow-Credentials", "true")
        headers.set("Access-Control-Max-Age", String(self.policy.max_age_s))
        return response^


def _origin[o: ImmOrigin](req: Request[o]) -> Optional[StringSpan[o]]:
    """Lends the page's origin. Browsers send one at most (RFC 6454 section
    7.3), so several are none that may be let in."""
    var place = req.headers.find("origin")
    if place < 0 or req.headers.find("origin", place + 1) >= 0:
        return None
    return req.headers.value(place)
