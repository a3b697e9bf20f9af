"""The routes of the gateway: a reverse proxy each."""

from examples.gateway.admin import Group
from examples.gateway.config import GatewayConfig, RouteConfig, proxy_config
from flare.http import Router
from flare.http.proxy import ReverseProxy


def gateway_router(
    config: GatewayConfig, mut groups: List[Group]
) raises -> Router:
    """Makes a route for each prefix, and gathers their upstreams."""
    var router = Router()
    for route in config.routes:
        var proxy = _proxy(route)
        groups.append(Group(route.prefix, proxy.upstreams()))
        var prefix = String(route.prefix.removesuffix("/"))
        if prefix.byte_length() > 0:
            router.any(prefix, proxy.copy())
        router.any(prefix + "/*rest", proxy^)
    return router^


def _proxy(route: RouteConfig) raises -> ReverseProxy:
    try:
        var urls = List[String]()
        for upstream in route.upstreams:
            urls.append(upstream.url)
        var proxy = ReverseProxy(urls^, proxy_config(route))
        for upstream in route.upstreams:
            if upstream.weight:
                proxy.upstreams().set_weight(
                    upstream.url, upstream.weight.value()
                )
        return proxy^
    except error:
        raise Error("route ", route.prefix, ": ", error)
