"""What the gateway reads from its configuration file."""

from flare.http.proxy import (
    Balance,
    HostRule,
    PathPrefixes,
    ProxyConfig,
    RequestKey,
)
from flare.json import parse, read_json


@fieldwise_init
struct UpstreamConfig(Copyable, Movable):
    """One upstream."""

    var url: String
    """Such as `http://127.0.0.1:9001`."""
    var weight: Optional[Int]
    """Its share beside the others; 1 by default."""


@fieldwise_init
struct RouteConfig(Copyable, Movable):
    """What goes to one group of upstreams."""

    var prefix: String
    """What the paths begin with; `/` for all that no other route has."""
    var upstreams: List[UpstreamConfig]
    """Who answers."""
    var strip_prefix: Optional[Bool]
    """True to take the prefix off."""
    var balance: Optional[String]
    """round_robin, least_requests or consistent_hash."""
    var key: Optional[String]
    """Of consistent_hash: client, path, `field NAME` or `cookie NAME`."""
    var host: Optional[String]
    """pass_on, upstream, or the Host itself."""
    var health_path: Optional[String]
    """What is asked for now and then."""
    var health_interval_ms: Optional[Int]
    """How often."""
    var max_requests: Optional[Int]
    """Most requests at a time for each upstream."""
    var timeout_ms: Optional[Int]
    """Time to the head of a response."""


@fieldwise_init
struct GatewayConfig(Copyable, Movable):
    """The whole file."""

    var listen: String
    """Where clients come to, such as `0.0.0.0:8080`."""
    var admin: String
    """Where figures and the page are; for nobody else's eyes."""
    var workers: Optional[Int]
    """How many threads; 1 by default."""
    var routes: List[RouteConfig]
    """At least one."""


def read_config(path: String) raises -> GatewayConfig:
    """Reads a configuration file. Raises an error that says what is wrong."""
    var text = String()
    with open(path, "r") as file:
        text = file.read()
    var config = _parsed(path, text)
    if len(config.routes) == 0:
        raise Error(path, ": there is no route")
    return config^


def _parsed(path: String, text: String) raises -> GatewayConfig:
    try:
        return read_json[GatewayConfig](parse(text).view())
    except error:
        raise Error(path, ": ", error)


def proxy_config(route: RouteConfig) raises -> ProxyConfig:
    """Makes the settings of a route's `ReverseProxy`."""
    var config = ProxyConfig()
    if route.strip_prefix and route.strip_prefix.value():
        config.rules.paths = PathPrefixes(strip=route.prefix, add="")
        config.rules.response.rewrites_location = True
        config.rules.response.rewrites_cookies = True
    if route.host:
        var host = route.host.value()
        if host == "upstream":
            config.rules.host = HostRule.UPSTREAM
        elif host != "pass_on":
            config.rules.host = HostRule.FIXED
            config.rules.fixed_host = host
    if route.balance:
        config.group.balance = _balance(route.balance.value())
    if route.key:
        config.key = _key(route.key.value())
    if route.health_path:
        config.group.health_path = route.health_path.value()
    if route.health_interval_ms:
        config.group.health_interval_ms = route.health_interval_ms.value()
    if route.max_requests:
        config.group.max_requests = route.max_requests.value()
    if route.timeout_ms:
        config.head_timeout_ms = route.timeout_ms.value()
    return config^


def _balance(name: String) raises -> Balance:
    if name == "round_robin":
        return Balance.ROUND_ROBIN
    if name == "least_requests":
        return Balance.LEAST_REQUESTS
    if name == "consistent_hash":
        return Balance.CONSISTENT_HASH
    raise Error(
        "balance is '",
        name,
        "'; write round_robin, least_requests or consistent_hash",
    )


def _key(name: String) raises -> RequestKey:
    if name == "client":
        return RequestKey.client()
    if name == "path":
        return RequestKey.path()
    if name.startswith("field "):
        return RequestKey.field(String(name.removeprefix("field ")))
    if name.startswith("cookie "):
        return RequestKey.cookie(String(name.removeprefix("cookie ")))
    raise Error(
        "key is '", name, "'; write client, path, field NAME or cookie NAME"
    )
