"""Requests sent on to upstreams: a handler that does so, which upstream is asked,
and what is passed on of a message."""

from flare.http.exchange.retry_rules import (
    AttemptEnd,
    EndedAttempt,
    RetryDecision,
)
from flare.http.proxy.rules.forwarding import (
    ClientFields,
    ForwardedRequest,
    ForwardingError,
    ForwardingRules,
    HostRule,
)
from flare.http.proxy.upstreams.proxy_config import ProxyConfig
from flare.http.proxy.rules.response_rewriting import (
    ResponseRewriting,
    UpstreamNames,
)
from flare.http.proxy.reverse_proxy import ReverseProxy
from flare.http.proxy.rules.target_path import PathPrefixes
from flare.http.proxy.upstreams.group_config import Balance, GroupConfig
from flare.http.proxy.upstreams.durations import Durations
from flare.http.proxy.upstreams.member import MemberFigures, hash_key
from flare.http.proxy.upstreams.member_health import MemberState
from flare.http.proxy.upstreams.outcome import Outcome
from flare.http.proxy.upstreams.upstream_group import (
    Choice,
    MemberId,
    Placed,
    UpstreamGroup,
    Waiter,
)
from flare.http.proxy.upstreams.request_key import RequestKey
from flare.http.proxy.upstreams.upstream_orders import (
    UpstreamOrders,
    UpstreamSums,
)
from flare.http.proxy.upstreams.upstreams import FailedCount, Upstreams
from flare.http.proxy.upstreams.upstream_metrics import UpstreamMetrics
