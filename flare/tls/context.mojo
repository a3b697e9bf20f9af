"""What connections of one configuration share: OpenSSL's contexts, tickets and sessions."""

from flare.bytes.text import Text
from flare.dns.host_name import check_host_name
from flare.net.ip import IpAddr
from flare.sys.openssl.context import (
    ServerChoices,
    SslContext,
    VERIFY_NONE,
    VERIFY_PEER,
)
from flare.sys.openssl.library import OpenSsl, OpenSslError
from flare.sys.file import PathKind
from flare.sys.openssl.session import SslSession
from flare.sys.random import KeyedHasher
from flare.tls.config import (
    ClientVerification,
    PemSource,
    TlsConfig,
    TlsIdentity,
    TlsServerConfig,
)
from flare.tls.error import BadTlsConfig, TlsError, session_error
from flare.tls.session import SessionExplainer, TlsSession
from std.memory import ArcPointer
from std.utils import BlockingScopedLock, BlockingSpinLock


struct _Shared(Movable):
    var context: SslContext
    var offer: List[UInt8]
    var shows_identity: Bool

    def __init__(out self, config: TlsConfig) raises TlsError:
        self.offer = protocol_list(config.alpn)
        self.shows_identity = config.identity.is_given()
        self.context = make_context(load_library(), is_server=False)
        self.context.set_minimum_version(config.minimum_version.number)
        config.key_log.start(self.context.handle())
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

    @no_inline
    def __deinit__(deinit self):
        return

    def session(self, host: StringSpan) raises TlsError -> TlsSession:
        """Begins a session, and gives it; `TlsSession.advance` gives its first
        message.

        Args:
            host: The server's name, or its IP address without brackets. A
                name is sent to the server (SNI); both are looked for in its
                certificate.

        Raises:
            TlsError: If the host is neither a name nor an address.
        """
        var peer = PeerName(host)
        ref shared = self._shared[]
        var ssl = _begin(shared.context, peer)
        return TlsSession(
            ssl^,
            peer.text,
            shared.offer.copy(),
            shared.shows_identity,
            session_error,
        )


def _trust(mut context: SslContext, config: TlsConfig) raises TlsError:
    """Trusts the authorities that are given, or else those of the system."""
    var has_folder = config.authority_folder.byte_length() > 0
    if config.authorities.is_given():
        trust_authorities(context, config.authorities)
    elif not has_folder:
        context.trust_system()
    if has_folder:
        _check_folder(config.authority_folder)
        try:
            context.trust_folder(config.authority_folder)
        except error:
            raise bad_config(
                Text().add(config.authority_folder).add(": ").add(error).end()
            )


def _check_folder(path: String) raises TlsError:
    """Sees that a folder is there: OpenSSL takes any path, finds nobody there to
    trust, and refuses every server."""
    try:
        if PathKind.of(path, follows_links=True) == PathKind.FOLDER:
            return
    except:
        # Nor can OpenSSL look there.
        pass
    raise bad_config(
        Text()
        .add(path)
        .add(
            " is no folder, or cannot be looked into; give one with authorities"
        )
        .end()
    )


def _begin(context: SslContext, peer: PeerName) raises TlsError -> SslSession:
    try:
        var ssl = SslSession(context, is_server=False)
        if peer.is_address:
            ssl.expect_address(peer.text)
        else:
            ssl.expect_name(peer.text)
        return ssl^
    except error:
        raise bad_config(Text().add(peer.text).add(": ").add(error).end())


struct _Current(Movable):
    """The choices that new sessions get; a reload puts others in place."""

    var lock: BlockingSpinLock
    var choices: ArcPointer[ServerChoices]

    def __init__(out self, choices: ArcPointer[ServerChoices]):
        self.lock = BlockingSpinLock()
        self.choices = choices

    def get(mut self) -> ArcPointer[ServerChoices]:
        with BlockingScopedLock(self.lock):
            return self.choices

    def replace(mut self, var choices: ArcPointer[ServerChoices]):
        # The old ones leave the lock alive, and go when nobody has them.
        with BlockingScopedLock(self.lock):
            swap(self.choices, choices)


struct TlsServerContext(Copyable, Movable):
    """Certificates and rules of a server; copies share them.

    Threads may share it: a worker of a server takes a copy, and a reload of
    any copy is seen by all.
    """

    var config: TlsServerConfig
    """What it was made from."""
    var _current: ArcPointer[_Current]
    var _explainer: SessionExplainer

    def __init__(out self, var config: TlsServerConfig) raises TlsError:
        """Reads what a configuration names; the rest is as for
        `TlsClientContext.__init__`."""
        self._current = ArcPointer(_Current(_choices(config)))
        self._explainer = session_error
        self.config = config^

    @no_inline
    def __deinit__(deinit self):
        return

    def session(self) raises TlsError -> TlsSession:
        """Begins a session with a client, and gives it; it waits for the
        client's first message.

        Raises:
            TlsError: If memory is short.
        """
        var choices = self._current[].get()
        return TlsSession(
            _server_context_begin(choices[]), choices, self._explainer
        )

    def reload(self) raises TlsError:
        """Reads the files of the configuration again, for new sessions.

        Sessions that exist go on undisturbed. Tickets from before lead to full
        handshakes.

        Raises:
            TlsError: If a file does not work; all stays as it was.
        """
        self._current[].replace(_choices(self.config))


