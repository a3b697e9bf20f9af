"""What may go wrong with TLS and certificates, and why."""

from flare.bytes.ascii import write_escaped
from flare.bytes.checked import *
from flare.net.error import NetworkError
from flare.net.ip import IpAddr, is_ip_address
from flare.sys.dynamic_library import LibraryError
from flare.sys.openssl.certificate import CertificateFacts
from flare.sys.openssl.library import OpenSslError, SSL_LIBRARY
from flare.sys.openssl.session import (
    SslSession,
    asks_for_certificate,
    verified_chain,
    verify_code,
    verify_text,
)


struct TlsErrorKind(Equatable, ImplicitlyCopyable, Writable):
    """What went wrong, for programs: `if error.kind == WrongHost`."""

    var name: StaticString
    """The kind's name."""
    var advice: StaticString
    """What to do about it; empty if that hangs on the case."""

    def __init__(out self, name: StaticString, advice: StaticString = ""):
        """Makes a kind."""
        self.name = name
        self.advice = advice

    def __eq__(self, other: Self) -> Bool:
        """Tells whether two kinds are the same.

        Args:
            other: A kind.
        """
        return self.name == other.name

    def write_to(self, mut writer: Some[Writer]):
        """Writes the name."""
        writer.write(self.name)


comptime CertificateExpired = TlsErrorKind(
    "CertificateExpired", "its owner must renew it; is the clock here right?"
)
"""The certificate was valid once."""
comptime CertificateNotYetValid = TlsErrorKind(
    "CertificateNotYetValid", "is the clock here right?"
)
"""The certificate will be valid later."""
comptime WrongHost = TlsErrorKind(
    "WrongHost",
    "connect to a name that the certificate has, or have it reissued",
)
"""The certificate is good, but for other hosts."""
comptime SelfSigned = TlsErrorKind(
    "SelfSigned",
    "if it is the one you expect, trust it by giving it as `ca_file`",
)
"""The certificate was signed with its own key and is not trusted."""
comptime UnknownIssuer = TlsErrorKind(
    "UnknownIssuer",
    (
        "if you trust that authority, give its certificate as `ca_file`; to"
        " trust the public ones, install the package ca-certificates"
    ),
)
"""The certificate leads to an authority that is not trusted here."""
comptime IncompleteChain = TlsErrorKind(
    "IncompleteChain",
    (
        "the server must send the certificates of its issuers behind its own;"
        " if it does, trust the authority by giving it as `ca_file`"
    ),
)
"""The peer did not send the certificates between its own and an authority."""
comptime CertificateRevoked = TlsErrorKind(
    "CertificateRevoked", "do not use this peer until it has a new one"
)
"""The issuer has taken the certificate back."""
comptime RevocationUnknown = TlsErrorKind(
    "RevocationUnknown",
    "`crl_file` must hold a current list of each issuer in the chain",
)
"""The revocation lists that were given do not tell about the certificate."""
comptime CertificateRejected = TlsErrorKind(
    "CertificateRejected", "its owner must have it reissued"
)
"""The certificate breaks another rule, such as too weak a key."""
comptime CertificateRefused = TlsErrorKind(
    "CertificateRefused",
    "show one that the peer trusts, with its whole chain",
)
"""The peer does not accept the certificate of this side."""
comptime ClientCertificateRequired = TlsErrorKind(
    "ClientCertificateRequired",
    "the client must be given a certificate and its key",
)
"""The server wants a certificate of the client, and there was none."""
comptime ProtocolVersionRefused = TlsErrorKind(
    "ProtocolVersionRefused",
    "both sides must speak TLS 1.2 or 1.3; older versions are unsafe",
)
"""The two sides have no version of TLS in common."""
comptime NoSharedCipher = TlsErrorKind(
    "NoSharedCipher",
    (
        "the peer must offer a suite with forward secrecy and AEAD, such as"
        " ECDHE with AES-GCM"
    ),
)
"""The two sides have no cipher suite, group or signature in common."""
comptime RenegotiationRefused = TlsErrorKind(
    "RenegotiationRefused",
    (
        "the server must ask for what it wants, such as a certificate, in the"
        " first handshake, or speak TLS 1.3"
    ),
)
"""The server wanted a second handshake, which is never made (RFC 9325 section
3.5 demands care; TLS 1.3 has none)."""
comptime AlpnRefused = TlsErrorKind(
    "AlpnRefused", "offer a protocol that the peer speaks, or none at all"
)
"""The two sides have no application protocol in common (RFC 7301)."""
comptime HandshakeTimeout = TlsErrorKind(
    "HandshakeTimeout", "allow more time, or give the peer up"
)
"""The handshake took longer than allowed."""
comptime ClosedEarly = TlsErrorKind(
    "ClosedEarly",
    "do not trust that what was received is complete; try again",
)
"""The connection ended without the notice that nothing follows."""
comptime PlainHttpRequest = TlsErrorKind(
    "PlainHttpRequest", "the client must use https:// for this port"
)
"""A client sent an HTTP request where TLS is spoken."""
comptime NotTls = TlsErrorKind(
    "NotTls", "is it the right port, and does it speak TLS from the start?"
)
"""The peer does not speak TLS."""
comptime ProtocolViolation = TlsErrorKind(
    "ProtocolViolation", "try again; if it stays so, the peer is at fault"
)
"""The peer broke the protocol, or octets were changed on the way."""
comptime LibraryMissing = TlsErrorKind(
    "LibraryMissing",
    (
        "install OpenSSL 3: the package libssl3 on Debian and Ubuntu,"
        " openssl-libs on Fedora, openssl@3 on Homebrew"
    ),
)
"""OpenSSL 3 is not on this machine."""
comptime BadTlsConfig = TlsErrorKind("BadTlsConfig")
"""A file cannot be read, a key does not fit, or a value makes no sense."""
comptime OutOfOrder = TlsErrorKind(
    "OutOfOrder", "write after the handshake and before `close`"
)
"""The caller used a session before its handshake or after its end."""
comptime ConnectionFailed = TlsErrorKind("ConnectionFailed")
"""The network failed below TLS: `TlsError.network` tells how."""


