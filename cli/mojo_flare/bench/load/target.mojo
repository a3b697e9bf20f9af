"""What is asked, and where: everything that is the same for all requests."""

from flare.dns import resolve
from flare.http.client.exchange.connect_context import ConnectContext
from flare.http.client.connect.connection import Endpoint
from flare.http.h1.field_section import HeadLimits
from flare.http.message.header_map import HeaderMap
from flare.net import SocketAddr
from flare.tls.config import TlsConfig
from flare.url.url import Url

comptime _LIMITS = HeadLimits(8_192, 32_768, 200)


struct Target(Movable):
    """A server's address, and the request that it gets on and on."""

    var address: SocketAddr
    """Where it listens."""
    var endpoint: Endpoint
    """Its name, and whether TLS is spoken."""
    var method: String
    """The request's method."""
    var request: List[UInt8]
    """The request, head and content."""
    var context: ConnectContext
    """What TLS sessions share."""

    def __init__(
        out self,
        url: Url,
        method: StringSpan,
        fields: HeaderMap,
        content: Span[UInt8, _],
        is_insecure: Bool,
    ) raises:
        """Looks the host up, and writes the request.

        Args:
            url: An `http` or `https` URL.
            method: The method.
            fields: Fields; Host and Content-Length are added.
            content: The content; there is a Content-Length unless it is empty
                and the method has none.
            is_insecure: True to accept any certificate.

        Raises:
            Error: If the host is not found.
        """
        self.endpoint = Endpoint.of(url)
        self.address = SocketAddr(
            resolve(self.endpoint.host)[0], self.endpoint.port
        )
        self.method = String(method)
        self.request = _written(url, method, fields, content)
        self.context = ConnectContext(
            TlsConfig(
                alpn=["http/1.1"], insecure_skip_verification=is_insecure
            ),
            materialize[_LIMITS](),
        )


def _written(
    url: Url, method: StringSpan, fields: HeaderMap, content: Span[UInt8, _]
) -> List[UInt8]:
    var text = String(method, " ", url.request_target(), " HTTP/1.1\r\n")
    if "host" not in fields:
        text.write("Host: ", url.host(), "\r\n")
    if "user-agent" not in fields:
        text.write("User-Agent: flare-bench\r\n")
    for index in range(len(fields)):
        text.write(fields.name(index), ": ", fields.value(index), "\r\n")
    var has_none = method == "GET" or method == "HEAD" or method == "DELETE"
    if len(content) > 0 or not has_none:
        text.write("Content-Length: ", len(content), "\r\n")
    text.write("\r\n")
    var octets = List[UInt8](text.as_bytes())
    octets.extend(content)
    return octets^
