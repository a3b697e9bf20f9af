"""What the connections of a TLS client share."""

from flare.sys.openssl.context import VERIFY_NONE, VERIFY_PEER, SslContext
from flare.sys.openssl.session import SslSession
from flare.tls.config import TlsConfig
from flare.tls.error import TlsError
from flare.tls.peer_name import PeerName
from flare.tls.preparing import (
    bad_config,
    load_library,
    make_context,
    protocol_list,
    refuse_revoked,
    show_identity,
    trust_authorities,
)
from flare.tls.session import TlsSession
from flare.tls.session_cache import TlsSessionCache
from std.memory import ArcPointer


struct _Shared(Movable):
    var context: SslContext
    var offer: List[UInt8]
    var shows_identity: Bool

    def __init__(out self, config: TlsConfig) raises TlsError:
        self.offer = protocol_list(config.alpn)
        self.shows_identity = config.identity.is_given()
        self.context = make_context(load_library(), is_server=False)
        self.context.set_minimum_version(config.minimum_version.number)
        if len(self.offer) > 0:
            self.context.offer_protocols(Span(self.offer))
        if self.shows_identity:
            show_identity(self.context, config.identity)
        if config.insecure_skip_verification:
            self.context.set_verification(VERIFY_NONE)
            return
        self.context.set_verification(VERIFY_PEER)
        _trust(self.context, config)
        refuse_revoked(self.context, config.revocations)


struct TlsClientContext(ImplicitlyCopyable):
    """Trust, certificate and tickets of a client; copies share them.

    Making one loads OpenSSL and reads the files, so keep it for all
    connections with one configuration. Threads may share it.
    """

    var _shared: ArcPointer[_Shared]
    var tickets: TlsSessionCache
    """Sessions to go on from."""

    def __init__(out self, config: TlsConfig) raises TlsError:
        """Reads what a configuration names.

        Args:
            config: The configuration.

        Raises:
            TlsError: If OpenSSL is missing (`LibraryMissing`), or a file or
                value does not work (`BadTlsConfig`).
        """
        self._shared = ArcPointer(_Shared(config))
        self.tickets = TlsSessionCache()

    def session(self, host: StringSpan) raises TlsError -> TlsSession:
        """Begins a session; `TlsSession.advance` gives its first message.

        Args:
            host: The server's name, or its IP address without brackets. A
                name is sent to the server (SNI); both are looked for in its
                certificate.

        Returns:
            The session.

        Raises:
            TlsError: If the host is neither a name nor an address.
        """
        var peer = PeerName(host)
        ref shared = self._shared[]
        var ssl = _begin(shared.context, peer)
        return TlsSession(
            ssl^, peer.text, shared.offer.copy(), shared.shows_identity
        )


def _trust(mut context: SslContext, config: TlsConfig) raises TlsError:
    """Trusts the authorities that are given, or else those of the system."""
    var has_folder = config.authority_folder.byte_length() > 0
    if config.authorities.is_given():
        trust_authorities(context, config.authorities)
    elif not has_folder:
        context.trust_system()
    if has_folder:
        try:
            context.trust_folder(config.authority_folder)
        except error:
            raise bad_config(String(config.authority_folder, ": ", error))


def _begin(context: SslContext, peer: PeerName) raises TlsError -> SslSession:
    try:
        var ssl = SslSession(context, is_server=False)
        if peer.is_address:
            ssl.expect_address(peer.text)
        else:
            ssl.expect_name(peer.text)
        return ssl^
    except error:
        raise bad_config(String(peer.text, ": ", error))
