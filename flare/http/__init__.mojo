"""What programs use of HTTP every day; the rest is in the packages within.

`flare.http.cache`, `.client`, `.conditional`, `.cookie`, `.extract`, `.fetch`,
`.message`, `.middleware`, `.multipart`, `.openapi`, `.proxy`, `.routing`,
`.server`, `.session`, `.sse`, `.static` and `.stores` have all of theirs.
"""

# Server.
from flare.http.message.extensions import ExtensionScope
from flare.http.handler.any_handler import Streamed
from flare.http.routing.app import App
from flare.http.handler.state import State
from flare.http.routing.comptime_router import (
    ComptimeRoute,
    ComptimeRouter,
    mounted,
)
from flare.http.handler.failure import request_id
from flare.http.handler.handler import (
    FnHandler,
    Handler,
    Middleware,
    RequestPolicy,
)
from flare.http.routing.router import Router
from flare.http.routing.stack import Layer, NEXT, stack
from flare.http.server.config import ServerConfig
from flare.http.server.server import HttpServer, ShutdownHandle
from flare.http.server.settings import ServerSettings
from flare.http.sse.event_hub import EventHub
from flare.http.sse.event_hub import ServerSentEvent
from flare.http.static.file_server import FileServer, FileServerConfig

# Messages, and the usual answers.
from flare.http.cookie.jar import CookieJar
from flare.http.cookie.set_cookie import parse_set_cookie_header
from flare.http.message.cookie import Cookie, parse_cookie_header
from flare.http.message.form import FormData
from flare.http.message.header_map import HeaderMap
from flare.http.message.method import Method
from flare.http.message.request import Request
from flare.http.message.response import (
    accepted,
    bad_request,
    conflict,
    created,
    forbidden,
    internal_error,
    no_content,
    not_found,
    ok,
    ok_html,
    ok_json,
    ok_stream,
    redirect,
    Response,
    service_unavailable,
    too_many_requests,
    unauthorized,
    unprocessable,
)
from flare.http.message.status import Status
from flare.url.url import Url

# Typed inputs; all of them are in `flare.http.extract`.
from flare.http.extract.content import Form, Json
from flare.http.extract.endpoint import Endpoint, Extracted
from flare.http.extract.multipart import Multipart
from flare.http.extract.upload import UploadedPart

# The usual middleware; all of it is in `flare.http.middleware`.
from flare.http.middleware.access_log import AccessLog
from flare.http.middleware.authentication import (
    principal,
    RequireBasicAuth,
    RequireBearerAuth,
)
from flare.http.middleware.compress import Compress
from flare.http.middleware.cors import Cors, CorsPolicy
from flare.http.middleware.error_handler import (
    ErrorHandler,
    problem_json,
    Recover,
)
from flare.http.middleware.metrics import RequestMetrics
from flare.http.middleware.rate_limit import RateLimit
from flare.http.middleware.request_id import RequestId
from flare.http.middleware.security_headers import SecurityHeaders
from flare.http.middleware.sessions import Sessions
from flare.http.middleware.timing import Timeout

# Client.
from flare.http.client.connect.auth import BasicAuth, BearerAuth
from flare.http.client.client import (
    delete,
    get,
    head,
    HttpClient,
    options,
    patch,
    post,
    put,
)
from flare.http.client.message.config import ClientConfig
from flare.http.client.connect.error import ClientError
from flare.http.client.message.multipart import MultipartForm
from flare.http.client.open_response import OpenResponse
from flare.http.client.message.request import ClientRequest
from flare.http.client.message.response import ClientResponse

