"""Handlers, routers and state."""

from flare.http.handler.any_handler import AnyHandler, Streamed
from flare.http.routing.app import App
from flare.http.handler.state import (
    State,
    StateFunction,
    StateGuard,
    StateHandler,
)
from flare.http.routing.comptime_router import (
    ComptimeRoute,
    ComptimeRouter,
    mounted,
)
from flare.http.handler.failure import request_id
from flare.http.handler.handler import (
    FnHandler,
    Handler,
    HandlerClaims,
    HandlerFunction,
    is_head_only,
    Middleware,
    refuses_by_head,
    RequestPolicy,
)
from flare.http.handler.later import (
    Completion,
    Deferred,
    DeferredCall,
    Errand,
    LaterStep,
    RequestContent,
    deferred_call,
    finish_later,
    is_later,
    later,
)
from flare.http.handler.surroundings import Surroundings
from flare.http.handler.upstream_facts import UpstreamFacts
from flare.http.handler.operation import Input, InputError, Operation
from flare.http.routing.host_router import HostRouter
from flare.http.routing.router import Router
from flare.http.routing.stack import Layer, NEXT, stack
