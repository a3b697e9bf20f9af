"""What TLS has told a server about a client."""


struct TlsPeer(Copyable, Movable):
    """A client beyond its address, once its handshake is complete."""

    var certificate_subject: String
    """Whose certificate the client has shown and the server has verified, in
    the form of RFC 2253 ("CN=a,O=b"); empty if it has shown none."""

    def __init__(out self, var certificate_subject: String = ""):
        """Makes a client's facts.

        Args:
            certificate_subject: Whose certificate it has shown, if any.
        """
        self.certificate_subject = certificate_subject^
