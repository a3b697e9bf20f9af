"""TLS 1.2 and 1.3 for clients and servers, by way of OpenSSL 3."""

from flare.tls.certificate import PeerCertificate
from flare.tls.context import TlsClientContext
from flare.tls.config import KeyLog, TlsConfig
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
from flare.tls.config import TlsIdentity
from flare.tls.config import ClientVerification, TlsServerConfig
from flare.tls.context import TlsServerContext
from flare.tls.session import TlsSession
from flare.tls.context import TlsSessionCache
from flare.tls.stream import TlsStream
from flare.tls.config import TlsVersion
