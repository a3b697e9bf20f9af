"""Proxies, and which requests go through one."""

from flare.bytes.ascii import equals_ignore_case
from flare.bytes.checked import *
from flare.http.client.connect.auth import BasicAuth, Credentials
from flare.http.client.connect.error import (
    BadRequest,
    BadUrl,
    ClientError,
    Phase,
)
from flare.http.client.connect.connection import Endpoint
from flare.http.client.connect.socks import socks_login
from flare.net.ip import IpAddr, IpNetwork
from flare.net.socket_addr import host_and_port
from flare.tls.config import TlsConfig
from flare.url.percent import percent_decode
from flare.url.url import Url
from std.memory import ArcPointer
from std.os import getenv

comptime SOCKS_PORT = UInt16(1080)
"""The port of SOCKS proxies (RFC 1928 section 3)."""


@fieldwise_init
struct ProxyScheme(Equatable, TrivialRegisterPassable):
    """How a proxy is spoken to."""

    var number: UInt8
    """A small number, distinct for each scheme."""

    comptime HTTP = ProxyScheme(0)
    """`http`: in HTTP/1.1."""
    comptime HTTPS = ProxyScheme(1)
    """`https`: in HTTP/1.1 over TLS."""
    comptime SOCKS5 = ProxyScheme(2)
    """`socks5`: by RFC 1928; names of hosts are looked up here."""
    comptime SOCKS5H = ProxyScheme(3)
    """`socks5h`: by RFC 1928; the proxy looks names of hosts up."""

    def is_http(self) -> Bool:
        """Tells whether the proxy speaks HTTP, with TLS or without, and not
        SOCKS."""
        return self == Self.HTTP or self == Self.HTTPS


struct Proxy(Copyable, Movable):
    """A proxy that is spoken to in HTTP, with TLS or without, or by SOCKS5.

    To one of HTTP, requests for `http` URLs are handed whole (RFC 9112 section
    3.2.2); for `https` URLs it is asked for a tunnel (RFC 9110 section 9.3.6),
    and TLS with the host lies within. One of SOCKS5 connects to the host
    (RFC 1928), and passes octets on.
    """

    var scheme: ProxyScheme
    """How it is spoken to."""
    var host: String
    """Its host name, or its address without brackets."""
    var port: UInt16
    """Its port."""
    var credentials: Credentials
    """What it is told in Proxy-Authorization, or by RFC 1929."""
    var tls: TlsConfig
    """Whom to trust as a proxy of the scheme `https`, and what to show to it:
    by default the authorities of the system, and nothing. `ClientConfig.tls`
    is about the hosts behind it."""

    @implicit
    def __init__(out self, url: StringSpan) raises ClientError:
        """Reads a proxy's URL.

        Args:
            url: Such as `http://user:password@proxy.example:3128`; the scheme
                is `http` (which may be left out), `https`, `socks5` or
                `socks5h`. The port is 80, 443 or 1080 unless it is given.

        Raises:
            ClientError: If it is no URL of such a scheme, or its user name
                holds a colon or is too long for SOCKS5.
        """
        var text = String(url)
        if "://" not in text:
            text = "http://" + text
        self.scheme = _scheme(text)
        var has_port = True
        if not self.scheme.is_http():
            # Read by the rules of http URLs, which lose a port of 80.
            var authority = String(text[byte = text.find("://") :])
            text = "http" + authority
            has_port = names_port(text)
        var parsed = _parse(text)
        var endpoint = Endpoint.of(parsed)
        self.host = endpoint.host
        self.port = endpoint.port if has_port else SOCKS_PORT
        self.credentials = credentials_of(parsed)
        self.credentials.check()
        self.tls = TlsConfig()
        _ = self.socks_login()

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
        """Names it by host and port, such as `proxy.example:3128`; with the
        scheme if it is not `http`."""
        var authority = host_and_port(self.host, self.port)
        if self.scheme == ProxyScheme.HTTPS:
            return "https://" + authority
        if self.scheme == ProxyScheme.SOCKS5:
            return "socks5://" + authority
        if self.scheme == ProxyScheme.SOCKS5H:
            return "socks5h://" + authority
        return authority^

    def socks_login(self) raises ClientError -> List[UInt8]:
        """Writes what a SOCKS5 proxy is told of the user (RFC 1929).

        Returns:
            The message; empty without user name and password, and for a proxy
            that speaks HTTP.

        Raises:
            ClientError: If one is longer than 255 bytes, or is for Digest.
        """
        var login = self.credentials.login()
        if not login or self.scheme.is_http():
            return []
        if self.credentials.is_digest():
            # RFC 1929 would send the password as it is.
            raise ClientError(
                Phase.PROXY,
                BadRequest,
                (
                    "DigestAuth: SOCKS5 knows no challenge, only a password"
                    " that is sent; use BasicAuth to send it"
                ),
            )
        return socks_login(login.value().user, login.value().password)


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
        """Sends requests through one proxy, with exceptions."""
        self.http = proxy.copy()
        self.https = proxy^
        self.exceptions = exceptions.copy()

    def choose(self, endpoint: Endpoint) -> Optional[Proxy]:
        """Finds the proxy on the way to a host; nothing for the direct way.

        Args:
            endpoint: Where a request goes.
        """
        if endpoint.is_unix or (self.http is None and self.https is None):
            return None
        if self.exceptions.covers(endpoint.host, endpoint.port):
            return None
        if endpoint.is_tls:
            return self.https.copy()
        return self.http.copy()


