"""Going on from an earlier session."""

from flare.sys.openssl_session import SslSession


def take_ticket(session: SslSession) -> List[UInt8]:
    """Packs what a later session can go on from.

    Args:
        session: A client's session.

    Returns:
        The session in DER form, secrets included; empty if the server has
        given no ticket.
    """
    var library = session.library()
    ref symbols = library[].session
    var packed = List[UInt8]()
    var found = symbols.get1_session(session.handle())
    if found == 0:
        return packed^
    if symbols.session_is_resumable(found) == 1:
        var length = Int(symbols.i2d_ssl_session(found, 0))
        if length > 0:
            packed.resize(length, 0)
            var place = List[Int](length=1, fill=Int(packed.unsafe_ptr()))
            _ = symbols.i2d_ssl_session(found, Int(place.unsafe_ptr()))
            _ = place^
    symbols.session_free(found)
    return packed^


def resume(mut session: SslSession, ticket: Span[UInt8, _]) -> Bool:
    """Tries to go on from an earlier session.

    Args:
        session: A client's session before its handshake.
        ticket: What `take_ticket` gave.

    Returns:
        False if that is none; the handshake then is a full one.
    """
    var library = session.library()
    ref symbols = library[].session
    var place = List[Int](length=1, fill=Int(ticket.unsafe_ptr()))
    var found = symbols.d2i_ssl_session(0, Int(place.unsafe_ptr()), len(ticket))
    _ = place^
    var result = Int32(0)
    if found != 0:
        result = symbols.set_session(session.handle(), found)
        symbols.session_free(found)
    library[].clear_errors()
    return result == 1
