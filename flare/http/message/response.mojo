"""A response, and short ways to make the common ones."""

from flare.bytes.checked import *
from flare.bytes.text import Text
from flare.http.message.body import Body, BodySource
from flare.http.message.cookie import Cookie, CookieError
from flare.http.message.header_map import HeaderError, HeaderMap
from flare.http.message.outcome import ResponseOutcome
from flare.http.message.status import Status
from flare.http.message.trailers import Trailers, check_trailer
from flare.json.error import JsonError
from flare.json.struct_writer import json_text
from flare.json.value import JsonValue
from flare.json.writer import dumps

comptime TEXT_PLAIN = StaticString("text/plain; charset=utf-8")
"""Media type of plain text (RFC 2046 section 4.1)."""
comptime TEXT_HTML = StaticString("text/html; charset=utf-8")
comptime APPLICATION_JSON = StaticString("application/json")
"""Media type of JSON, which is UTF-8 by definition (RFC 8259 section 11)."""
comptime OCTET_STREAM = StaticString("application/octet-stream")
"""Media type of octets of no known kind."""


struct Response(Copyable, Movable):
    """A status, header fields and content (RFC 9110 section 3.4).

    Content-Length, Transfer-Encoding, Date and the framing part of Connection
    are the server's; the first two are ignored if a handler sets them.
    """

    var status: Status
    """The status code."""
    var headers: HeaderMap
    """The header fields."""
    var body: Body
    """The content."""
    var _is_later: Bool

    def __init__(out self, status: Status = 200, var body: Body = Body()):
        """Makes a response without header fields."""
        self.status = status
        self.headers = HeaderMap()
        self.body = body^
        self._is_later = False

    def __init__(
        out self, status: Status, var body: Body, *, content_type: StaticString
    ):
        """Makes a response of a known media type.

        Args:
            content_type: A media type, as literal text; other text goes
                through `headers.set`.
        """
        self.status = status
        self.headers = HeaderMap(content_type=content_type)
        self.body = body^
        self._is_later = False

    # Many functions drop one; once in the program is enough but for the path
    # of every request, see `drop`.
    @no_inline
    def __deinit__(deinit self):
        """Drops fields and content."""
        return

    @always_inline
    def drop(deinit self):
        """Does so at the place where it stands, without a call."""
        return

    def reuse(mut self):
        """Empties it, and keeps what room of usual size it has."""
        self.status = 500
        self.headers.reuse()
        self.body.reuse()
        self._is_later = False

    @staticmethod
    def made_later() -> Self:
        """Gives what stands for a response that is made later, and is never
        sent; see `later`. Middleware sees its status, which is 102
        (Processing): the final one is not known."""
        var response = Self(102)
        response._is_later = True
        return response^

    @always_inline
    def outcome(self) -> ResponseOutcome:
        """Tells whether this is the answer (NOW, whatever the status), stands
        for one that `later` makes (LATER), or ends HTTP (UPGRADE): its content
        is another protocol, see `Body.conversing`."""
        if self._is_later:
            return ResponseOutcome.LATER
        if self.body.listens():
            return ResponseOutcome.UPGRADE
        return ResponseOutcome.NOW

    def text(self) raises -> String:
        """Copies the content as text.

        Raises:
            Error: If it is not UTF-8.
        """
        return self.body.text()

    def with_status(var self, status: Status) -> Self:
        """Gives the response another status, as in `return
        ok_json(item).with_status(201)`.

        Args:
            status: The status code.
        """
        self.status = status
        return self^

    def with_header(
        var self, name: StringSpan, value: StringSpan
    ) raises HeaderError -> Self:
        """Gives the response a header field, as in `return
        ok(text).with_header("Cache-Control", "no-store")`.

        Args:
            name: The field's name; what was set before under it is replaced,
                see `HeaderMap.append` for another line.
            value: The field's value.

        Raises:
            HeaderError: As `HeaderMap.set` does.
        """
        self.headers.set(name, value)
        return self^

    def with_cookie(var self, cookie: Cookie) raises CookieError -> Self:
        """Gives the response a cookie; the rest is as for `set_cookie`."""
        self.set_cookie(cookie)
        return self^

    def set_cookie(mut self, cookie: Cookie) raises CookieError:
        """Sets a cookie; each gets a field line of its own.

        Args:
            cookie: The cookie.

        Raises:
            CookieError: If it cannot be written.
        """
        self.headers.append("Set-Cookie", cookie.to_set_cookie_header())

    def with_trailer(
        var self, name: StringSpan, value: StringSpan
    ) raises HeaderError -> Self:
        """Gives the response a field after the content; the rest is as for
        `add_trailer`."""
        self.add_trailer(name, value)
        return self^

    def add_trailer(
        mut self, name: StringSpan, value: StringSpan
    ) raises HeaderError:
        """Adds a field after the content (RFC 9110 section 6.5), announced by
        a `Trailer` field.

        The content comes first: it becomes a stream, which `Compress` leaves as
        it is, and over HTTP/1.1 it is sent in chunks. What is known only when
        the content was made is `BodySource.trailers`. Where no content is sent,
        and to clients of HTTP/1.0, there are no trailers.

        Args:
            name: The field's name; what framing, routing, authentication,
                caching or the reading of content need is no trailer.

        Raises:
            HeaderError: If the field may not be a trailer, or as
                `HeaderMap.set` does.
        """
        check_trailer(name, value)
        var names = Text()
        var announced = self.headers.get("trailer")
        if announced:
            names = names^.add(announced.held()).add(", ")
        self.headers.set("Trailer", names^.add(name).end())
        self.body.make_stream()
        self.body.stream()[].add_trailer(name, value)

    def trailers(self) -> Trailers:
        """Copies the fields that follow the content, as far as `add_trailer`
        was given them."""
        if not self.body.is_stream():
            return Trailers()
        return self.body.stream()[].own_trailers.copy()

    def reason(self) -> StaticString:
        """Finds the registered reason phrase of the status; empty for an
        unregistered code."""
        return self.status.reason()


