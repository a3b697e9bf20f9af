"""The HTTP client: requests, connections, proxies, errors; its shells around
the pure cores of `flare.http.h1`.
"""

from flare.http.client.addresses import HostAddresses, NameResolver
from flare.http.client.arguments import (
    DataContent,
    FormContent,
    JsonContent,
    JsonItem,
    PlainValue,
    QueryParams,
    RequestHeaders,
)
from flare.http.client.auth import (
    BasicAuth,
    BearerAuth,
    Credentials,
    DigestAuth,
)
from flare.http.client.cached_client import CachedClient
from flare.http.client.cancel import CancelToken
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
from flare.http.client.config import (
    ClientConfig,
    TIME_MAX_MS,
    WHILE_PROGRESSING,
)
from flare.http.client.error import (
    BadContent,
    BadRequest,
    BadUrl,
    Cancelled,
    ClientError,
    ErrorStatus,
    HookFailed,
    MalformedResponse,
    NoResponse,
    OtherError,
    Phase,
    PoolExhausted,
    ProxyRefused,
    RedirectRefused,
    ResponseTooLarge,
    SinkFailed,
    SourceFailed,
    StreamReset,
    TlsFailed,
    TooManyRedirects,
    TruncatedResponse,
    UnexpectedResponse,
)
from flare.http.client.event_source import EventSource
from flare.http.client.exchange_facts import (
    ConnectTimes,
    ConnectionInfo,
    ExchangeFacts,
)
from flare.http.client.file_download import DownloadedFile
from flare.http.client.progress import Transfer, TransferProgress
from flare.http.client.hooks import (
    AfterAttempt,
    AnyHook,
    AttemptOutcome,
    BeforeAttempt,
    ClientHook,
    OutgoingAttempt,
)
from flare.http.client.multipart import MultipartForm
from flare.http.client.open_request import OpenRequest
from flare.http.client.open_response import OpenResponse
from flare.http.client.netrc import Netrc
from flare.http.client.proxy import (
    NoProxy,
    Proxy,
    proxy_from_env,
    ProxyScheme,
    ProxySettings,
)
from flare.http.client.request import ClientRequest, RequestBody
from flare.http.client.response import ClientResponse, SendResult, StatusError
from flare.http.client.response_story import RedirectStep, ResponseStory
from flare.http.client.retry_policy import JitterSource, RetryEnd, RetryPolicy
from flare.http.client.shared_client import SharedClient
from flare.http.client.shared_pool import ConnectionLimits, PoolFigures
from flare.http.client.transfers import TransferMethods
from flare.http.client.verbs import RequestMethods
from flare.http.exchange.idle_pool import PoolLimits
from flare.http.exchange.retry_budget import RetryBudget