@always_inline
def choose_proxy(
    settings: ProxySettings, endpoint: Endpoint
) -> Optional[ArcPointer[Proxy]]:
    """Chooses the way to a host, in a form that is cheap to move; nothing if
    there is no proxy for it."""
    if settings.http is None and settings.https is None:
        return None
    return _shared_choice(settings, endpoint)


@no_inline
def _shared_choice(
    settings: ProxySettings, endpoint: Endpoint
) -> Optional[ArcPointer[Proxy]]:
    var proxy = settings.choose(endpoint)
    if not proxy:
        return None
    return ArcPointer(proxy.take())


def credentials_of(url: Url) -> Credentials:
    """Takes user name and password of a URL as Basic credentials; none if it
    has neither."""
    var user = url.username()
    var password = url.password()
    if user.byte_length() == 0 and password.byte_length() == 0:
        return Credentials()
    return BasicAuth(_decoded(user), _decoded(password))


def user_of(url: Url) -> String:
    """Takes the user name of a URL; empty if there is none."""
    return _decoded(url.username())


def _decoded(text: StringSpan) -> String:
    try:
        return percent_decode(text.as_bytes())
    except:
        return String(text)


def _scheme(url: StringSpan) raises ClientError -> ProxyScheme:
    var text = url[byte = 0 : url.find("://")].as_bytes()
    if equals_ignore_case(text, "http".as_bytes()):
        return ProxyScheme.HTTP
    if equals_ignore_case(text, "https".as_bytes()):
        return ProxyScheme.HTTPS
    if equals_ignore_case(text, "socks5".as_bytes()):
        return ProxyScheme.SOCKS5
    if equals_ignore_case(text, "socks5h".as_bytes()):
        return ProxyScheme.SOCKS5H
    raise _bad("the proxy's scheme must be http, https, socks5 or socks5h")


def names_port(url: StringSpan) -> Bool:
    """Tells whether a URL of the scheme `http` names a port; a parsed one has
    lost a port of 80."""
    var octets = url.as_bytes()
    var start = 7
    var end = start
    while end < len(octets) and octets.at(end) != 47 and octets.at(end) != 63:
        if octets.at(end) == 64:
            start = end + 1
        end += 1
    # What follows a last colon that is none of an IPv6 address.
    var index = end
    while (
        index > start
        and octets.at(index - 1) >= 48
        and octets.at(index - 1) <= 57
    ):
        index -= 1
    return index < end and index > start and octets.at(index - 1) == 58


def _parse(text: StringSpan) raises ClientError -> Url:
    try:
        return Url.parse(text)
    except error:
        # The text may hold a password, so it is not repeated.
        raise _bad(error.reason)


def _bad(reason: StaticString) -> ClientError:
    return ClientError(Phase.PROXY, BadUrl, String("the proxy's URL: ", reason))


@fieldwise_init
struct _Entry(Copyable, Movable):
    var name: String
    var port: Int
    """0 for any."""
    var network: Optional[IpNetwork]