def _plain(status: Status, var text: String) -> Response:
    return Response(status, Body(text^), content_type=TEXT_PLAIN)


def _to_come_again(var response: Response, after_s: Optional[Int]) -> Response:
    """Sets Retry-After (RFC 9110 section 10.2.3)."""
    if after_s:
        # Digits are always a good value.
        try:
            response.headers.set("Retry-After", String(max(after_s.held(), 0)))
        except:
            pass
    return response^


def ok(var text: String = String()) -> Response:
    """Gives a 200 response of plain text.

    Args:
        text: The content; a literal costs no copy.
    """
    return _plain(200, text^)


def ok(text: StringSpan) -> Response:
    """Gives a 200 response of plain text.

    Args:
        text: The content, copied.
    """
    return _plain(200, String(text))


def ok(var octets: List[UInt8]) -> Response:
    """Gives a 200 response of octets, as `application/octet-stream`.

    Args:
        octets: The content.
    """
    return Response(200, Body(octets^), content_type=OCTET_STREAM)


def ok_json(var text: String) -> Response:
    """Gives a 200 response of JSON text.

    Args:
        text: The content, already JSON; it is not checked.
    """
    return Response(200, Body(text^), content_type=APPLICATION_JSON)


def ok_json(value: JsonValue) raises JsonError -> Response:
    """Gives a 200 response of a JSON value.

    Args:
        value: What to write.

    Raises:
        JsonError: If the value cannot be written.
    """
    return ok_json(dumps(value))


def ok_json[T: AnyType](value: T) raises JsonError -> Response:
    """Gives a 200 response of a value of any type, written as JSON.

    Parameters:
        T: Its type: a plain struct, a list, a number and so on; see
            `flare.json.write_json`. A `String` is taken for JSON text.

    Args:
        value: What to write.

    Raises:
        JsonError: If a number is infinite or none, or a text is not UTF-8.
    """
    comptime if T == String:
        return Response(
            200, Body(rebind[String](value)), content_type=APPLICATION_JSON
        )
    else:
        return ok_json(json_text(value))


def ok_html(var text: String) -> Response:
    """Gives a 200 response of HTML.

    Args:
        text: The content.
    """
    return Response(200, Body(text^), content_type=TEXT_HTML)


