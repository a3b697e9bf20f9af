"""A TLS server that echoes, one connection after the other.

Run: tls_echo 0 [option=value...]: `cert`, `key`, `cert2`, `key2`, `client_ca`
are files, `verify` is optional or required, `alpn` a list with commas,
`tickets` is off, `minimum` is 1.3.

For each connection it prints "ok ALPN resumed=BOOL NAME SUBJECT" or the kind
of the error.
"""

from flare.net.socket_addr import SocketAddr
from flare.tcp.stream import TcpListener, TcpStream
from flare.tls.config import (
    ClientVerification,
    TlsIdentity,
    TlsServerConfig,
    TlsVersion,
)
from flare.tls.context import TlsServerContext
from flare.tls.error import TlsError
from flare.tls.stream import TlsStream
from std.sys import argv


def main() raises:
    """Serves as the command line says, for ever."""
    var options = Dict[String, String]()
    var arguments = argv()
    for index in range(2, len(arguments)):
        var argument = String(arguments[index])
        var equals = argument.find("=")
        options[String(argument[byte=0:equals])] = String(
            argument[byte = equals + 1 :]
        )
    var config = TlsServerConfig(
        TlsIdentity(options["cert"], options["key"]),
        client_ca_file=options.get("client_ca").or_else(""),
        session_tickets=options.get("tickets").or_else("") != "off",
        handshake_timeout_ms=1_000,
    )
    if "cert2" in options:
        config.add(TlsIdentity(options["cert2"], options["key2"]))
    var verify = options.get("verify").or_else("")
    if verify == "required":
        config.client_verification = ClientVerification.REQUIRED
    elif verify == "optional":
        config.client_verification = ClientVerification.OPTIONAL
    if options.get("minimum").or_else("") == "1.3":
        config.minimum_version = TlsVersion.TLS_1_3
    if "alpn" in options:
        for protocol in options["alpn"].split(","):
            config.alpn.append(String(protocol))
    var context = TlsServerContext(config^)
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    print("listening on", listener.local_addr(), flush=True)
    while True:
        serve(listener.accept(), context)


def serve(var tcp: TcpStream, context: TlsServerContext):
    """Serves one connection.

    Args:
        tcp: The connection.
        context: The settings.
    """
    try:
        var stream = TlsStream.accept(tcp^, context)
        echo(stream)
        ref session = stream.session()
        print(
            "ok",
            _or_dash(session.alpn()),
            String("resumed=", session.is_resumed()),
            _or_dash(session.server_name()),
            _or_dash(session.peer_subject()),
            flush=True,
        )
        stream.close()
    except error:
        print(error.kind, flush=True)


def echo(mut stream: TlsStream) raises TlsError:
    """Sends back what comes.

    Args:
        stream: A connection.

    Raises:
        TlsError: If it fails.
    """
    var room = List[UInt8](length=16_384, fill=0)
    while True:
        var count = stream.read(Span(room))
        if count == 0:
            return
        stream.write_all(Span(room)[0:count])


def _or_dash(text: String) -> String:
    return text if text.byte_length() > 0 else String("-")
