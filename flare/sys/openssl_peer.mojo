"""What a session has found out about its peer's certificate."""

from flare.sys.openssl import c_text
from flare.sys.openssl_certificate import CertificateFacts, subject_of
from flare.sys.openssl_session import SslSession


def verify_code(session: SslSession) -> Int:
    """Tells what is wrong with the peer's certificate.

    Args:
        session: A session.

    Returns:
        An `X509_V_ERR_` number; 0 if nothing is, or none was sent.
    """
    return session.library()[].session.get_verify_result(session.handle())


def verify_text(session: SslSession) -> String:
    """Tells what is wrong with the peer's certificate in words.

    Args:
        session: A session.

    Returns:
        OpenSSL's words.
    """
    var library = session.library()
    return c_text(
        library[].certificate.x509_verify_cert_error_string(
            verify_code(session)
        )
    )


def verified_chain(session: SslSession) -> List[CertificateFacts]:
    """Reads the chain that was built to verify the peer's certificate.

    Args:
        session: A session.

    Returns:
        The peer's own certificate first; nothing if none was verified.
    """
    var facts = List[CertificateFacts]()
    var library = session.library()
    ref symbols = library[].certificate
    var chain = library[].session.get0_verified_chain(session.handle())
    if chain != 0:
        for index in range(symbols.sk_num(chain)):
            facts.append(
                CertificateFacts(library[], symbols.sk_value(chain, index))
            )
    return facts^


def asks_for_certificate(session: SslSession) -> Bool:
    """Tells whether the server asked this client for a certificate.

    Args:
        session: A client's session.

    Returns:
        True if it did.
    """
    var library = session.library()
    return library[].session.get0_peer_ca_list(session.handle()) != 0


def peer_subject(session: SslSession) -> String:
    """Reads whose certificate the peer has shown.

    Args:
        session: A session.

    Returns:
        The subject in the form of RFC 2253; empty if there was none.
    """
    var library = session.library()
    var certificate = library[].session.get1_peer_certificate(session.handle())
    var subject = subject_of(library[], certificate)
    if certificate != 0:
        library[].certificate.x509_free(certificate)
    return subject^
