"""What goes wrong with one datagram."""

from flare.net.error import DatagramTooLarge, NetworkError
from flare.sys.errno import OsError


def send_failure(number: Int, var peer: String, length: Int) -> NetworkError:
    """Explains why a datagram was not sent.

    Args:
        number: The errno.
        peer: Where it should have gone.
        length: Its length in bytes.

    Returns:
        The error.
    """
    var error = NetworkError(OsError("send", number), peer^)
    if error.kind == DatagramTooLarge:
        error.reason = String(
            length, " bytes are more than one datagram takes; send less at once"
        )
    return error^


def truncation(var name: String, length: Int, room_len: Int) -> NetworkError:
    """Explains that a datagram was longer than the room for it.

    Args:
        name: The socket's own name, or the peer's.
        length: The datagram's length in bytes, as far as it is known.
        room_len: The room in bytes.

    Returns:
        The error.
    """
    var reason = String()
    if length > room_len:
        reason.write("a datagram of ", length, " bytes")
    else:
        # Only Linux tells how long it was.
        reason.write("a longer datagram")
    reason.write(" was cut to ", room_len, " bytes; pass more room")
    return NetworkError(
        materialize[DatagramTooLarge](), "receive", name^, reason^
    )
