"""What a peer's certificate says."""

from flare.bytes.ascii import write_hex_octet
from flare.sys.openssl.certificate import HeldCertificate
from flare.tls.error import ip_text


struct PeerCertificate(Copyable, Movable):
    """What a certificate says that a peer has shown."""

    var subject: String
    """Whose it is, in the form of RFC 2253, such as "CN=a,O=b"."""
    var issuer: String
    """Who signed it, in the same form."""
    var not_before: String
    """When it becomes valid, such as "2026-01-31 12:00:00 UTC"."""
    var not_after: String
    """When it expires, in the same form."""
    var dns_names: List[String]
    """The DNS names it is for (subjectAltName), in lower case."""
    var ip_addresses: List[String]
    """The IP addresses it is for."""
    var fingerprint: String
    """SHA-256 of its octets, 64 hex digits."""

    def __init__(out self, certificate: HeldCertificate):
        """Reads a certificate.

        Args:
            certificate: The certificate.
        """
        var facts = certificate.facts()
        self.subject = facts.subject
        self.issuer = facts.issuer
        self.not_before = facts.not_before
        self.not_after = facts.not_after
        self.dns_names = facts.names.copy()
        self.ip_addresses = []
        for octets in facts.addresses:
            self.ip_addresses.append(ip_text(Span(octets)))
        self.fingerprint = String()
        for octet in certificate.fingerprint():
            write_hex_octet(octet, self.fingerprint)
