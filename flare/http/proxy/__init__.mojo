"""Requests sent on to upstreams: what is passed on of a message, and what is not."""

from flare.http.proxy.forwarding import (
    ClientFields,
    ForwardedRequest,
    ForwardingError,
    ForwardingRules,
    HostRule,
)
from flare.http.proxy.response_rewriting import ResponseRewriting, UpstreamNames
from flare.http.proxy.target_path import PathPrefixes
