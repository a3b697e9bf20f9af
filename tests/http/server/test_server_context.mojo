"""What an HTTPS server refuses to begin with, and reloading."""

from flare.http.server.config import ServerConfig, ServerContext
from flare.http.server.server import HttpServer
from flare.net.socket_addr import SocketAddr
from flare.tls.config import TlsServerConfig
from tests.support.assertions import assert_equal, assert_raises
from tests.support.certificates import certificate
from tests.support.temporary_folder import TemporaryFolder


def _good() raises -> TlsServerConfig:
    return TlsServerConfig(
        certificate("good_chain.pem"), certificate("good.key")
    )


def test_alpn_is_what_is_spoken() raises:
    var context = ServerContext(ServerConfig())
    context.speak_tls(_good())
    assert_equal(len(context.tls.value().context.config.alpn), 2)
    assert_equal(context.tls.value().context.config.alpn[0], "h2")
    assert_equal(context.tls.value().context.config.alpn[1], "http/1.1")
    context = ServerContext(ServerConfig(http2=False))
    context.speak_tls(_good())
    assert_equal(len(context.tls.value().context.config.alpn), 1)
    assert_equal(context.tls.value().context.config.alpn[0], "http/1.1")


def test_other_protocols_are_refused() raises:
    var config = _good()
    config.alpn = ["h2", "http/1.1"]
    var context = ServerContext(ServerConfig(http2=False))
    with assert_raises(contains="'h2'; this server speaks http/1.1, so"):
        context.speak_tls(config^)
    config = _good()
    config.alpn = ["h3"]
    context = ServerContext(ServerConfig())
    with assert_raises(contains="'h3'; this server speaks h2 and http/1.1"):
        context.speak_tls(config^)


def test_handshake_timeout_has_bounds() raises:
    for timeout_ms in [0, -1, 86_400_001]:
        var config = _good()
        config.handshake_timeout_ms = timeout_ms
        var context = ServerContext(ServerConfig())
        with assert_raises(contains="allowed are 1 to 86400000"):
            context.speak_tls(config^)


def test_bind_tls_names_what_does_not_work() raises:
    with assert_raises(contains="no_such.pem"):
        _ = HttpServer.bind_tls(
            SocketAddr.localhost(0),
            TlsServerConfig("no_such.pem", certificate("good.key")),
        )
    with assert_raises(contains="must hold the key of"):
        _ = HttpServer.bind_tls(
            SocketAddr.localhost(0),
            TlsServerConfig(
                certificate("good_chain.pem"), certificate("rsa.key")
            ),
        )
    with assert_raises(contains="max_body_size"):
        _ = HttpServer.bind_tls(
            SocketAddr.localhost(0), _good(), ServerConfig(max_body_size=1)
        )


def test_reload() raises:
    with TemporaryFolder() as folder:
        var chain = folder + "/chain.pem"
        var good = _octets(certificate("good_chain.pem"))
        _write(chain, good)
        var server = HttpServer.bind_tls(
            SocketAddr.localhost(0),
            TlsServerConfig(chain, certificate("good.key")),
        )
        var handle = server.reload_handle()
        # The files are read anew, not what was read before.
        _write(chain, "no certificate".as_bytes())
        with assert_raises(contains=chain):
            handle.reload_tls()
        _write(chain, good)
        handle.reload_tls()
        _ = server^


def test_plain_server_has_nothing_to_reload() raises:
    var plain = HttpServer.bind(SocketAddr.localhost(0))
    with assert_raises(contains="make it with HttpServer.bind_tls"):
        plain.reload_handle().reload_tls()


def _octets(path: String) raises -> List[UInt8]:
    with open(path, "r") as file:
        return file.read_bytes()


def _write(path: String, octets: Span[UInt8, _]) raises:
    with open(path, "w") as file:
        file.write_bytes(octets)