def ok_stream[
    S: BodySource
](
    var source: S,
    content_type: StaticString = OCTET_STREAM,
    *,
    length: Optional[Int] = None,
) -> Response:
    """Gives a 200 response whose content is made while it is sent.

    Parameters:
        S: The source's type.

    Args:
        source: Makes the content.
        content_type: Its media type, as literal text.
        length: How much it will be in bytes, if that is known.
    """
    return Response(
        200, Body(source^, length=length), content_type=content_type
    )


def created(var text: String = String()) -> Response:
    """Gives a 201 response of plain text (RFC 9110 section 15.3.2).

    Args:
        text: The content. Name the new resource with a Location header field.
    """
    return _plain(201, text^)


def accepted(var text: String = String()) -> Response:
    """Gives a 202 response of plain text (RFC 9110 section 15.3.3).

    Args:
        text: The content, such as where to look how far the work is.
    """
    return _plain(202, text^)


def no_content() -> Response:
    """Gives a 204 response, without content (RFC 9110 section 15.3.5)."""
    return Response(204)


def bad_request(var reason: String = String("bad request")) -> Response:
    """Gives a 400 response of plain text (RFC 9110 section 15.5.1).

    Args:
        reason: What is wrong with the request.
    """
    return _plain(400, reason^)


def unauthorized(
    var reason: String = String("unauthorized"),
    challenge: StaticString = "Bearer",
) raises HeaderError -> Response:
    """Gives a 401 response of plain text (RFC 9110 section 15.5.2).

    Args:
        reason: What is missing.
        challenge: The WWW-Authenticate field's value, which the RFC demands.

    Raises:
        HeaderError: If the challenge holds a control octet.
    """
    var response = _plain(401, reason^)
    response.headers.set("WWW-Authenticate", challenge)
    return response^


@no_inline
def set_field(
    mut response: Response, name: StaticString, value: StringSpan
) raises:
    """Sets a field; inlined, what `HeaderMap.set` raises would be made an
    `Error` in a hundred lines at each call."""
    response.headers.set(name, value)


def forbidden(var reason: String = String("forbidden")) -> Response:
    """Gives a 403 response of plain text (RFC 9110 section 15.5.4).

    Args:
        reason: Why.
    """
    return _plain(403, reason^)


def not_found(target: StringSpan = "") -> Response:
    """Gives a 404 response of plain text (RFC 9110 section 15.5.5).

    Args:
        target: What was not found, for instance `req.url`.
    """
    if target.byte_length() == 0:
        return _plain(404, "not found")
    return _plain(404, "not found: " + target)


def conflict(var reason: String = String("conflict")) -> Response:
    """Gives a 409 response of plain text (RFC 9110 section 15.5.10).

    Args:
        reason: What the request is at odds with.
    """
    return _plain(409, reason^)


def unprocessable(
    var reason: String = String("unprocessable content"),
) -> Response:
    """Gives a 422 response of plain text (RFC 9110 section 15.5.21).

    Args:
        reason: Why content that can be read makes no sense.
    """
    return _plain(422, reason^)


def too_many_requests(
    var reason: String = String("too many requests"),
    *,
    retry_after_s: Optional[Int] = None,
) -> Response:
    """Gives a 429 response of plain text (RFC 6585 section 4).

    Args:
        reason: What there was too much of.
        retry_after_s: When to come again, in seconds; the Retry-After field.
    """
    return _to_come_again(_plain(429, reason^), retry_after_s)


def service_unavailable(
    var reason: String = String("service unavailable"),
    *,
    retry_after_s: Optional[Int] = None,
) -> Response:
    """Gives a 503 response of plain text (RFC 9110 section 15.6.4).

    Args:
        reason: What is not there for now.
        retry_after_s: When to come again, in seconds; the Retry-After field.
    """
    return _to_come_again(_plain(503, reason^), retry_after_s)


def internal_error(
    var reason: String = String("internal server error"),
) -> Response:
    """Gives a 500 response of plain text (RFC 9110 section 15.6.1).

    Args:
        reason: What may be said to strangers.
    """
    return _plain(500, reason^)


def redirect(
    location: StringSpan, status: Status = 302
) raises HeaderError -> Response:
    """Gives a redirection, without content (RFC 9110 section 15.4).

    Args:
        location: The Location field's value, a URI reference.
        status: 301, 302, 303, 307 or 308.

    Raises:
        HeaderError: If the location holds a control octet.
    """
    var response = Response(status)
    response.headers.set("Location", location)
    return response^
