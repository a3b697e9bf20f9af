"""A TLS client that says what becomes of its connections.

Run: tls_client HOST PORT [option=value...]: `at` is the address to connect to
if the host has none, `times` how often, `timeout_ms` how long a handshake may
take, `read_timeout_ms` how long a read; `ca`, `crl`, `cert`, `key` are files,
`alpn` is a list with commas, `minimum` is 1.3.

Each connection sends a small HTTP request and reads to the end. It prints
"ok VERSION SUITE ALPN resumed=BOOL LENGTH" or the kind of the error and its
text.

`tls_client at_exit` prints "ok" if TLS can be spoken, and once more behind the end
of main, when other threads might still run.
"""

from flare.sys.openssl.library import OpenSsl
from flare.tcp.stream import TcpStream
from flare.tls.config import TlsConfig, TlsIdentity, TlsVersion
from flare.tls.context import TlsClientContext
from flare.tls.error import TlsError
from flare.tls.stream import TlsStream
from std.ffi import external_call
from std.sys import argv


@fieldwise_init
struct Options(Movable):
    """The command line."""

    var host: String
    """Whom to verify."""
    var port: UInt16
    """Where it listens."""
    var at: String
    """At which address; empty to look the host up."""
    var times: Int
    """How often to connect."""
    var timeout_ms: Int
    """How long a connection may take to be made."""
    var read_timeout_ms: Int
    """How long one read may take."""


def _try_at_exit() abi("C"):
    try:
        var library = OpenSsl()
        ref symbols = library.context
        var context = symbols.new(symbols.client_method())
        print("ok" if context else "no context", flush=True)
        symbols.free(context)
    except error:
        print(error)


def main() raises:
    """Connects as the command line says."""
    var arguments = argv()
    if arguments[1] == "at_exit":
        # What is registered first is called last: behind what OpenSSL
        # registers when it is loaded.
        _ = external_call["atexit", Int32](_try_at_exit)
        _try_at_exit()
        return
    var options = Options(
        String(arguments[1]),
        UInt16(Int(String(arguments[2]))),
        "",
        1,
        5_000,
        5_000,
    )
    var config = TlsConfig()
    var certificate = String()
    var key = String()
    for index in range(3, len(arguments)):
        var argument = String(arguments[index])
        var equals = argument.find("=")
        var name = String(argument[byte=0:equals])
        var value = String(argument[byte = equals + 1 :])
        if name == "ca":
            config.authorities = TlsConfig(ca_file=value).authorities.copy()
        elif name == "crl":
            config.revocations = TlsConfig(crl_file=value).revocations.copy()
        elif name == "cert":
            certificate = value
        elif name == "key":
            key = value
        elif name == "alpn":
            for protocol in value.split(","):
                config.alpn.append(String(protocol))
        elif name == "minimum" and value == "1.3":
            config.minimum_version = TlsVersion.TLS_1_3
        elif name == "at":
            options.at = value
        elif name == "times":
            options.times = Int(value)
        elif name == "timeout_ms":
            options.timeout_ms = Int(value)
        elif name == "read_timeout_ms":
            options.read_timeout_ms = Int(value)
        else:
            raise Error("no option ", name)
    config.identity = TlsIdentity(certificate, key)
    run(options, config)


def run(options: Options, config: TlsConfig) raises:
    """Connects as often as is wanted.

    Args:
        options: The command line.
        config: The settings.
    """
    try:
        var context = TlsClientContext(config)
        for _ in range(options.times):
            connect(options, context)
    except error:
        print(error.kind, ": ", error, sep="")


def connect(options: Options, context: TlsClientContext):
    """Connects once.

    Args:
        options: The command line.
        context: The settings.
    """
    try:
        var stream: TlsStream
        if options.at == "":
            stream = TlsStream.connect(
                options.host, options.port, context, options.timeout_ms
            )
        else:
            stream = TlsStream.over(
                TcpStream.connect(options.at, options.port),
                options.host,
                context,
                options.timeout_ms,
            )
        stream.set_read_timeout(options.read_timeout_ms)
        talk(stream)
    except error:
        print(error.kind, ": ", error, sep="")


def talk(mut stream: TlsStream) raises TlsError:
    """Sends a request and reads the answer.

    Args:
        stream: A connection.

    Raises:
        TlsError: If it fails.
    """
    stream.write_all("GET / HTTP/1.0\r\n\r\n".as_bytes())
    var room = List[UInt8](length=16_384, fill=0)
    var length = 0
    while True:
        var count = stream.read(Span(room))
        if count == 0:
            break
        length += count
    ref session = stream.session()
    var agreed = session.alpn()
    print(
        "ok",
        session.version(),
        session.cipher(),
        agreed if agreed.byte_length() > 0 else String("-"),
        String("resumed=", session.is_resumed()),
        length,
    )
    stream.close()
