"""HTTP messages, client, server and routing."""

from flare.bytes.buffer import Buffer
from flare.http.client.auth import BasicAuth, BearerAuth, Credentials
from flare.http.client.client import (
    HttpClient,
    delete,
    get,
    head,
    options,
    patch,
    post,
    put,
)
from flare.http.client.request import ClientRequest, RequestBody
from flare.http.client.response import ClientResponse, SendResult, StatusError
from flare.http.client.config import ClientConfig, WHILE_PROGRESSING
from flare.http.client.error import (
    BadContent,
    BadRequest,
    BadUrl,
    ClientError,
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
from flare.http.client.multipart import MultipartForm
from flare.http.client.proxy import (
    NoProxy,
    Proxy,
    ProxySettings,
    proxy_from_env,
)
from flare.http.client.pool import PoolLimits
from flare.http.h1.field_section import HeadLimits

from flare.http.message.body import Body
from flare.http.message.body_reader import BodyError, BodyReader
from flare.http.message.body import (
    BodySource,
    Conversation,
    Poll,
    Supply,
    UpgradedProtocol,
)
from flare.http.message.body import StreamWaker
from flare.http.sse.server_sent_event import ServerSentEvent
from flare.http.sse.event_hub import EventHub
from flare.http.message.content_coding import AcceptEncoding
from flare.http.conditional.range import ByterangesLayout
from flare.http.conditional.conditional import (
    Precondition,
    Validators,
    evaluate_preconditions,
    range_applies,
)
from flare.http.message.content_coding import (
    ContentCodingError,
    ContentDecoder,
    parse_content_encoding,
)
from flare.http.message.cookie import Cookie, parse_cookie_header
from flare.http.message.cookie import CookieError
from flare.http.cookie.jar import CookieJar
from flare.http.session.session import has_csrf_token, issue_csrf_token
from flare.http.conditional.conditional import EntityTag
from flare.http.message.extensions import Extensions, ExtensionScope
from flare.http.message.fields import Fields
from flare.http.message.form import FormData
from flare.http.message.forwarded import (
    forwarded_host,
    forwarded_proto,
)
from flare.http.message.header_map import HeaderMap
from flare.http.message.media_type import MediaType, MediaTypeError
from flare.http.message.method import Method
from flare.http.multipart.parser import MultipartError
from flare.http.multipart.parser import (
    MultipartEvent,
    MultipartLimits,
    PartHead,
)
from flare.http.multipart.parser import multipart_boundary
from flare.http.multipart.parser import MultipartParser
from flare.http.multipart.writer import FilePart, MultipartWriter
from flare.http.message.owned_request import OwnedRequest
from flare.http.conditional.range import ByteRange, RangeSet, RangeVerdict
from flare.http.message.request import Request
from flare.http.message.response import (
    Response,
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
    service_unavailable,
    too_many_requests,
    unauthorized,
    unprocessable,
)
from flare.http.message.cookie import SameSite
from flare.http.session.session import Session, SessionConfig
from flare.http.session.signing_keys import SigningKeyError, SigningKeys
from flare.http.cookie.set_cookie import parse_set_cookie_header
from flare.http.message.status import Status
from flare.url.url import Url
from flare.http.message.request import Version
from flare.http.routing.handler import FnHandler, Handler, HandlerFunction
from flare.http.routing.router import Router
from flare.http.routing.any_handler import Streamed
from flare.http.server.config import ServerConfig
from flare.http.static.file_server import FileServer
from flare.http.static.file_server import FileServerConfig
from flare.http.extract.upload import FormUpload
from flare.http.extract.multipart import Multipart
from flare.http.extract.upload import MultipartReader
from flare.http.extract.upload import UploadError
from flare.http.extract.upload import UploadedPart
from flare.http.server.config import ListenerMode
from flare.http.server.server import ReloadHandle, ShutdownHandle, StatsHandle
from flare.http.server.server import HttpServer

from flare.http.extract.text_value import Checked
from flare.http.extract.content import Form, Json
from flare.http.extract.endpoint import Endpoint, Extracted
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
from flare.http.extract.text_value import FromText, FromTexts, TextError
from flare.http.middleware.metrics import MetricSource
from flare.http.middleware.access_log import AccessLog
from flare.http.middleware.authentication import (
    BasicGuard,
    RequireBasicAuth,
    KnownUsers,
    PasswordCheck,
)
from flare.http.middleware.authentication import (
    BearerGuard,
    RequireBearerAuth,
    KnownToken,
    TokenCheck,
)
from flare.http.middleware.compress import Compress
from flare.http.middleware.conditional import Conditional, ValidatorHook
from flare.http.middleware.cors import Cors, CorsPolicy
from flare.http.middleware.error_handler import (
    ErrorFormat,
    ErrorHandler,
    Problem,
    problem_json,
)
from flare.http.middleware.health import Health, Readiness
from flare.http.middleware.access_log import LogFormat
from flare.http.middleware.access_log import (
    LogSink,
    StandardError,
    StandardOutput,
)
from flare.http.middleware.metrics import (
    Measured,
    RequestMetrics,
    MetricPair,
    MetricsEndpoint,
)
from flare.http.middleware.metrics import Metrics
from flare.http.middleware.authentication import principal
from flare.http.middleware.rate_limit import RateLimit, by_peer
from flare.http.middleware.error_handler import ErrorHook, Recover
from flare.http.middleware.health import ReadySwitch
from flare.http.middleware.request_id import RequestId
from flare.http.middleware.security_headers import (
    SecurityHeaders,
    SecurityPolicy,
)
from flare.http.middleware.sessions import CurrentSession, Sessions
from flare.http.middleware.timing import Timeout
from flare.http.middleware.timing import Timing
from flare.http.middleware.trusted_proxies import ForwardedField, TrustedProxies
from flare.http.openapi.api_docs import add_api_docs
from flare.http.openapi.document import ApiInfo, openapi_document
from flare.http.routing.any_handler import AnyHandler
from flare.http.routing.app import App, StateFunction, StateHandler
from flare.http.routing.comptime_router import ComptimeRoute, mounted
from flare.http.routing.comptime_router import ComptimeRouter
from flare.http.routing.handler import Middleware, RequestPolicy, is_head_only
from flare.http.routing.handler import refuses_by_head
from flare.http.routing.operation import Input, InputError
from flare.http.routing.operation import Operation
from flare.http.routing.failure import request_id
from flare.http.routing.stack import NEXT, Layer, stack
from flare.http.routing.app import State, StateGuard
