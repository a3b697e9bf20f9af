"""RFC 9110 message values, pure."""

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
from flare.http.message.cookie import (
    Cookie,
    CookieError,
    parse_cookie_header,
    SameSite,
)
from flare.http.message.extensions import Extensions, ExtensionScope
from flare.http.message.fields import Field, Fields
from flare.http.message.form import FormData
from flare.http.message.forwarded import forwarded_host, forwarded_proto
from flare.http.message.header_map import HeaderMap
from flare.http.message.media_type import MediaType, MediaTypeError
from flare.http.message.method import Method
from flare.http.message.outcome import ResponseOutcome
from flare.http.message.owned_request import OwnedRequest
from flare.http.message.request import Request, Version
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
from flare.http.message.trailers import Trailers
