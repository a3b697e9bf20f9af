"""A response as a client sees it."""

from flare.http.client.auth import challenge_schemes
from flare.http.message.body import Body
from flare.http.message.charset import decode_text
from flare.http.message.header_map import HeaderMap
from flare.http.message.media_type import MediaType
from flare.http.message.status import Status
from flare.http.message.url import Url
from flare.http.message.version import Version
from flare.json.error import JsonError
from flare.json.value import JsonValue, parse


struct StatusError(Copyable, Movable, Writable):
    """A response's status says that the request failed."""

    var status: Status
    """The status code, 400 or more."""
    var reason: String
    """Its reason phrase."""
    var url: String
    """The URL that was asked, without user name and password."""
    var challenges: String
    """Of a 401 or 407 the schemes that the server accepts."""

    def __init__(out self, response: ClientResponse):
        """Describes a response.

        Args:
            response: The response.
        """
        self.status = response.status
        self.reason = response.reason
        self.url = response.url_text()
        self.challenges = String()
        if response.status != 401 and response.status != 407:
            return
        var name = (
            "www-authenticate" if response.status
            == 401 else "proxy-authenticate"
        )
        var index = response.headers.find(name)
        while index >= 0:
            if self.challenges.byte_length() > 0:
                self.challenges.write(", ")
            var value = response.headers.value(index)
            self.challenges.write(challenge_schemes(value))
            index = response.headers.find(name, index + 1)

    def write_to(self, mut writer: Some[Writer]):
        """Writes URL and status.

        Args:
            writer: Where to.
        """
        writer.write(self.url, ": the server answered ", self.status)
        writer.write(" ", self.reason)
        if self.challenges.byte_length() > 0:
            writer.write("; it accepts ", self.challenges)
            writer.write(" and this client speaks Basic and Bearer")


struct ClientResponse(Movable):
    """A complete response (RFC 9110 section 3.4)."""

    var status: Status
    """The status code."""
    var reason: String
    """The reason phrase as sent, or the registered one if none was."""
    var version: Version
    """The server's protocol version."""
    var headers: HeaderMap
    """The header fields. Content-Encoding and Content-Length still tell of
    the content as transferred."""
    var body: Body
    """The content, decoded; empty if it went to a sink."""
    var trailers: HeaderMap
    """Fields behind chunked content."""
    var url: Url
    """The URL that answered, after redirections."""
    var redirect_count: Int
    """How many redirections led to it."""

    def __init__(out self, var url: Url):
        """Makes a response, to be filled.

        Args:
            url: The URL that answers.
        """
        self.status = 0
        self.reason = String()
        self.version = Version.HTTP_1_1
        self.headers = HeaderMap()
        self.body = Body()
        self.trailers = HeaderMap()
        self.url = url^
        self.redirect_count = 0

    def ok(self) -> Bool:
        """Tells whether the request succeeded.

        Returns:
            True for a status below 400.
        """
        return self.status < 400

    def text(self) raises -> String:
        """Decodes the content as text.

        In the charset that Content-Type names (RFC 9110 section 8.3.2), or
        UTF-8 if it names none: utf-8, us-ascii, iso-8859-1, windows-1252 and
        utf-16 under all names of the Encoding Standard, which makes one of the
        middle three. A byte order mark is not a part of the text.

        Returns:
            The content.

        Raises:
            Error: If the charset is another one, or the content is not in it.
        """
        return decode_text(self.body.as_bytes(), self.charset())

    def charset(self) -> String:
        """Reads the charset of the content.

        Returns:
            The parameter of Content-Type, as it was sent; empty if there is
            none.
        """
        var found = self.headers.get("content-type")
        if not found:
            return String()
        try:
            var media_type = MediaType.parse(found.value())
            for parameter in media_type.parameters:
                if parameter.name == "charset":
                    return parameter.value
        except:
            # What is no media type names no charset.
            return String()
        return String()

    def json(self) raises JsonError -> JsonValue:
        """Parses the content.

        Returns:
            The value.

        Raises:
            JsonError: If it is no JSON text.
        """
        return parse(self.body.as_bytes())

    def raise_for_status(self) raises StatusError:
        """Does nothing if the request succeeded.

        Raises:
            StatusError: If the status is 400 or more.
        """
        if not self.ok():
            raise StatusError(self)

    def url_text(self) -> String:
        """Writes the URL for messages.

        Returns:
            The URL without user name and password.
        """
        return url_without_credentials(self.url)


def url_without_credentials(url: Url) -> String:
    """Writes a URL for messages.

    Args:
        url: The URL.

    Returns:
        It without user name, password and fragment.
    """
    return String(url.protocol(), "//", url.host(), url.request_target())