def _server_context_begin(choices: ServerChoices) raises TlsError -> SslSession:
    try:
        return SslSession(choices.context(), is_server=True)
    except error:
        raise bad_config(String(error))


def _choices(
    config: TlsServerConfig,
) raises TlsError -> ArcPointer[ServerChoices]:
    if len(config.identities) == 0:
        raise bad_config("a server needs a certificate; add one")
    var verifies = config.client_verification != ClientVerification.NONE
    if verifies and not config.client_authorities.is_given():
        raise bad_config(
            "clients shall show certificates, but no authority is given for"
            " them; set `client_ca_file`"
        )
    if not verifies:
        _check_unasked(config.client_authorities, "client_ca_file")
        _check_unasked(config.client_revocations, "client_crl_file")
    var library = load_library()
    var choices = ArcPointer(ServerChoices(library, protocol_list(config.alpn)))
    for identity in config.identities:
        choices[].add(_context(library, config, identity))
    choices[].watch()
    return choices


def _check_unasked(source: PemSource, field: StaticString) raises TlsError:
    """Refuses what is to judge certificates that nobody is asked for: whoever
    gave it means to be protected by it."""
    if source.is_given():
        raise bad_config(
            Text()
            .add("`")
            .add(field)
            .add("` is ")
            .add(source.name())
            .add(
                ", but clients are not asked for certificates; set"
                " `client_verification` to REQUIRED or OPTIONAL"
            )
            .end()
        )


def _context(
    library: ArcPointer[OpenSsl],
    config: TlsServerConfig,
    identity: TlsIdentity,
) raises TlsError -> SslContext:
    """Makes the context of one certificate; the rules are the same for all."""
    var context = make_context(library, is_server=True)
    context.set_minimum_version(config.minimum_version.number)
    config.key_log.start(context.handle())
    context.set_tickets(config.session_tickets)
    show_identity(context, identity)
    context.set_verification(config.client_verification.mode)
    if config.client_verification != ClientVerification.NONE:
        trust_authorities(context, config.client_authorities)
        _ask_for_issuers(context, config)
        refuse_revoked(context, config.client_revocations)
    return context^


def _ask_for_issuers(
    mut context: SslContext, config: TlsServerConfig
) raises TlsError:
    var pem = config.client_authorities.read()
    try:
        _ = context.ask_for_issuers(Span(pem))
    except error:
        raise bad_config(
            Text()
            .add(config.client_authorities.name())
            .add(": ")
            .add(error)
            .end()
        )


comptime PROTOCOL_LEN_MAX = 255
"""Longest name of an application protocol in bytes (RFC 7301 section 3.1)."""


def bad_config(var found: String) -> TlsError:
    """Makes the error for settings that do not work: what was found, and what
    to do."""
    return TlsError(materialize[BadTlsConfig](), String(), found^)


def load_library() raises TlsError -> ArcPointer[OpenSsl]:
    """Loads OpenSSL; raises if it is missing."""
    return ArcPointer(OpenSsl())


def make_context(
    library: ArcPointer[OpenSsl], is_server: Bool
) raises TlsError -> SslContext:
    """Makes a context without trust or certificate. Raises if this OpenSSL
    lacks something, or memory is short."""
    try:
        return SslContext(library, is_server)
    except error:
        raise bad_config(
            Text().add(error).add("; is this OpenSSL older than 3.0?").end()
        )


def show_identity(
    mut context: SslContext, identity: TlsIdentity
) raises TlsError:
    if not identity.key.is_given() or not identity.certificate.is_given():
        raise bad_config(
            "a certificate needs its private key, and a key its certificate;"
            " give both"
        )
    var chain = identity.certificate.read()
    var name = identity.certificate.name()
    if _use_certificate(context, Span(chain), name) == 0:
        raise _none_found(name, "certificate")
    var key = identity.key.read()
    try:
        context.use_key(Span(key))
    except error:
        raise bad_config(
            Text()
            .add(identity.key.name())
            .add(": ")
            .add(error)
            .add("; it must hold the key of ")
            .add(name)
            .add(" in PEM form, without a passphrase")
            .end()
        )


def _use_certificate(
    mut context: SslContext, pem: Span[UInt8, _], name: String
) raises TlsError -> Int:
    try:
        return context.use_certificate(pem)
    except error:
        raise _unusable(name, error)


