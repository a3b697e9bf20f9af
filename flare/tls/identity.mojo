"""A certificate with its private key."""

from flare.tls.pem_source import PemSource


struct TlsIdentity(Copyable, Movable):
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
        """Takes the texts.

        Args:
            certificate: The chain in PEM form.
            key: The key in PEM form.

        Returns:
            The identity.
        """
        var identity = Self()
        identity.certificate = PemSource(text=certificate)
        identity.key = PemSource(text=key)
        return identity^

    def is_given(self) -> Bool:
        """Tells whether there is a certificate or a key.

        Returns:
            False for an identity of nothing.
        """
        return self.certificate.is_given() or self.key.is_given()
