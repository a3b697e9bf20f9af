"""The versions of TLS that are spoken."""

from flare.sys.openssl.context import TLS_1_2_NUMBER, TLS_1_3_NUMBER


struct TlsVersion(Equatable, ImplicitlyCopyable):
    """A version of TLS; there is none before 1.2 (RFC 8996)."""

    var number: Int
    """Its number on the wire."""

    comptime TLS_1_2 = TlsVersion(TLS_1_2_NUMBER)
    """RFC 5246."""
    comptime TLS_1_3 = TlsVersion(TLS_1_3_NUMBER)
    """RFC 8446."""

    def __init__(out self, number: Int):
        """Makes a version; programs use the constants.

        Args:
            number: Its number on the wire.
        """
        self.number = max(number, TLS_1_2_NUMBER)
