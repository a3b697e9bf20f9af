"""Handlers around handlers."""

from flare.http.middleware.access_log import AccessLog
from flare.http.middleware.authentication import (
    KnownToken,
    KnownUsers,
    PasswordCheck,
    principal,
    RequireBasicAuth,
    RequireBearerAuth,
    TokenCheck,
)
from flare.http.middleware.cache import Cache
from flare.http.middleware.backplane_metrics import BackplaneMetrics
from flare.http.middleware.cache_metrics import CacheMetrics
from flare.http.middleware.compress import Compress
from flare.http.middleware.conditional import Conditional, ValidatorHook
from flare.http.middleware.cors import Cors, CorsPolicy
from flare.http.middleware.error_handler import (
    ErrorFormat,
    ErrorHandler,
    ErrorHook,
    Problem,
    problem_json,
    Recover,
)
from flare.http.middleware.health import Health, Readiness
from flare.http.handler.ready_switch import ReadySwitch
from flare.http.middleware.idempotency import (
    by_authorization,
    Idempotency,
    IdempotencyConfig,
)
from flare.http.middleware.idempotency_store import (
    IdempotencyStore,
    KeyClaim,
    LocalIdempotency,
)
from flare.http.middleware.metrics import (
    MetricPair,
    Metrics,
    MetricsEndpoint,
    RequestMetrics,
)
from flare.http.handler.metric_source import MetricSource
from flare.http.middleware.rate_limit import by_peer, RateLimit
from flare.http.middleware.rate_store import RateFallback, RateStore
from flare.http.middleware.request_id import RequestId
from flare.http.middleware.security_headers import (
    SecurityHeaders,
    SecurityPolicy,
)
from flare.http.middleware.sessions import CurrentSession, Sessions
from flare.http.middleware.timing import Timeout, Timing
from flare.http.middleware.tracing import Tracing
from flare.http.middleware.trusted_proxies import ForwardedField, TrustedProxies
from flare.http.middleware.worker_metrics import WorkerMetrics
from flare.http.handler.handler import is_head_only, Middleware, refuses_by_head
from flare.http.routing.stack import Layer, NEXT, stack
from flare.log.sink import LogFormat, LogSink, StandardError, StandardOutput
from flare.log.with_log import WithLog