def trust_authorities(
    mut context: SslContext, source: PemSource
) raises TlsError:
    """Lets a context trust authorities. Raises if there are none, or one cannot
    be read."""
    var pem = source.read()
    var count: Int
    try:
        count = context.trust(Span(pem))
    except error:
        raise _unusable(source.name(), error)
    if count == 0:
        raise _none_found(source.name(), "certificate")


def refuse_revoked(mut context: SslContext, source: PemSource) raises TlsError:
    """Lets a context refuse certificates that are in revocation lists, if any
    are given."""
    if not source.is_given():
        return
    var pem = source.read()
    var count: Int
    try:
        count = context.refuse_revoked(Span(pem))
    except error:
        raise _unusable(source.name(), error)
    if count == 0:
        raise _none_found(source.name(), "revocation list")


def protocol_list(protocols: List[String]) raises TlsError -> List[UInt8]:
    """Writes names of application protocols, best first, as they go over the
    wire: each with a length octet before it. Raises if one is empty or longer
    than 255 bytes.

    Source: RFC 7301 section 3.1.
    """
    var wire = List[UInt8]()
    for protocol in protocols:
        var length = protocol.byte_length()
        if length == 0 or length > PROTOCOL_LEN_MAX:
            raise bad_config(
                Text()
                .add("a protocol in `alpn` has ")
                .add(length)
                .add(" bytes; it must have 1 to 255 (RFC 7301 section 3.1)")
                .end()
            )
        wire.append(UInt8(length))
        wire.extend(protocol.as_bytes())
    return wire^


def _unusable(name: String, error: OpenSslError) -> TlsError:
    var advice = StaticString("; it must be in PEM form")
    if error.is_too_weak():
        advice = (
            "; have it made anew, with an RSA key of at least 2,048 bits or a key"
            " of P-256 or Ed25519, and a signature by SHA-256"
        )
    return bad_config(Text().add(name).add(": ").add(error).add(advice).end())


def _none_found(name: String, what: StaticString) -> TlsError:
    return bad_config(
        Text()
        .add("there is no ")
        .add(what)
        .add(" in ")
        .add(name)
        .add("; it must be in PEM form")
        .end()
    )


struct PeerName(Copyable, Movable):
    """A host's name or address, as certificates have it."""

    var text: String
    """The name without a dot at its end, or the address."""
    var is_address: Bool
    """True for an IP address, which is never sent as a name (RFC 6066 section
    3)."""

    def __init__(out self, host: StringSpan) raises TlsError:
        """Reads a DNS name, or an IP address without brackets. Raises if it is
        neither: what a certificate is compared with must be what was connected
        to, to the last octet."""
        var address = _address(host)
        self.is_address = address.byte_length() > 0
        if self.is_address:
            self.text = address^
            return
        try:
            check_host_name(host.as_bytes())
        except error:
            raise bad_config(
                Text().add(error).add("; give a name or an IP address").end()
            )
        self.text = String(host.removesuffix("."))


def _address(host: StringSpan) -> String:
    """Writes an address in its canonical form; empty if it is none."""
    try:
        return String(IpAddr.parse(host))
    except error:
        return String()


comptime TICKET_COUNT_MAX = 256
"""Most tickets that a cache holds; each has a few KiB."""


struct _Tickets(Movable):
    var lock: BlockingSpinLock
    var by_peer: Dict[String, List[UInt8], KeyedHasher]

    def __init__(out self):
        self.lock = BlockingSpinLock()
        self.by_peer = {}


struct TlsSessionCache(ImplicitlyCopyable):
    """The last ticket of each server; copies share it, also between threads.

    Only sessions with the same configuration may share a cache, which is why
    each `TlsClientContext` has its own.
    """

    var _tickets: ArcPointer[_Tickets]

    def __init__(out self):
        """Makes an empty cache."""
        self._tickets = ArcPointer(_Tickets())

    def put(self, peer: String, var ticket: List[UInt8]):
        """Keeps a ticket; the oldest server's goes if there are too many.

        Args:
            peer: The server: host and port.
            ticket: The ticket; an empty one is not kept.
        """
        if len(ticket) == 0:
            return
        ref tickets = self._tickets[]
        with BlockingScopedLock(tickets.lock):
            # Taken out first, so that the server counts as the newest.
            _ = tickets.by_peer.pop(peer, [])
            if len(tickets.by_peer) >= TICKET_COUNT_MAX:
                _drop_oldest(tickets.by_peer)
            tickets.by_peer[peer] = ticket^

    def take(self, peer: String) -> List[UInt8]:
        """Takes a ticket out, as each is used once (RFC 8446 appendix C.4);
        empty if there is none."""
        ref tickets = self._tickets[]
        with BlockingScopedLock(tickets.lock):
            return tickets.by_peer.pop(peer, [])


def _drop_oldest(mut by_peer: Dict[String, List[UInt8], KeyedHasher]):
    var oldest = String()
    for peer in by_peer.keys():
        oldest = peer
        break
    _ = by_peer.pop(oldest, [])
