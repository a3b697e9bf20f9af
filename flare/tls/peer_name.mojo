"""Whom a client wants to talk to."""

from flare.dns.host_name import check_host_name
from flare.net.ip import IpAddr
from flare.tls.error import TlsError
from flare.tls.preparing import bad_config


struct PeerName(Copyable, Movable):
    """A host's name or address, as certificates have it."""

    var text: String
    """The name without a dot at its end, or the address."""
    var is_address: Bool
    """True for an IP address, which is never sent as a name (RFC 6066 section
    3)."""

    def __init__(out self, host: StringSpan) raises TlsError:
        """Reads a host.

        Args:
            host: A DNS name, or an IP address without brackets.

        Raises:
            TlsError: If it is neither: what a certificate is compared with must
                be what was connected to, to the last octet.
        """
        var address = _address(host)
        self.is_address = address.byte_length() > 0
        if self.is_address:
            self.text = address^
            return
        try:
            check_host_name(host.as_bytes())
        except error:
            raise bad_config(String(error, "; give a name or an IP address"))
        self.text = String(host.removesuffix("."))


def _address(host: StringSpan) -> String:
    """Writes an address in its canonical form; empty if it is none."""
    try:
        return String(IpAddr.parse(host))
    except error:
        return String()
