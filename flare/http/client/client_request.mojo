"""A request that is being made."""

from flare.http.client.auth import Credentials
from flare.http.client.request_body import RequestBody
from flare.http.message.form import FormData
from flare.http.message.header_error import HeaderError
from flare.http.message.header_map import HeaderMap

comptime CLIENTS_OWN = -2
"""A number of a request that leaves the choice to `ClientConfig`."""


struct ClientRequest(Copyable, Movable):
    """Method, URL, fields and content of a request.

    var request = ClientRequest("GET", "/items")
    request.add_query("page", "2")
    request.headers.set("Accept", "application/json")
    var response = client.send(request)
    """

    var method: String
    """The method; any token."""
    var url: String
    """An absolute URL, or one relative to the client's base URL."""
    var headers: HeaderMap
    """Header fields. They win over those that the client sends of itself; the
    framing (Content-Length, Transfer-Encoding) is always the client's."""
    var body: RequestBody
    """The content."""
    var query: FormData
    """Appended to the URL's own query."""
    var auth: Credentials
    """Wins over the client's credentials; like them, not sent elsewhere."""
    var total_timeout_ms: Int
    """Time for all of it in milliseconds, whatever progress it makes;
    `CLIENTS_OWN` for the client's."""
    var max_redirects: Int
    """Most redirections to follow; `CLIENTS_OWN` for the client's."""
    var expects_continue: Bool
    """True to ask whether the content is wanted before sending it."""
    var minor_version: UInt8
    """1; 0 to speak HTTP/1.0."""

    def __init__(
        out self,
        var method: String,
        var url: String,
        var body: RequestBody = RequestBody(),
    ):
        """Makes a request.

        Args:
            method: The method, such as `GET`.
            url: Where to.
            body: The content.
        """
        self.method = method^
        self.url = url^
        self.headers = HeaderMap()
        self.body = body^
        self.query = FormData()
        self.auth = Credentials()
        self.total_timeout_ms = CLIENTS_OWN
        self.max_redirects = CLIENTS_OWN
        self.expects_continue = False
        self.minor_version = 1

    def add_query(mut self, var name: String, var value: String):
        """Appends a parameter to the query; it is encoded when it is sent.

        Args:
            name: Its name.
            value: Its value.
        """
        self.query.add(name^, value^)

    def set_header(
        mut self, name: StringSpan, value: StringSpan
    ) raises HeaderError:
        """Sets a header field.

        Args:
            name: A token.
            value: The value.

        Raises:
            HeaderError: If either would break the request's head.
        """
        self.headers.set(name, value)