struct TlsError(Copyable, Movable, Writable):
    """A TLS connection failed, or cannot be made.

    Its text names the peer, what was found, and what to do.
    """

    var kind: TlsErrorKind
    """What went wrong."""
    var peer: String
    """With whom: a host, "the client", or empty before there is a peer."""
    var found: String
    """What was found, in words."""
    var network: Optional[NetworkError]
    """What the network said, if the kind is `ConnectionFailed`."""

    def __init__(
        out self, kind: TlsErrorKind, var peer: String, var found: String
    ):
        """Makes an error."""
        self.kind = kind
        self.peer = peer^
        self.found = found^
        self.network = None

    @implicit
    def __init__(out self, error: NetworkError):
        """Takes over a failure of the network.

        Args:
            error: What the network said.
        """
        self = Self(materialize[ConnectionFailed](), String(), String(error))
        self.network = error.copy()

    @implicit
    def __init__(out self, error: LibraryError):
        """Takes over that OpenSSL is missing.

        Args:
            error: What is missing.
        """
        self = Self(materialize[LibraryMissing](), String(), String(error))

    @no_inline
    def __deinit__(deinit self):
        return

    def is_untrusted(self) -> Bool:
        """Tells whether nobody who is trusted vouches for the certificate: it
        is `SelfSigned`, `UnknownIssuer` or `IncompleteChain`."""
        return (
            self.kind == SelfSigned
            or self.kind == UnknownIssuer
            or self.kind == IncompleteChain
        )

    def write_to(self, mut writer: Some[Writer]):
        """Writes the peer, what was found and what to do."""
        writer.write("TLS")
        if self.peer.byte_length() > 0:
            writer.write_string(" with ")
            writer.write_string(self.peer)
        writer.write_string(": ")
        writer.write_string(self.found)
        if self.kind.advice.byte_length() > 0:
            writer.write_string("; ")
            writer.write_string(self.kind.advice)


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
    """Tells what is wrong with a certificate by an `X509_V_ERR_` number other
    than 0. Whether an unknown issuer is one that the peer should have sent does
    not show in it."""
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
    """Tells what is wrong with a session; for a certificate that did not
    verify, `kind_of_certificate` knows more."""
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


comptime _NAMES_MAX = 8


def session_error(
    mut session: SslSession, peer: String, shows_identity: Bool
) -> TlsError:
    """Tells why OpenSSL has given a session, a step of which has just failed,
    up; `shows_identity` if this side has a certificate, or is a server."""
    var error = session.take_error("session")
    var kind = kind_of_failure(error)
    var code = verify_code(session)
    if kind == CertificateRejected and code != 0:
        return certificate_error(
            code, verify_text(session), verified_chain(session), peer
        )
    # TLS 1.2 has no alert of its own for a missing certificate.
    if (
        kind == NoSharedCipher
        and not shows_identity
        and asks_for_certificate(session)
    ):
        kind = materialize[ClientCertificateRequired]()
    return TlsError(kind, peer, error.text)


