"""Options of the test servers' command lines that `bind` wants.

Of TLS: `cert`, `key`, `cert2`, `key2`, `client_ca` are files, `verify` is
optional or required, `tickets` is off, `handshake_timeout_ms` a number, and
`key_log` a file. `unix`
is a Unix socket to listen at, and `replace_stale` is 1. `mapped` is 1 for an
IPv6 socket that takes IPv4 clients, at the loopback's mapped address.
"""

from flare.http import HttpServer, ServerConfig
from flare.net import SocketAddr
from flare.tls import ClientVerification, TlsIdentity, TlsServerConfig


struct TlsOptions(Defaultable, Movable):
    """What the command line says of TLS, or of a Unix socket."""

    var values: Dict[String, String]

    def take(mut self, name: String, value: String) -> Bool:
        """Takes an option; False if `bind` does not want it."""
        comptime NAMES = " cert key cert2 key2 client_ca verify tickets handshake_timeout_ms key_log unix replace_stale mapped "
        if String(" ", name, " ") not in NAMES:
            return False
        self.values[name] = value
        return True

    def config(self) raises -> TlsServerConfig:
        """Makes the configuration."""
        var config = TlsServerConfig(
            TlsIdentity(self.values["cert"], self.values["key"]),
            client_ca_file=self.values.get("client_ca").or_else(""),
            session_tickets=self.values.get("tickets").or_else("") != "off",
            key_log=self.values.get("key_log").or_else(""),
        )
        if "handshake_timeout_ms" in self.values:
            config.handshake_timeout_ms = Int(
                self.values["handshake_timeout_ms"]
            )
        if "cert2" in self.values:
            config.add(TlsIdentity(self.values["cert2"], self.values["key2"]))
        var verify = self.values.get("verify").or_else("")
        if verify == "required":
            config.client_verification = ClientVerification.REQUIRED
        elif verify == "optional":
            config.client_verification = ClientVerification.OPTIONAL
        return config^

    def bind(self, port: UInt16, var config: ServerConfig) raises -> HttpServer:
        """Makes the server: plain HTTP at a port, unless the options say more."""
        if "unix" in self.values:
            return HttpServer.bind_unix(
                self.values["unix"],
                config^,
                replace_stale="replace_stale" in self.values,
            )
        var address = SocketAddr.localhost(port)
        if "mapped" in self.values:
            address = SocketAddr.parse(String("[::ffff:127.0.0.1]:", port))
        if "cert" not in self.values:
            return HttpServer.bind(address, config^)
        return HttpServer.bind_tls(address, self.config(), config^)