struct NoProxy(Copyable, Defaultable, Movable):
    """A list of exceptions, as the NO_PROXY variable has them.

    Its elements are separated by commas. `*` stands for all hosts; an IP
    address or a network such as `10.0.0.0/8` for addresses; a name such as
    `example.com` or `.example.com` for that host and all below it. A port
    after it (`example.com:8080`) makes it match that port alone. Names are
    not looked up.
    """

    var _entries: List[_Entry]
    var _is_all: Bool

    def __init__(out self):
        """Makes an empty list."""
        self._entries = []
        self._is_all = False

    @implicit
    def __init__(out self, text: StringSpan):
        """Reads a list; what is no element is passed over.

        Args:
            text: The list.
        """
        self = Self()
        for part in text.split(","):
            var element = part.strip()
            if element == "*":
                self._is_all = True
            elif element.byte_length() > 0:
                self._entries.append(_entry(element))

    @implicit
    def __init__(out self, text: StringLiteral):
        """Reads a literal list."""
        self = Self(StringSpan(text))

    def covers(self, host: StringSpan, port: UInt16) -> Bool:
        """Tells whether a host is an exception: it is to be reached without a
        proxy.

        Args:
            host: A name, or an address without brackets.
            port: The port.
        """
        if self._is_all:
            return True
        var ip = _ip(host)
        var name = host.removesuffix(".")
        for ref entry in self._entries:
            if entry.port != 0 and entry.port != Int(port):
                continue
            if entry.network:
                if ip and entry.network.value().contains(ip.value()):
                    return True
            elif not ip and _is_at_or_below(name, entry.name):
                return True
        return False


def _entry(element: StringSpan) -> _Entry:
    try:
        return _Entry(String(), 0, IpNetwork.parse(element))
    except:
        pass
    var bare = element
    if element.startswith("[") and element.endswith("]"):
        bare = element.removeprefix("[").removesuffix("]")
    var network = _host_network(bare)
    if network:
        return _Entry(String(), 0, network^)
    var colon = element.rfind(":")
    if colon < 0:
        return _Entry(String(_name(element)), 0, None)
    var port = _port(element[byte = colon + 1 :])
    var host = element[byte=:colon]
    if host.startswith("[") and host.endswith("]"):
        host = host.removeprefix("[").removesuffix("]")
    return _Entry(String(_name(host)), port, _host_network(host))


def _name[o: ImmOrigin](text: StringSpan[o]) -> StringSpan[o]:
    return text.removeprefix("*").removeprefix(".").removesuffix(".")


def _port(digits: StringSpan) -> Int:
    try:
        return Int(digits)
    except:
        # No port is below 0, so the element matches nothing.
        return -1


def _ip(text: StringSpan) -> Optional[IpAddr]:
    try:
        return IpAddr.parse(text)
    except:
        return None


def _host_network(text: StringSpan) -> Optional[IpNetwork]:
    var ip = _ip(text)
    if not ip:
        return None
    try:
        return IpNetwork.parse(
            String(ip.value(), "/", 32 if ip.value().is_v4() else 128)
        )
    except:
        return None


def _is_at_or_below(host: StringSpan, domain: StringSpan) -> Bool:
    var octets = host.as_bytes()
    var start = len(octets) - domain.byte_length()
    if start < 0 or domain.byte_length() == 0:
        return False
    if not equals_ignore_case(octets.after(start), domain.as_bytes()):
        return False
    return start == 0 or octets.at(start - 1) == 46


def proxy_from_env() raises ClientError -> ProxySettings:
    """Reads `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`.

    The client never does this of itself: programs that want it say
    `config.proxy = proxy_from_env()`. The upper-case names count too, but for
    HTTP_PROXY, which a CGI server sets from a header of the request it serves.

    Returns:
        The settings.

    Raises:
        ClientError: If a variable holds no URL of a proxy.
    """
    var settings = ProxySettings()
    var all = _either("all_proxy", "ALL_PROXY")
    var http = getenv("http_proxy")
    var https = _either("https_proxy", "HTTPS_PROXY")
    if http.byte_length() == 0:
        http = all
    if https.byte_length() == 0:
        https = all
    if http.byte_length() > 0:
        settings.http = Proxy(http)
    if https.byte_length() > 0:
        settings.https = Proxy(https)
    settings.exceptions = NoProxy(_either("no_proxy", "NO_PROXY"))
    return settings^


def _either(name: String, other: String) -> String:
    var value = getenv(name)
    return value if value.byte_length() > 0 else getenv(other)
