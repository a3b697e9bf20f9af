"""What a TLS server shows, wants and agrees to."""

from flare.sys.openssl.context import VERIFY_NONE, VERIFY_PEER, VERIFY_REQUIRED
from flare.tls.identity import TlsIdentity
from flare.tls.pem_source import PemSource
from flare.tls.version import TlsVersion

comptime HANDSHAKE_TIMEOUT_MS = 10_000
"""How long a client may take for its handshake, in milliseconds.

Two round trips and a signature take far less, even from the other side of the
world.
"""


struct ClientVerification(Equatable, ImplicitlyCopyable):
    """Whether clients must show a certificate."""

    var mode: Int
    """A `VERIFY_` constant of `flare.sys`."""

    comptime NONE = ClientVerification(VERIFY_NONE)
    """They are not asked for one."""
    comptime OPTIONAL = ClientVerification(VERIFY_PEER)
    """They are asked; one that they show must be good."""
    comptime REQUIRED = ClientVerification(VERIFY_REQUIRED)
    """Without a good one there is no connection."""

    def __init__(out self, mode: Int):
        """Makes a choice; programs use the constants.

        Args:
            mode: A `VERIFY_` constant of `flare.sys`.
        """
        self.mode = mode


struct TlsServerConfig(Copyable, Movable):
    """Settings of a server: TLS 1.2 and 1.3, with forward secrecy and AEAD.

    Example: `TlsServerConfig("chain.pem", "key.pem", alpn=["http/1.1"])`.
    """

    var identities: List[TlsIdentity]
    """Certificates, at least one. A client gets the one whose names cover the
    name that it asks for: exactly, or else with a wildcard, or else the first.
    """
    var alpn: List[String]
    """Application protocols, best first. A client that offers only others is
    refused (RFC 7301); one that offers none is served."""
    var client_verification: ClientVerification
    """Whether clients must show a certificate. Default `NONE`."""
    var client_authorities: PemSource
    """The authorities of the clients' certificates."""
    var client_revocations: PemSource
    """Revocation lists, of each issuer in the clients' chains."""
    var session_tickets: Bool
    """True to let clients resume. Default True. The keys are made anew by
    each context and each reload."""
    var handshake_timeout_ms: Int
    """From accepting a connection to the end of the handshake. Default 10 s."""
    var minimum_version: TlsVersion
    """The oldest version that is spoken. Default 1.2."""

    def __init__(
        out self,
        var identity: TlsIdentity,
        *,
        var alpn: List[String] = [],
        client_verification: ClientVerification = ClientVerification.NONE,
        client_ca_file: String = "",
        client_ca_pem: String = "",
        client_crl_file: String = "",
        session_tickets: Bool = True,
        handshake_timeout_ms: Int = HANDSHAKE_TIMEOUT_MS,
        minimum_version: TlsVersion = TlsVersion.TLS_1_2,
    ):
        """Makes a configuration; what is not named has its default.

        Args:
            identity: The first certificate.
            alpn: Application protocols, best first.
            client_verification: Whether clients must show a certificate.
            client_ca_file: The authorities of the clients' certificates, a
                file in PEM form.
            client_ca_pem: The same as text; wins over `client_ca_file`.
            client_crl_file: Revocation lists in PEM form.
            session_tickets: True to let clients resume.
            handshake_timeout_ms: How long a handshake may take.
            minimum_version: The oldest version that is spoken.
        """
        self.identities = [identity^]
        self.alpn = alpn^
        self.client_verification = client_verification
        self.client_authorities = PemSource(file=client_ca_file)
        if client_ca_pem.byte_length() > 0:
            self.client_authorities = PemSource(text=client_ca_pem)
        self.client_revocations = PemSource(file=client_crl_file)
        self.session_tickets = session_tickets
        self.handshake_timeout_ms = handshake_timeout_ms
        self.minimum_version = minimum_version

    def __init__(
        out self,
        certificate_file: String,
        key_file: String,
        *,
        var alpn: List[String] = [],
    ):
        """Makes a configuration with one certificate; set what else differs.

        Args:
            certificate_file: The chain in PEM form.
            key_file: Its key in PEM form.
            alpn: Application protocols, best first.
        """
        self = Self(TlsIdentity(certificate_file, key_file), alpn=alpn^)

    def add(mut self, var identity: TlsIdentity):
        """Adds a certificate for other names.

        Args:
            identity: The certificate with its key.
        """
        self.identities.append(identity^)
