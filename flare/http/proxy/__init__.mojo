"""Requests sent on to upstreams: a handler that does so, which upstream is asked,
and what is passed on of a message."""

from flare.http.exchange.retry_rules import RetryDecision
from flare.http.proxy.forwarding import (
    ClientFields,
    ForwardedRequest,
    ForwardingError,
    ForwardingRules,
    HostRule,
)
from flare.http.proxy.proxy_config import ProxyConfig
from flare.http.proxy.response_rewriting import ResponseRewriting, UpstreamNames
from flare.http.proxy.reverse_proxy import ReverseProxy
from flare.http.proxy.target_path import PathPrefixes
from flare.http.proxy.group_config import Balance, GroupConfig
from flare.http.proxy.durations import Durations
from flare.http.proxy.member import MemberFigures, hash_key
from flare.http.proxy.member_health import MemberState
from flare.http.proxy.outcome import Outcome
from flare.http.proxy.retry_rules import Attempt
from flare.http.proxy.upstream_group import (
    Choice,
    MemberId,
    Placed,
    UpstreamGroup,
    Waiter,
)
from flare.http.proxy.request_key import RequestKey
from flare.http.proxy.upstream_orders import UpstreamOrders, UpstreamSums
from flare.http.proxy.upstreams import FailedCount, Upstreams
from flare.http.proxy.upstream_metrics import UpstreamMetrics