def certificate_error(
    verify_code: Int,
    verify_text: String,
    chain: List[CertificateFacts],
    peer: String,
) -> TlsError:
    """Explains why a peer's certificate was not accepted, of a chain of it and
    those that lead to an authority."""
    var kind = kind_of_certificate(verify_code)
    if len(chain) == 0:
        return TlsError(kind, peer, verify_text)
    ref leaf = chain.at(0)
    if kind == UnknownIssuer and len(chain) == 1 and leaf.has_issuer_access:
        # A certificate of a public authority, whose issuer is one that
        # servers have to send; the authority itself is likely to be trusted.
        kind = materialize[IncompleteChain]()
    var found = String()
    if kind == CertificateExpired:
        ref expired = chain.at(_first_to_expire(chain))
        found.write("the certificate of ")
        _write_text(expired.subject, found)
        found.write(" expired at ", expired.not_after)
    elif kind == CertificateNotYetValid:
        ref early = chain.at(_last_to_start(chain))
        found.write("the certificate of ")
        _write_text(early.subject, found)
        found.write(" is not valid before ", early.not_before)
    elif kind == WrongHost:
        found.write("the certificate is for ")
        _write_names(leaf, found)
        if peer in leaf.names and is_ip_address(peer):
            # RFC 9525 section 6.5, which those who make their own overlook.
            found.write("; ", peer, " stands there as a name, and must as an")
            found.write(" address (IP, not DNS, in subjectAltName)")
    else:
        _write_chain(kind, verify_text, chain, found)
    return TlsError(kind, peer, found^)


def _write_chain(
    kind: TlsErrorKind,
    verify_text: String,
    chain: List[CertificateFacts],
    mut found: String,
):
    """Writes what is wrong with where a certificate leads to."""
    ref leaf = chain.at(0)
    if kind == SelfSigned:
        found.write("the certificate is signed by itself, ")
        _write_text(leaf.subject, found)
    elif kind == IncompleteChain:
        found.write("no certificate was sent of the issuer ")
        _write_text(leaf.issuer, found)
    elif kind == UnknownIssuer:
        found.write("the certificate leads to the authority ")
        _write_text(chain.at(len(chain) - 1).issuer, found)
        found.write(", which is not trusted here")
    else:
        found.write("the certificate of ")
        _write_text(leaf.subject, found)
        found.write(" does not verify: ", verify_text)


def _first_to_expire(chain: List[CertificateFacts]) -> Int:
    var first = 0
    for index in range(1, len(chain)):
        if chain.at(index).not_after < chain.at(first).not_after:
            first = index
    return first


def _last_to_start(chain: List[CertificateFacts]) -> Int:
    var last = 0
    for index in range(1, len(chain)):
        if chain.at(index).not_before > chain.at(last).not_before:
            last = index
    return last


def _write_text(text: String, mut writer: String):
    """Writes a subject; the peer may have chosen any octets."""
    writer.write("'")
    write_escaped(text.as_bytes(), writer)
    writer.write("'")


def _write_names(facts: CertificateFacts, mut writer: String):
    """Writes the hosts that a certificate is for."""
    var count = len(facts.names) + len(facts.addresses)
    if count == 0:
        writer.write("no host at all (it has no subjectAltName)")
        return
    var written = 0
    for name in facts.names:
        if written == _NAMES_MAX:
            break
        writer.write(", " if written > 0 else "")
        write_escaped(name.as_bytes(), writer)
        written += 1
    for octets in facts.addresses:
        if written == _NAMES_MAX:
            break
        writer.write(", " if written > 0 else "")
        writer.write_string(ip_text(Span(octets)))
        written += 1
    if count > written:
        writer.write_string(" and ")
        (count - written).write_to(writer)
        writer.write_string(" more")


def ip_text(octets: Span[UInt8, _]) -> String:
    """Writes an address of a certificate, of 4 or 16 octets; "an unreadable
    address" for another number."""
    if len(octets) == 4:
        return String(
            IpAddr.v4(octets.at(0), octets.at(1), octets.at(2), octets.at(3))
        )
    if len(octets) != 16:
        return "an unreadable address"
    var copied = Array[UInt8, 16](fill=0)
    for index in range(16):
        copied.at(index) = octets.at(index)
    return String(IpAddr.from_v6_octets(copied))
