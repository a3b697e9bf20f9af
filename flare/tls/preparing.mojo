"""Steps that clients and servers share when a context is made."""

from flare.sys.openssl.context import SslContext
from flare.sys.openssl.library import OpenSsl, OpenSslError
from flare.tls.error import BadTlsConfig, TlsError
from flare.tls.identity import TlsIdentity
from flare.tls.pem_source import PemSource
from std.memory import ArcPointer

comptime PROTOCOL_LEN_MAX = 255
"""Longest name of an application protocol in bytes (RFC 7301 section 3.1)."""


def bad_config(var found: String) -> TlsError:
    """Makes the error for settings that do not work.

    Args:
        found: What was found, and what to do.

    Returns:
        The error.
    """
    return TlsError(materialize[BadTlsConfig](), String(), found^)


def load_library() raises TlsError -> ArcPointer[OpenSsl]:
    """Loads OpenSSL.

    Returns:
        Its functions.

    Raises:
        TlsError: If it is missing.
    """
    return ArcPointer(OpenSsl())


def make_context(
    library: ArcPointer[OpenSsl], is_server: Bool
) raises TlsError -> SslContext:
    """Makes a context without trust or certificate.

    Args:
        library: OpenSSL.
        is_server: Which side its sessions are on.

    Returns:
        The context.

    Raises:
        TlsError: If this OpenSSL lacks something, or memory is short.
    """
    try:
        return SslContext(library, is_server)
    except error:
        raise bad_config(String(error, "; is this OpenSSL older than 3.0?"))


def show_identity(
    mut context: SslContext, identity: TlsIdentity
) raises TlsError:
    """Gives a context its certificate and key.

    Args:
        context: The context.
        identity: What to show.

    Raises:
        TlsError: If one of them cannot be used.
    """
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
            String(
                identity.key.name(),
                ": ",
                error,
                "; it must hold the key of ",
                name,
                " in PEM form, without a passphrase",
            )
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
    """Lets a context trust authorities.

    Args:
        context: The context.
        source: Their certificates.

    Raises:
        TlsError: If there are none, or one cannot be read.
    """
    var pem = source.read()
    var count: Int
    try:
        count = context.trust(Span(pem))
    except error:
        raise _unusable(source.name(), error)
    if count == 0:
        raise _none_found(source.name(), "certificate")


def refuse_revoked(mut context: SslContext, source: PemSource) raises TlsError:
    """Lets a context refuse certificates that were revoked.

    Args:
        context: The context.
        source: Revocation lists; nothing happens if there are none given.

    Raises:
        TlsError: If one cannot be read.
    """
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
    """Writes names of application protocols as they go over the wire.

    Source: RFC 7301 section 3.1.

    Args:
        protocols: The names, best first.

    Returns:
        Each with a length octet before it.

    Raises:
        TlsError: If one is empty or longer than 255 bytes.
    """
    var wire = List[UInt8]()
    for protocol in protocols:
        var length = protocol.byte_length()
        if length == 0 or length > PROTOCOL_LEN_MAX:
            raise bad_config(
                String(
                    "a protocol in `alpn` has ",
                    length,
                    " bytes; it must have 1 to 255 (RFC 7301 section 3.1)",
                )
            )
        wire.append(UInt8(length))
        wire.extend(protocol.as_bytes())
    return wire^


def _unusable(name: String, error: OpenSslError) -> TlsError:
    return bad_config(String(name, ": ", error, "; it must be in PEM form"))


def _none_found(name: String, what: StaticString) -> TlsError:
    return bad_config(
        String("there is no ", what, " in ", name, "; it must be in PEM form")
    )
