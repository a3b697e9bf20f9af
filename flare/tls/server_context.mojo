"""What the connections of a TLS server share."""

from flare.sys.openssl.context import ServerChoices, SslContext
from flare.sys.openssl.library import OpenSsl
from flare.sys.openssl.session import SslSession
from flare.tls.error import TlsError
from flare.tls.identity import TlsIdentity
from flare.tls.preparing import (
    bad_config,
    load_library,
    make_context,
    protocol_list,
    refuse_revoked,
    show_identity,
    trust_authorities,
)
from flare.tls.server_config import ClientVerification, TlsServerConfig
from flare.tls.session import TlsSession
from std.memory import ArcPointer
from std.utils import BlockingScopedLock, BlockingSpinLock


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

    def __init__(out self, var config: TlsServerConfig) raises TlsError:
        """Reads what a configuration names.

        Args:
            config: The configuration.

        Raises:
            TlsError: If OpenSSL is missing (`LibraryMissing`), or a file or
                value does not work (`BadTlsConfig`).
        """
        self._current = ArcPointer(_Current(_choices(config)))
        self.config = config^

    def session(self) raises TlsError -> TlsSession:
        """Begins a session with a client.

        Returns:
            The session, which waits for the client's first message.

        Raises:
            TlsError: If memory is short.
        """
        var choices = self._current[].get()
        return TlsSession(_begin(choices[]), choices)

    def reload(self) raises TlsError:
        """Reads the files of the configuration again, for new sessions.

        Sessions that exist go on undisturbed. Tickets from before lead to full
        handshakes.

        Raises:
            TlsError: If a file does not work; all stays as it was.
        """
        self._current[].replace(_choices(self.config))


def _begin(choices: ServerChoices) raises TlsError -> SslSession:
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
    var library = load_library()
    var choices = ArcPointer(ServerChoices(library, protocol_list(config.alpn)))
    for identity in config.identities:
        choices[].add(_context(library, config, identity))
    choices[].watch()
    return choices


def _context(
    library: ArcPointer[OpenSsl],
    config: TlsServerConfig,
    identity: TlsIdentity,
) raises TlsError -> SslContext:
    """Makes the context of one certificate; the rules are the same for all."""
    var context = make_context(library, is_server=True)
    context.set_minimum_version(config.minimum_version.number)
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
        raise bad_config(String(config.client_authorities.name(), ": ", error))
