"""Errors of sessions, in words that name what is wrong."""

from flare.bytes.ascii import write_escaped
from flare.net.ip import IpAddr
from flare.sys.openssl.certificate import CertificateFacts
from flare.sys.openssl.session import (
    SslSession,
    asks_for_certificate,
    verified_chain,
    verify_code,
    verify_text,
)
from flare.tls.error import (
    CertificateExpired,
    CertificateNotYetValid,
    CertificateRejected,
    ClientCertificateRequired,
    IncompleteChain,
    NoSharedCipher,
    SelfSigned,
    TlsError,
    TlsErrorKind,
    UnknownIssuer,
    WrongHost,
)
from flare.tls.failure import kind_of_certificate, kind_of_failure

comptime _NAMES_MAX = 8


def session_error(
    mut session: SslSession, peer: String, shows_identity: Bool
) -> TlsError:
    """Tells why OpenSSL has given a session up.

    Args:
        session: A session with a step that has just failed.
        peer: What errors call the other side.
        shows_identity: True if this side has a certificate, or is a server.

    Returns:
        The error.
    """
    var error = session.take_error("session")
    var kind = kind_of_failure(error)
    var code = verify_code(session)
    if kind == CertificateRejected and code != 0:
        return certificate_error(
            code, verify_text(session), verified_chain(session), peer
        )
    # TLS 1.2 has no alert of its own for a missing certificate.
    if (
        kind == NoSharedCipher
        and not shows_identity
        and asks_for_certificate(session)
    ):
        kind = materialize[ClientCertificateRequired]()
    return TlsError(kind, peer, error.text)


def certificate_error(
    verify_code: Int,
    verify_text: String,
    chain: List[CertificateFacts],
    peer: String,
) -> TlsError:
    """Explains why a certificate was not accepted.

    Args:
        verify_code: OpenSSL's number.
        verify_text: OpenSSL's words.
        chain: The peer's certificate and those that lead to an authority.
        peer: Whose it is, for the message.

    Returns:
        The error.
    """
    var kind = kind_of_certificate(verify_code)
    if len(chain) == 0:
        return TlsError(kind, peer, verify_text)
    ref leaf = chain[0]
    if kind == UnknownIssuer and len(chain) == 1 and leaf.has_issuer_access:
        # A certificate of a public authority, whose issuer is one that
        # servers have to send; the authority itself is likely to be trusted.
        kind = materialize[IncompleteChain]()
    var found = String()
    if kind == CertificateExpired:
        ref expired = chain[_first_to_expire(chain)]
        found.write("the certificate of ")
        _write_text(expired.subject, found)
        found.write(" expired at ", expired.not_after)
    elif kind == CertificateNotYetValid:
        ref early = chain[_last_to_start(chain)]
        found.write("the certificate of ")
        _write_text(early.subject, found)
        found.write(" is not valid before ", early.not_before)
    elif kind == WrongHost:
        found.write("the certificate is for ")
        _write_names(leaf, found)
    else:
        _write_chain(kind, verify_text, chain, found)
    return TlsError(kind, peer, found^)


def _write_chain(
    kind: TlsErrorKind,
    verify_text: String,
    chain: List[CertificateFacts],
    mut found: String,
):
    """Writes what is wrong with where a certificate leads to."""
    ref leaf = chain[0]
    if kind == SelfSigned:
        found.write("the certificate is signed by itself, ")
        _write_text(leaf.subject, found)
    elif kind == IncompleteChain:
        found.write("no certificate was sent of the issuer ")
        _write_text(leaf.issuer, found)
    elif kind == UnknownIssuer:
        found.write("the certificate leads to the authority ")
        _write_text(chain[len(chain) - 1].issuer, found)
        found.write(", which is not trusted here")
    else:
        found.write("the certificate of ")
        _write_text(leaf.subject, found)
        found.write(" does not verify: ", verify_text)


def _first_to_expire(chain: List[CertificateFacts]) -> Int:
    var first = 0
    for index in range(1, len(chain)):
        if chain[index].not_after < chain[first].not_after:
            first = index
    return first


def _last_to_start(chain: List[CertificateFacts]) -> Int:
    var last = 0
    for index in range(1, len(chain)):
        if chain[index].not_before > chain[last].not_before:
            last = index
    return last


def _write_text(text: String, mut writer: String):
    """Writes a subject; the peer may have chosen any octets."""
    writer.write("'")
    write_escaped(text.as_bytes(), writer)
    writer.write("'")


def _write_names(facts: CertificateFacts, mut writer: String):
    """Writes the hosts that a certificate is for."""
    var count = len(facts.names) + len(facts.addresses)
    if count == 0:
        writer.write("no host at all (it has no subjectAltName)")
        return
    var written = 0
    for name in facts.names:
        if written == _NAMES_MAX:
            break
        writer.write(", " if written > 0 else "")
        write_escaped(name.as_bytes(), writer)
        written += 1
    for octets in facts.addresses:
        if written == _NAMES_MAX:
            break
        writer.write(", " if written > 0 else "", _ip_text(Span(octets)))
        written += 1
    if count > written:
        writer.write(" and ", count - written, " more")


def _ip_text(octets: Span[UInt8, _]) -> String:
    if len(octets) == 4:
        return String(IpAddr.v4(octets[0], octets[1], octets[2], octets[3]))
    if len(octets) != 16:
        return "an unreadable address"
    var copied = Array[UInt8, 16](fill=0)
    for index in range(16):
        copied[index] = octets[index]
    return String(IpAddr.from_v6_octets(copied))
