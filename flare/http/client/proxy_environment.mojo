"""The proxies that the environment names."""

from flare.http.client.error import ClientError
from flare.http.client.no_proxy import NoProxy
from flare.http.client.proxy import Proxy, ProxySettings
from std.os import getenv


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
