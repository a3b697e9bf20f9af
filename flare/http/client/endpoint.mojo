"""Where a connection leads."""

from flare.http.client.error import BadUrl, ClientError, Phase
from flare.http.message.percent import percent_decode_lenient
from flare.http.message.url import Url

comptime UNIX_PROTOCOL = StaticString("http+unix:")
"""Scheme of URLs whose host is the percent-encoded path of a Unix socket, such
as `http+unix://%2Frun%2Fapp.sock/items`."""


struct Endpoint(Copyable, Equatable, Movable):
    """What two requests of a client must have in common to share a connection.

    Their TLS settings are the client's, and so the same.
    """

    var host: String
    """Host name, address without brackets, or path of a Unix socket."""
    var port: UInt16
    """The port; 0 for a Unix socket."""
    var is_tls: Bool
    """True if TLS is spoken with the host."""
    var is_unix: Bool
    """True if `host` is a path."""
    var proxy: String
    """`host:port` of the proxy on the way; empty without one."""

    def __init__(out self, var host: String, port: UInt16):
        """Makes an endpoint without TLS and proxy.

        Args:
            host: Host name or address.
            port: The port.
        """
        self.host = host^
        self.port = port
        self.is_tls = False
        self.is_unix = False
        self.proxy = String()

    @staticmethod
    def of(url: Url) raises ClientError -> Self:
        """Reads where a URL leads.

        Args:
            url: An `http`, `https` or `http+unix` URL.

        Returns:
            The endpoint, without a proxy.

        Raises:
            ClientError: If the scheme is another one, or there is no host.
        """
        var protocol = url.protocol()
        var hostname = url.hostname()
        if hostname.byte_length() == 0:
            raise _bad("the URL has no host")
        if protocol == UNIX_PROTOCOL:
            return Self._unix(hostname)
        var is_tls = protocol == "https:"
        if not is_tls and not (protocol == "http:"):
            raise _bad("the scheme must be http, https or http+unix")
        if hostname.startswith("["):
            hostname = hostname.removeprefix("[").removesuffix("]")
        var endpoint = Self(String(hostname), url.port_number())
        endpoint.is_tls = is_tls
        return endpoint^

    @staticmethod
    def _unix(hostname: StringSpan) raises ClientError -> Self:
        var path = List[UInt8]()
        percent_decode_lenient(hostname.as_bytes(), path)
        for octet in path:
            if octet == 0:
                raise _bad("the path of a Unix socket holds no NUL")
        try:
            var endpoint = Self(String(from_utf8=path), 0)
            endpoint.is_unix = True
            return endpoint^
        except:
            raise _bad("the path of a Unix socket must be UTF-8")

    def name(self) -> String:
        """Writes host and port, for the tickets of TLS.

        Returns:
            Such as `example.com:443`.
        """
        return String(self.host, ":", self.port)

    def __eq__(self, other: Self) -> Bool:
        """Compares two endpoints.

        Args:
            other: An endpoint.

        Returns:
            True if a connection to one leads to the other.
        """
        return (
            self.port == other.port
            and self.is_tls == other.is_tls
            and self.is_unix == other.is_unix
            and self.host == other.host
            and self.proxy == other.proxy
        )


def _bad(reason: StaticString) -> ClientError:
    return ClientError(
        materialize[Phase.REQUEST](), materialize[BadUrl](), String(reason)
    )
