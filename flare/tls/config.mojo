"""What a TLS client trusts, shows and offers."""

from flare.tls.identity import TlsIdentity
from flare.tls.pem_source import PemSource
from flare.tls.version import TlsVersion


struct TlsConfig(Copyable, Movable):
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
    """Application protocols to offer, best first, such as "h2" (RFC 7301)."""
    var minimum_version: TlsVersion
    """The oldest version that is spoken. Default 1.2."""
    var insecure_skip_verification: Bool
    """True to accept any certificate, also that of an attacker. For tests on
    the own machine only. Default False."""

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
    ):
        """Makes a configuration; what is not named has its default.

        Args:
            ca_file: Authorities to trust instead of the system's: a file in
                PEM form.
            ca_pem: The same as text; wins over `ca_file`.
            ca_dir: The same as a folder; may go with one of the other two.
            crl_file: Revocation lists in PEM form.
            identity: The client's own certificate.
            alpn: Application protocols to offer, best first.
            minimum_version: The oldest version that is spoken.
            insecure_skip_verification: True to accept any certificate.
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
