"""Settings of TLS clients and servers: versions, identities, trusted authorities."""

from flare.sys.openssl.context import (
    TLS_1_2_NUMBER,
    TLS_1_3_NUMBER,
    VERIFY_NONE,
    VERIFY_PEER,
    VERIFY_REQUIRED,
)
from flare.sys.openssl.key_log import start_key_log
from flare.tls.error import BadTlsConfig, TlsError


struct TlsConfig(Copyable, Equatable, Movable):
    """Settings of a client. The defaults verify the server strictly.

    The server's certificate must be valid now, name the host, and lead to an
    authority that is trusted: those of the system unless some are given.
    """

    var authorities: PemSource
    """Authorities to trust, in PEM form."""
    var authority_folder: String
    """A folder of authorities by the hashes of their names (`c_rehash`)."""
    var revocations: PemSource
    """Revocation lists, of each issuer in the chain; none are checked by
    default."""
    var identity: TlsIdentity
    """The client's own certificate, for servers that want one."""
    var alpn: List[String]
    """Application protocols to offer, best first, such as "h2" (RFC 7301).
    Default none; clients of HTTP and WebSocket then offer what they speak."""
    var minimum_version: TlsVersion
    """The oldest version that is spoken. Default 1.2."""
    var insecure_skip_verification: Bool
    """True to accept any certificate, also that of an attacker. For tests on
    the own machine only. Default False."""
    var key_log: KeyLog
    """Where the secrets of the sessions are written; nowhere by default."""

    def __init__(
        out self,
        *,
        ca_file: String = "",
        ca_pem: String = "",
        ca_dir: String = "",
        crl_file: String = "",
        var identity: TlsIdentity = TlsIdentity(),
        var alpn: List[String] = [],
        minimum_version: TlsVersion = TlsVersion.TLS_1_2,
        insecure_skip_verification: Bool = False,
        var key_log: KeyLog = KeyLog(),
    ):
        """Makes a configuration; what is not named has its default.

        Args:
            ca_file: Authorities to trust instead of the system's: a file in
                PEM form.
            ca_pem: The same as text; wins over `ca_file`.
            ca_dir: The same as a folder; may go with one of the other two.
            crl_file: Revocation lists in PEM form.
        """
        self.authorities = PemSource(file=ca_file)
        if ca_pem.byte_length() > 0:
            self.authorities = PemSource(text=ca_pem)
        self.authority_folder = ca_dir
        self.revocations = PemSource(file=crl_file)
        self.identity = identity^
        self.alpn = alpn^
        self.minimum_version = minimum_version
        self.insecure_skip_verification = insecure_skip_verification
        self.key_log = key_log^

    @no_inline
    def __deinit__(deinit self):
        return


comptime HANDSHAKE_TIMEOUT_MS = 10_000
"""How long a client may take for its handshake, in milliseconds.

Two round trips and a signature take far less, even from the other side of the
world.
"""


@fieldwise_init
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
    refused (RFC 7301); one that offers none is served. Default none, and so no
    refusal; `HttpServer.bind_tls` then takes `h2` and `http/1.1`."""
    var client_verification: ClientVerification
    """Whether clients must show a certificate. Default `NONE`."""
    var client_authorities: PemSource
    """The authorities of the clients' certificates; an error with `NONE`."""
    var client_revocations: PemSource
    """Revocation lists, of each issuer in the clients' chains; an error with
    `NONE`."""
    var session_tickets: Bool
    """True to let clients resume. Default True. The keys are made anew by
    each context and each reload."""
    var handshake_timeout_ms: Int
    """From accepting a connection to the end of the handshake. Default 10 s."""
    var minimum_version: TlsVersion
    """The oldest version that is spoken. Default 1.2."""
    var key_log: KeyLog
    """Where the secrets of the sessions are written; nowhere by default."""

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
        var key_log: KeyLog = KeyLog(),
    ):
        """Makes a configuration; what is not named has its default.

        Args:
            identity: The first certificate.
            client_ca_file: The authorities of the clients' certificates, a
                file in PEM form.
            client_ca_pem: The same as text; wins over `client_ca_file`.
            client_crl_file: Revocation lists in PEM form.
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
        self.key_log = key_log^

    def __init__(
        out self,
        certificate_file: String,
        key_file: String,
        *,
        var alpn: List[String] = [],
    ):
        """Makes a configuration with one certificate; set what else differs;
        the rest is as for `TlsIdentity.__init__`."""
        self = Self(TlsIdentity(certificate_file, key_file), alpn=alpn^)

    @no_inline
    def __deinit__(deinit self):
        return

    def add(mut self, var identity: TlsIdentity):
        """Adds a certificate for other names.

        Args:
            identity: The certificate with its key.
        """
        self.identities.append(identity^)


struct TlsIdentity(Copyable, Equatable, Movable):
    """What one side shows of itself: a certificate chain and its key."""

    var certificate: PemSource
    """The certificate, then those of its issuers up to the root's."""
    var key: PemSource
    """The private key, without a passphrase."""

    def __init__(out self):
        """Makes an identity of nothing."""
        self.certificate = PemSource()
        self.key = PemSource()

    def __init__(out self, certificate_file: String, key_file: String):
        """Names the files.

        Args:
            certificate_file: The chain in PEM form.
            key_file: The key in PEM form.
        """
        self.certificate = PemSource(file=certificate_file)
        self.key = PemSource(file=key_file)

    @staticmethod
    def from_pem(certificate: String, key: String) -> Self:
        """Takes the texts of an identity.

        Args:
            certificate: The chain in PEM form.
            key: The key in PEM form.
        """
        var identity = Self()
        identity.certificate = PemSource(text=certificate)
        identity.key = PemSource(text=key)
        return identity^

    def is_given(self) -> Bool:
        """Tells whether there is a certificate or a key."""
        return self.certificate.is_given() or self.key.is_given()