# Here until 0.2; docs/api-changes.md says which package has each.
from flare.bytes.buffer import Buffer
from flare.bytes.from_text import FromText, TextError
from flare.http.client.connect.auth import Credentials
from flare.http.client.message.config import WHILE_PROGRESSING
from flare.http.client.connect.error import (
    BadContent,
    BadRequest,
    BadUrl,
    MalformedResponse,
    NoResponse,
    Phase,
    ProxyRefused,
    RedirectRefused,
    ResponseTooLarge,
    SinkFailed,
    SourceFailed,
    TlsFailed,
    TooManyRedirects,
    TruncatedResponse,
)
from flare.http.client.connect.proxy import (
    NoProxy,
    Proxy,
    proxy_from_env,
    ProxySettings,
)
from flare.http.client.message.request import RequestBody
from flare.http.client.message.response import SendResult, StatusError
from flare.http.conditional.conditional import (
    EntityTag,
    evaluate_preconditions,
    Precondition,
    range_applies,
    Validators,
)
from flare.http.conditional.range import (
    ByteRange,
    ByterangesLayout,
    RangeSet,
    RangeVerdict,
)
from flare.http.exchange.idle_pool import PoolLimits
from flare.http.extract.parameter import (
    CookieParam,
    CookieStr,
    HeaderParam,
    HeaderStr,
    OptCookieStr,
    OptHeaderStr,
    OptQueryInt,
    OptQueryStr,
    PathInt,
    PathParam,
    PathStr,
    Peer,
    QueryBool,
    QueryInt,
    QueryParam,
    QueryStr,
)
from flare.http.extract.content import Checked
from flare.http.extract.upload import FormUpload, MultipartReader, UploadError
from flare.http.h1.field_section import HeadLimits
from flare.http.message.body import (
    Body,
    BodySource,
    Poll,
    StreamWaker,
    UpgradedProtocol,
)
from flare.http.message.body_reader import BodyError, BodyReader
from flare.http.message.content_coding import (
    AcceptEncoding,
    ContentCodingError,
    ContentDecoder,
    parse_content_encoding,
)
from flare.http.message.cookie import CookieError, SameSite
from flare.http.message.extensions import Extensions
from flare.http.message.fields import Fields
from flare.http.message.forwarded import forwarded_host, forwarded_proto
from flare.http.message.media_type import MediaType, MediaTypeError
from flare.http.message.owned_request import OwnedRequest
from flare.http.message.request import Version
from flare.http.middleware.authentication import (
    KnownToken,
    KnownUsers,
    PasswordCheck,
    TokenCheck,
)
from flare.http.middleware.conditional import Conditional, ValidatorHook
from flare.http.middleware.error_handler import ErrorFormat, ErrorHook, Problem
from flare.http.middleware.health import Health, Readiness
from flare.http.handler.ready_switch import ReadySwitch
from flare.http.middleware.metrics import (
    MetricPair,
    Metrics,
    MetricsEndpoint,
)
from flare.http.handler.metric_source import MetricSource
from flare.http.middleware.rate_limit import by_peer
from flare.http.middleware.security_headers import SecurityPolicy
from flare.http.middleware.sessions import CurrentSession
from flare.http.middleware.timing import Timing
from flare.http.middleware.trusted_proxies import ForwardedField, TrustedProxies
from flare.http.multipart.parser import (
    multipart_boundary,
    MultipartError,
    MultipartEvent,
    MultipartLimits,
    MultipartParser,
    PartHead,
)
from flare.http.multipart.writer import FilePart, MultipartWriter
from flare.http.openapi.page import add_api_docs
from flare.http.openapi.document import ApiInfo, openapi_document
from flare.http.handler.any_handler import AnyHandler
from flare.http.handler.state import StateFunction, StateGuard, StateHandler
from flare.http.handler.handler import (
    HandlerFunction,
    is_head_only,
    refuses_by_head,
)
from flare.http.handler.operation import Input, InputError, Operation
from flare.http.server.config import ListenerMode
from flare.http.server.server import ReloadHandle, StatsHandle
from flare.http.session.session import (
    has_csrf_token,
    issue_csrf_token,
    Session,
    SessionConfig,
)
from flare.http.session.signing_keys import SigningKeyError, SigningKeys
from flare.json.text_value import FromTexts
from flare.log.sink import LogFormat, LogSink, StandardError, StandardOutput
