"""TLS 1.2 and 1.3 for clients and servers, by way of OpenSSL 3."""

from flare.tls.client_context import TlsClientContext
from flare.tls.config import TlsConfig
from flare.tls.error import (
    AlpnRefused,
    BadTlsConfig,
    CertificateExpired,
    CertificateNotYetValid,
    CertificateRefused,
    CertificateRejected,
    CertificateRevoked,
    ClientCertificateRequired,
    ClosedEarly,
    ConnectionFailed,
    HandshakeTimeout,
    IncompleteChain,
    LibraryMissing,
    NoSharedCipher,
    NotTls,
    OutOfOrder,
    PlainHttpRequest,
    ProtocolVersionRefused,
    ProtocolViolation,
    RenegotiationRefused,
    RevocationUnknown,
    SelfSigned,
    TlsError,
    TlsErrorKind,
    UnknownIssuer,
    WrongHost,
)
from flare.tls.identity import TlsIdentity
from flare.tls.server_config import ClientVerification, TlsServerConfig
from flare.tls.server_context import TlsServerContext
from flare.tls.session import TlsSession
from flare.tls.session_cache import TlsSessionCache
from flare.tls.stream import TlsStream
from flare.tls.version import TlsVersion
