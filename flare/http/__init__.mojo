"""HTTP messages, client, server and routing."""

from flare.bytes.buffer import Buffer
from flare.http.client.auth import BasicAuth, BearerAuth, Credentials
from flare.http.client.client import HttpClient
from flare.http.client.client_request import ClientRequest
from flare.http.client.client_response import ClientResponse, StatusError
from flare.http.client.config import ClientConfig
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
from flare.http.client.multipart_form import MultipartForm
from flare.http.client.no_proxy import NoProxy
from flare.http.client.pool import PoolLimits
from flare.http.client.proxy import Proxy, ProxySettings
from flare.http.client.proxy_environment import proxy_from_env
from flare.http.client.request_body import RequestBody
from flare.http.client.send_result import SendResult
from flare.http.client.shortcuts import (
    delete,
    get,
    head,
    options,
    patch,
    post,
    put,
)
from flare.http.h1.limits import HeadLimits

from flare.http.message.body_source import (
    BodySource,
    StreamWaker,
    Supply,
)
from flare.http.message.server_sent_event import ServerSentEvent
from flare.http.server.event_hub import EventHub
from flare.http.message.accept_encoding import AcceptEncoding
from flare.http.message.content_decoder import (
    ContentCodingError,
    ContentDecoder,
    parse_content_encoding,
)
from flare.http.message.cookie import Cookie, parse_cookie_header
from flare.http.message.cookie_error import CookieError
from flare.http.message.cookie_jar import CookieJar
from flare.http.message.fields import Fields
from flare.http.message.form import FormData
from flare.http.message.header_map import HeaderMap
from flare.http.message.media_type import MediaType, MediaTypeError
from flare.http.message.method import Method
from flare.http.message.multipart_writer import FilePart, MultipartWriter
from flare.http.message.owned_request import OwnedRequest
from flare.http.message.request import Request
from flare.http.message.response import (
    Response,
    bad_request,
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
    unauthorized,
)
from flare.http.message.same_site import SameSite
from flare.http.message.set_cookie import parse_set_cookie_header
from flare.http.message.status import Status
from flare.http.message.url import Url
from flare.http.message.version import Version
from flare.http.routing.handler import FnHandler, Handler, HandlerFunction
from flare.http.routing.router import Router
from flare.http.server.config import ServerConfig
from flare.http.server.listeners import ListenerMode
from flare.http.server.handles import ReloadHandle, ShutdownHandle, StatsHandle
from flare.http.server.server import HttpServer
