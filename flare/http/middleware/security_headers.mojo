"""Fields that make browsers more careful."""

from flare.http.message.header_map import HeaderError, HeaderMap, check_field
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.handler.failure import note_failure_fields
from flare.http.handler.handler import Handler
from flare.http.routing.stack import Layer


@fieldwise_init
struct _Field(Copyable, Movable):
    var name: StaticString
    var value: String


struct SecurityPolicy(Copyable, Movable):
    """What the fields say; an empty text leaves a field out."""

    var content_security_policy: String
    """Content-Security-Policy (CSP Level 3): what a page may load. The default
    fits an API and pages whose every part comes from the server itself."""
    var referrer_policy: String
    """Referrer-Policy: what other sites learn of the page's URL. Default
    `strict-origin-when-cross-origin`."""
    var frame_options: String
    """X-Frame-Options (RFC 7034), for browsers without `frame-ancestors`.
    Default `DENY`."""
    var permissions_policy: String
    """Permissions-Policy: which devices a page may ask for. Default empty."""
    var opener_policy: String
    """Cross-Origin-Opener-Policy: who shares a page's group of windows. Default
    `same-origin`."""
    var transport_max_age_s: Int
    """Strict-Transport-Security (RFC 6797): for how many seconds browsers use
    HTTPS alone. 0 leaves it out; set it where the site is served by TLS for
    good, since browsers cannot be told otherwise later. Default 0."""

    def __init__(
        out self,
        *,
        var content_security_policy: String = (
            "default-src 'self'; base-uri 'self'; object-src 'none';"
            " frame-ancestors 'none'"
        ),
        var referrer_policy: String = "strict-origin-when-cross-origin",
        var frame_options: String = "DENY",
        var permissions_policy: String = "",
        var opener_policy: String = "same-origin",
        transport_max_age_s: Int = 0,
    ):
        """Makes a policy."""
        self.content_security_policy = content_security_policy^
        self.referrer_policy = referrer_policy^
        self.frame_options = frame_options^
        self.permissions_policy = permissions_policy^
        self.opener_policy = opener_policy^
        self.transport_max_age_s = transport_max_age_s


def _fields_of(policy: SecurityPolicy) raises HeaderError -> List[_Field]:
    var fields = List[_Field]()
    _add(fields, "X-Content-Type-Options", "nosniff")
    _add(fields, "Content-Security-Policy", policy.content_security_policy)
    _add(fields, "Referrer-Policy", policy.referrer_policy)
    _add(fields, "X-Frame-Options", policy.frame_options)
    _add(fields, "Permissions-Policy", policy.permissions_policy)
    _add(fields, "Cross-Origin-Opener-Policy", policy.opener_policy)
    if policy.transport_max_age_s > 0:
        var age = String("max-age=", policy.transport_max_age_s)
        _add(fields, "Strict-Transport-Security", age)
    return fields^


def _add(
    mut fields: List[_Field], name: StaticString, value: String
) raises HeaderError:
    if value.byte_length() > 0:
        check_field(name, value)
        fields.append(_Field(name, value))


struct SecurityHeaders[H: Handler](Layer):
    """Sets fields that keep browsers from what pages rarely need.

    X-Content-Type-Options is always set. A field that the inner handler has
    set stays as it is.

    Parameters:
        H: The inner handler's type.
    """

    comptime Inner = Self.H
    comptime Around[I: Handler]: Handler = SecurityHeaders[I]
    var handler: Self.H
    """What answers."""
    var _fields: List[_Field]

    def __init__(
        out self,
        var handler: Self.H,
        policy: SecurityPolicy = SecurityPolicy(),
    ) raises HeaderError:
        """Wraps a handler.

        Args:
            policy: What the fields say.

        Raises:
            HeaderError: If a text cannot stand in a field.
        """
        self.handler = handler^
        self._fields = _fields_of(policy)

    def serve(self, req: Request) raises -> Response:
        """Lets the inner handler answer, and adds what it has not set.

        Raises:
            Error: What the inner handler raises. The answer to it has the
                fields, too.
        """
        try:
            var response = self.handler.serve(req)
            self._complete(response.headers)
            return response^
        except error:
            var fields = HeaderMap()
            self._complete(fields)
            note_failure_fields(req, fields)
            raise error^

    def refuse(self, req: Request, var response: Response) raises -> Response:
        """Adds the fields to an answer of the server's own."""
        response = self.handler.refuse(req, response^)
        self._complete(response.headers)
        return response^

    def _complete(self, mut headers: HeaderMap) raises HeaderError:
        for ref field in self._fields:
            if field.name not in headers:
                headers.append(field.name, field.value)
