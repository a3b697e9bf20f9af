"""Whom the connections of one client trust, without sockets."""

from flare.http.client.exchange.connect_context import ConnectContext
from flare.http.client.connect.proxy import Proxy
from flare.http.h1.field_section import HeadLimits
from flare.tls.config import TlsConfig, TlsServerConfig
from flare.tls.context import TlsServerContext
from tests.support.assertions import assert_equal
from tests.support.certificates import certificate
from tests.support.tls_pair import TlsPair


def _meets(mut context: ConnectContext, proxy: Proxy) raises -> String:
    var server = TlsServerContext(
        TlsServerConfig(certificate("good_chain.pem"), certificate("good.key"))
    )
    var pair = TlsPair(context.proxy_session(proxy), server.session())
    return pair.shake_hands()


def test_each_proxy_of_one_url_has_its_own_trust() raises:
    """RFC 9110 section 4.3.4: a certificate is verified for each connection;
    `Proxy.tls` says by what."""
    var context = ConnectContext(TlsConfig(), HeadLimits(8_192, 32_768, 200))
    var lax = Proxy("https://localhost:3128")
    lax.tls = TlsConfig(insecure_skip_verification=True)
    var trusting = Proxy("https://localhost:3128")
    trusting.tls = TlsConfig(ca_file=certificate("root.pem"))
    # By default the authorities of the system, of which the root is none.
    var strict = Proxy("https://localhost:3128")
    for _ in range(2):
        assert_equal(_meets(context, lax), "ok")
        assert_equal(_meets(context, trusting), "ok")
        assert_equal(
            _meets(context, strict), "UnknownIssuer / CertificateRefused"
        )
