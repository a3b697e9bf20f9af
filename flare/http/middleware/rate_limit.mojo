"""Holding clients to a rate of requests."""

from flare.http.message.request import Request
from flare.http.message.response import TEXT_PLAIN, Response
from flare.http.middleware.token_buckets import BucketVerdict, TokenBuckets
from flare.http.routing.handler import (
    Handler,
    Middleware,
    RequestPolicy,
    refuses_by_head,
)
from flare.http.routing.state import State
from flare.net.ip_network import IpNetwork
from flare.sys.clock import monotonic_ns

comptime RateKey = def[o: ImmOrigin](Request[o]) thin -> String
"""Tells whose request it is: `def key(req: Request) -> String`."""

# Who has one IPv6 address has the 64 bits behind the prefix as well (RFC 6177).
comptime _V6_PREFIX_LEN = 64


def by_peer(req: Request) -> String:
    """Takes the address that a request came from as the key.

    Behind proxies, put a `TrustedProxies` around the limit. IPv6 addresses
    count by their first 64 bits, which one client has to itself; mapped ones
    are IPv4 addresses. Two keys stand for many clients: `0.0.0.0`, for all that
    comes over a Unix socket, whose only client is the proxy in front, and `::`,
    for those whom a trusted proxy does not name. So over a Unix socket without
    `TrustedProxies` all requests have one bucket.

    Args:
        req: The request.

    Returns:
        The address.
    """
    var ip = req.peer.ip.without_mapping()
    if ip.is_v4():
        return String(ip)
    return String(IpNetwork(ip, _V6_PREFIX_LEN).base)


struct RateLimit[H: Handler](Middleware):
    """Answers 429 to a client that asks too often (RFC 6585 section 4).

    Each key has a bucket of `burst` tokens that gains `rate` tokens a second;
    a request takes one. The buckets are shared by the worker threads, under a
    lock; worker processes have their own each.

    Parameters:
        H: The inner handler's type.
    """

    comptime Inner = Self.H
    """The inner handler's type."""
    var handler: Self.H
    """What answers requests within the rate."""
    var key: RateKey
    """Tells whose request it is."""
    var _buckets: State[TokenBuckets]

    def __init__(
        out self,
        var handler: Self.H,
        *,
        rate: Float64,
        burst: Int,
        key: RateKey = by_peer,
        key_count_max: Int = 65_536,
    ) raises:
        """Wraps a handler.

        Args:
            handler: What answers requests within the rate.
            rate: Requests a second in the long run, above 0.
            burst: Most requests at once, at least 1.
            key: Tells whose request it is; by default `by_peer`.
            key_count_max: Most keys that are kept in memory.

        Raises:
            Error: If a number is out of its range.
        """
        self.handler = handler^
        self.key = key
        self._buckets = State(TokenBuckets(rate, burst, key_count_max))

    def serve(self, req: Request) raises -> Response:
        """Lets the inner handler answer, if the client has a token.

        Args:
            req: The request.

        Returns:
            The response, or 429 with Retry-After.

        Raises:
            Error: What the inner handler raises.
        """
        var verdict = self._take(self.key(req))
        if verdict.is_allowed and not refuses_by_head(req, self.handler):
            return self.handler.serve(req)
        var response = Response(
            429, "too many requests\n", content_type=TEXT_PLAIN
        )
        var wait_s = (verdict.wait_ns + 999_999_999) // 1_000_000_000
        response.headers.set("Retry-After", String(max(wait_s, 1)))
        return response^

    def policy_for(self, req: Request) -> RequestPolicy:
        """Tells that the content of a client without a token is not needed.

        Args:
            req: The request's head.

        Returns:
            What the inner handler says, or that the head is enough.
        """
        var key = self.key(req)
        var has_token: Bool
        var buckets = self._buckets.lock()
        has_token = buckets[].has_token(key, monotonic_ns())
        _ = buckets^
        if has_token:
            return self.handler.policy_for(req)
        return RequestPolicy.by_head()

    def _take(self, key: String) -> BucketVerdict:
        var buckets = self._buckets.lock()
        return buckets[].take(key, monotonic_ns())
