"""Errors of TLS, told apart by kind."""

from flare.net.error import NetworkError
from flare.sys.dynamic_library import LibraryError


struct TlsErrorKind(Equatable, ImplicitlyCopyable, Writable):
    """What went wrong, for programs: `if error.kind == WrongHost`."""

    var name: StaticString
    """The kind's name."""
    var advice: StaticString
    """What to do about it; empty if that hangs on the case."""

    def __init__(out self, name: StaticString, advice: StaticString = ""):
        """Makes a kind.

        Args:
            name: The kind's name.
            advice: What to do about it.
        """
        self.name = name
        self.advice = advice

    def __eq__(self, other: Self) -> Bool:
        """Compares two kinds.

        Args:
            other: A kind.

        Returns:
            True if they are the same.
        """
        return self.name == other.name

    def write_to(self, mut writer: Some[Writer]):
        """Writes the name.

        Args:
            writer: Where to.
        """
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
        """Makes an error.

        Args:
            kind: What went wrong.
            peer: With whom; empty before there is a peer.
            found: What was found, in words.
        """
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

    def is_untrusted(self) -> Bool:
        """Tells whether nobody who is trusted vouches for the certificate.

        Returns:
            True for `SelfSigned`, `UnknownIssuer` and `IncompleteChain`.
        """
        return (
            self.kind == SelfSigned
            or self.kind == UnknownIssuer
            or self.kind == IncompleteChain
        )

    def write_to(self, mut writer: Some[Writer]):
        """Writes the peer, what was found and what to do.

        Args:
            writer: Where to.
        """
        writer.write("TLS")
        if self.peer.byte_length() > 0:
            writer.write(" with ", self.peer)
        writer.write(": ", self.found)
        if self.kind.advice.byte_length() > 0:
            writer.write("; ", self.kind.advice)
