"""On what terms the clients of a server are served."""

from flare.http.middleware.ready_switch import ReadySwitch
from flare.http.server.config import ConfigError, ServerConfig
from flare.http.server.descriptor_budget import DescriptorBudget
from flare.tls.server_config import TlsServerConfig
from flare.tls.server_context import TlsServerContext

comptime HTTP_1_1_PROTOCOL = "http/1.1"
"""What HTTP/1.1 is called in the handshake (RFC 7301 section 6)."""


struct ServerTerms(Copyable, Movable):
    """Limits and times of a server, and TLS if it is spoken.

    Every worker has a copy; the certificates are shared by all of them.
    """

    var config: ServerConfig
    """Limits and times."""
    var tls: Optional[TlsServerContext]
    """What TLS is spoken with; nothing for plain HTTP."""
    var descriptors: DescriptorBudget
    """What descriptors connections may take."""
    var ready: ReadySwitch
    """Turned off when the server begins to stop."""

    def __init__(out self, var config: ServerConfig) raises ConfigError:
        """Makes the terms of plain HTTP.

        Args:
            config: Limits and times.

        Raises:
            ConfigError: If it contradicts itself.
        """
        config.check()
        self.config = config^
        self.tls = None
        self.descriptors = DescriptorBudget.of_process()
        self.ready = ReadySwitch()

    def speak_tls(mut self, var config: TlsServerConfig) raises:
        """Chooses HTTP over TLS; reads the files that are named.

        Args:
            config: Certificates and rules. An empty `alpn` becomes
                "http/1.1".

        Raises:
            Error: If it cannot work, or OpenSSL is missing; the text says why.
        """
        # A day, as for the other times.
        if (
            config.handshake_timeout_ms < 1
            or config.handshake_timeout_ms > 86_400_000
        ):
            raise Error(
                "handshake_timeout_ms is ",
                config.handshake_timeout_ms,
                "; allowed are 1 to 86400000",
            )
        if len(config.alpn) == 0:
            config.alpn.append(HTTP_1_1_PROTOCOL)
        for protocol in config.alpn:
            if protocol != HTTP_1_1_PROTOCOL:
                raise Error(
                    "alpn names the protocol '",
                    protocol,
                    "'; this server speaks http/1.1 alone, so leave alpn empty",
                )
        self.tls = TlsServerContext(config^)
