"""Proxies, and which requests go through one."""

from flare.http.client.auth import BasicAuth, Credentials
from flare.http.client.endpoint import Endpoint
from flare.http.client.error import BadUrl, ClientError, Phase
from flare.http.client.no_proxy import NoProxy
from flare.http.message.percent import percent_decode
from flare.http.message.url import Url
from flare.http.message.url_parse_error import UrlParseError


struct Proxy(Copyable, Movable):
    """A proxy that is spoken to in plain HTTP.

    Requests for `http` URLs are handed to it whole (RFC 9112 section 3.2.2);
    for `https` URLs it is asked for a tunnel (RFC 9110 section 9.3.6).
    """

    var host: String
    """Its host name, or its address without brackets."""
    var port: UInt16
    """Its port."""
    var credentials: Credentials
    """What it is told in Proxy-Authorization."""

    @implicit
    def __init__(out self, url: StringSpan) raises ClientError:
        """Reads a proxy's URL.

        Args:
            url: Such as `http://user:password@proxy.example:3128`; the scheme
                may be left out.

        Raises:
            ClientError: If it is no URL of the scheme `http`, or its user name
                holds a colon.
        """
        var parsed = _parse(url)
        if not (parsed.protocol() == "http:"):
            raise _bad("the proxy's scheme must be http")
        var endpoint = Endpoint.of(parsed)
        self.host = endpoint.host
        self.port = endpoint.port
        self.credentials = credentials_of(parsed)
        self.credentials.check()

    @implicit
    def __init__(out self, url: StringLiteral) raises ClientError:
        """Reads a proxy's literal URL.

        Args:
            url: The URL.

        Raises:
            ClientError: If it is no URL of the scheme `http`.
        """
        self = Self(StringSpan(url))

    def name(self) -> String:
        """Writes host and port, for errors and for the pool.

        Returns:
            Such as `proxy.example:3128`.
        """
        return String(self.host, ":", self.port)


struct ProxySettings(Copyable, Defaultable, Movable):
    """Which requests go through which proxy."""

    var http: Optional[Proxy]
    """For `http` URLs."""
    var https: Optional[Proxy]
    """For `https` URLs."""
    var exceptions: NoProxy
    """Hosts that are reached without any."""

    def __init__(out self):
        """Sends all requests on the direct way."""
        self.http = None
        self.https = None
        self.exceptions = NoProxy()

    @implicit
    def __init__(out self, proxy: Proxy):
        """Sends all requests through one proxy.

        Args:
            proxy: The proxy.
        """
        self = Self(proxy.copy(), NoProxy())

    def __init__(out self, var proxy: Proxy, exceptions: NoProxy):
        """Sends requests through one proxy, with exceptions.

        Args:
            proxy: The proxy.
            exceptions: Hosts that are reached without it.
        """
        self.http = proxy.copy()
        self.https = proxy^
        self.exceptions = exceptions.copy()

    def choose(self, endpoint: Endpoint) -> Optional[Proxy]:
        """Chooses the way to a host.

        Args:
            endpoint: Where a request goes.

        Returns:
            The proxy, or nothing for the direct way.
        """
        if endpoint.is_unix or (self.http is None and self.https is None):
            return None
        if self.exceptions.covers(endpoint.host, endpoint.port):
            return None
        if endpoint.is_tls:
            return self.https.copy()
        return self.http.copy()


def credentials_of(url: Url) -> Credentials:
    """Takes user name and password of a URL.

    Args:
        url: The URL.

    Returns:
        Basic credentials; none if the URL has no user name and no password.
    """
    var user = url.username()
    var password = url.password()
    if user.byte_length() == 0 and password.byte_length() == 0:
        return Credentials()
    return BasicAuth(_decoded(user), _decoded(password))


def _decoded(text: StringSpan) -> String:
    try:
        return percent_decode(text.as_bytes())
    except:
        return String(text)


def _parse(url: StringSpan) raises ClientError -> Url:
    var text = String(url)
    if "://" not in text:
        text = "http://" + text
    try:
        return Url.parse(text)
    except error:
        # The text may hold a password, so it is not repeated.
        raise _bad(error.reason)


def _bad(reason: StaticString) -> ClientError:
    return ClientError(
        materialize[Phase.PROXY](),
        materialize[BadUrl](),
        String("the proxy's URL: ", reason),
    )