struct PemSource(Copyable, Equatable, Movable):
    """Text in PEM form, or the path of a file that holds it.

    A file is read when a context is made, and again when it is reloaded.
    """

    var _text: String
    var _is_path: Bool

    def __init__(out self):
        self._text = String()
        self._is_path = False

    def __init__(out self, *, file: String):
        """Names a file; an empty path stands for nothing."""
        self._text = file
        self._is_path = file.byte_length() > 0

    def __init__(out self, *, text: String):
        """Takes a text in PEM form; an empty one stands for nothing."""
        self._text = text
        self._is_path = False

    def is_given(self) -> Bool:
        return self._text.byte_length() > 0

    def name(self) -> String:
        """Names the source for errors: the path, or that it is a text."""
        return self._text if self._is_path else String("the text in PEM form")

    def read(self) raises TlsError -> List[UInt8]:
        """Reads the text. Raises if the file cannot be read."""
        if not self._is_path:
            return List(self._text.as_bytes())
        try:
            with open(self._text, "r") as file:
                return file.read_bytes()
        except error:
            raise TlsError(
                materialize[BadTlsConfig](),
                String(),
                String(
                    self._text,
                    " cannot be read (",
                    error,
                    "); check the path and who may read it",
                ),
            )


comptime _KeyLogStart = def(Int, String) thin -> String


struct KeyLog(Copyable, Defaultable, Equatable, Movable):
    """A file that gets the secrets of TLS sessions, as `SSLKEYLOGFILE` does
    elsewhere: with it, Wireshark reads what was recorded.

    Whoever reads the file can read the connections, so a new one has the mode
    0600, and it is for tests and faults alone. It is appended to, in the format
    of NSS. The library never asks the environment for its path.
    """

    var _path: String
    # As a value, so that a program without one has nothing of it in its build.
    var _start: _KeyLogStart

    def __init__(out self):
        """Writes nothing."""
        self._path = String()
        self._start = _start_nothing

    @implicit
    def __init__(out self, var path: String):
        """Names the file.

        Args:
            path: Its path; an empty one stands for nothing.
        """
        self._path = path^
        self._start = start_key_log

    @implicit
    def __init__(out self, path: StringLiteral):
        """Names the file."""
        self = Self(String(path))

    def __eq__(self, other: Self) -> Bool:
        """Tells whether both write to one file, or nowhere.

        Args:
            other: Another one.
        """
        return self._path == other._path

    def start(self, context: Int) raises TlsError:
        """Begins to write for the sessions of a context.

        Args:
            context: The `SSL_CTX`, without sessions.

        Raises:
            TlsError: If the file cannot be opened.
        """
        if self._path.byte_length() == 0:
            return
        var problem = self._start(context, self._path)
        if problem.byte_length() > 0:
            raise TlsError(
                materialize[BadTlsConfig](),
                String(),
                String(
                    "key_log: ",
                    self._path,
                    " cannot be written (",
                    problem,
                    "); check the path and who may write it",
                ),
            )


def _start_nothing(context: Int, path: String) -> String:
    return String()


struct TlsVersion(Equatable, ImplicitlyCopyable):
    """A version of TLS; there is none before 1.2 (RFC 8996)."""

    var number: Int
    """Its number on the wire."""

    comptime TLS_1_2 = TlsVersion(TLS_1_2_NUMBER)
    """RFC 5246."""
    comptime TLS_1_3 = TlsVersion(TLS_1_3_NUMBER)
    """RFC 8446."""

    def __init__(out self, number: Int):
        """Makes a version; programs use the constants."""
        self.number = max(number, TLS_1_2_NUMBER)
