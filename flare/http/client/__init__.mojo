"""The HTTP client: requests, connections, proxies, errors; its shells around
the pure cores of `flare.http.h1`.
"""

from flare.http.client.connect.addresses import HostAddresses, NameResolver
from flare.http.client.message.arguments import (
    DataContent,
    FormContent,
    JsonContent,
    JsonItem,
    PlainValue,
    QueryParams,
    RequestHeaders,
)
from flare.http.client.connect.auth import (
    BasicAuth,
    BearerAuth,
    Credentials,
    DigestAuth,
)
from flare.http.client.cached_client import CachedClient
from flare.http.client.connect.cancel import CancelToken
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
from flare.http.client.message.config import (
    ClientConfig,
    TIME_MAX_MS,
    WHILE_PROGRESSING,
)
from flare.http.client.connect.error import (
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
from flare.http.client.connect.exchange_facts import (
    ConnectTimes,
    ConnectionInfo,
    ExchangeFacts,
)
from flare.http.client.file_download import DownloadedFile
from flare.http.client.message.hooks import (
    AfterAttempt,
    AnyHook,
    AttemptOutcome,
    BeforeAttempt,
    ClientHook,
    OutgoingAttempt,
)
from flare.http.client.message.multipart import MultipartForm
from flare.http.client.open_request import OpenRequest
from flare.http.client.open_response import OpenResponse
from flare.http.client.connect.netrc import Netrc
from flare.http.client.connect.proxy import (
    NoProxy,
    Proxy,
    proxy_from_env,
    ProxyScheme,
    ProxySettings,
)
from flare.http.client.message.request import (
    ClientRequest,
    RequestBody,
    Transfer,
    TransferProgress,
)
from flare.http.client.message.response import (
    ClientResponse,
    RedirectStep,
    ResponseStory,
    SendResult,
    StatusError,
)
from flare.http.client.message.retry_policy import (
    JitterSource,
    RetryEnd,
    RetryPolicy,
)
from flare.http.client.shared_client import SharedClient
from flare.http.client.connect.shared_pool import ConnectionLimits, PoolFigures
from flare.http.client.transfers import TransferMethods
from flare.http.client.message.verbs import RequestMethods
from flare.http.exchange.idle_pool import PoolLimits
from flare.http.exchange.retry_rules import RetryBudget
