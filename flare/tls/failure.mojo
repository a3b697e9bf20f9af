"""From what OpenSSL says to the kind of error that it is."""

from flare.sys.openssl.library import SSL_LIBRARY, OpenSslError
from flare.tls.error import (
    AlpnRefused,
    CertificateExpired,
    CertificateNotYetValid,
    CertificateRefused,
    CertificateRejected,
    CertificateRevoked,
    ClientCertificateRequired,
    ClosedEarly,
    NoSharedCipher,
    NotTls,
    PlainHttpRequest,
    ProtocolVersionRefused,
    ProtocolViolation,
    RevocationUnknown,
    SelfSigned,
    TlsErrorKind,
    UnknownIssuer,
    WrongHost,
)

# `X509_V_ERR_` numbers (openssl/x509_vfy.h).
comptime _UNABLE_TO_GET_CRL = 3
comptime _NOT_YET_VALID = 9
comptime _EXPIRED = 10
comptime _CRL_NOT_YET_VALID = 11
comptime _CRL_EXPIRED = 12
comptime _SELF_SIGNED_LEAF = 18
comptime _SELF_SIGNED_ROOT = 19
comptime _NO_ISSUER = [2, 20, 21, 27]
comptime _REVOKED = 23
comptime _CRL_ISSUER_MISSING = 33
comptime _WRONG_NAME = 62
comptime _WRONG_ADDRESS = 64

# `SSL_R_` numbers (openssl/sslerr.h); an alert of the peer is 1000 and the
# alert's own number (RFC 8446 section 6.2).
comptime _HTTPS_PROXY_REQUEST = 155
comptime _HTTP_REQUEST = 156
comptime _WRONG_VERSION_NUMBER = 267
comptime _UNEXPECTED_EOF = 294
# CERTIFICATE_VERIFY_FAILED, CA_KEY_TOO_SMALL, CA_MD_TOO_WEAK,
# EE_KEY_TOO_SMALL.
comptime _CERTIFICATE = [134, 397, 398, 399]
comptime _NO_CLIENT_CERTIFICATE = [199, 1116]
# VERSION_TOO_HIGH, NO_PROTOCOLS_AVAILABLE, UNKNOWN_PROTOCOL,
# UNSUPPORTED_PROTOCOL, UNSUPPORTED_SSL_VERSION, INAPPROPRIATE_FALLBACK,
# VERSION_TOO_LOW; protocol_version, inappropriate_fallback.
comptime _VERSION = [166, 191, 252, 258, 259, 373, 396, 1070, 1086]
# NO_SHARED_CIPHER, NO_CIPHERS_AVAILABLE, UNKNOWN_CIPHER_RETURNED,
# WRONG_CIPHER_RETURNED, NO_SUITABLE_KEY_SHARE, NO_SUITABLE_SIGNATURE_ALGORITHM,
# NO_SUITABLE_GROUPS, NO_SHARED_GROUPS, NO_SHARED_SIGNATURE_ALGORITHMS,
# WRONG_SIGNATURE_TYPE, DH_KEY_TOO_SMALL; handshake_failure,
# insufficient_security.
comptime _CIPHER = [
    193,
    181,
    248,
    261,
    101,
    118,
    295,
    410,
    376,
    370,
    394,
    1040,
    1071,
]
comptime _PROTOCOL = [235, 1120]
# bad_certificate to unknown_ca, access_denied.
comptime _REFUSED_CERTIFICATE = [1041, 1042, 1043, 1044, 1045, 1046, 1048, 1049]


def kind_of_certificate(verify_code: Int) -> TlsErrorKind:
    """Tells what is wrong with a certificate.

    Whether an unknown issuer is one that the peer should have sent does not
    show in the number.

    Args:
        verify_code: An `X509_V_ERR_` number other than 0.

    Returns:
        The kind.
    """
    if verify_code == _EXPIRED:
        return materialize[CertificateExpired]()
    if verify_code == _NOT_YET_VALID:
        return materialize[CertificateNotYetValid]()
    if verify_code == _WRONG_NAME or verify_code == _WRONG_ADDRESS:
        return materialize[WrongHost]()
    if verify_code == _SELF_SIGNED_LEAF:
        return materialize[SelfSigned]()
    if (
        verify_code == _SELF_SIGNED_ROOT
        or verify_code in materialize[_NO_ISSUER]()
    ):
        return materialize[UnknownIssuer]()
    if verify_code == _REVOKED:
        return materialize[CertificateRevoked]()
    if (
        verify_code == _UNABLE_TO_GET_CRL
        or verify_code == _CRL_NOT_YET_VALID
        or verify_code == _CRL_EXPIRED
        or verify_code == _CRL_ISSUER_MISSING
    ):
        return materialize[RevocationUnknown]()
    return materialize[CertificateRejected]()


def kind_of_failure(error: OpenSslError) -> TlsErrorKind:
    """Tells what is wrong with a session.

    Args:
        error: What OpenSSL says.

    Returns:
        The kind; for a certificate that did not verify,
        `kind_of_certificate` knows more.
    """
    if error.library != SSL_LIBRARY:
        return materialize[ProtocolViolation]()
    var reason = error.reason
    if reason == _HTTP_REQUEST or reason == _HTTPS_PROXY_REQUEST:
        return materialize[PlainHttpRequest]()
    if reason == _WRONG_VERSION_NUMBER:
        return materialize[NotTls]()
    if reason == _UNEXPECTED_EOF:
        return materialize[ClosedEarly]()
    if reason in materialize[_CERTIFICATE]():
        return materialize[CertificateRejected]()
    if reason in materialize[_NO_CLIENT_CERTIFICATE]():
        return materialize[ClientCertificateRequired]()
    if reason in materialize[_VERSION]():
        return materialize[ProtocolVersionRefused]()
    if reason in materialize[_CIPHER]():
        return materialize[NoSharedCipher]()
    if reason in materialize[_PROTOCOL]():
        return materialize[AlpnRefused]()
    if reason in materialize[_REFUSED_CERTIFICATE]():
        return materialize[CertificateRefused]()
    return materialize[ProtocolViolation]()
