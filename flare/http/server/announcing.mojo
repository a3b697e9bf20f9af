"""What a proxy says before its client does: the PROXY header.

It is looked at where the kernel keeps it, and taken only when it is complete.
So a connection needs no memory for it, and no octet of what follows, be it a
request or a TLS handshake, ever comes by here.
"""

from flare.http.h1.exchange import Exchange
from flare.http.server.connection import (
    Connection,
    PHASE_HANDSHAKE,
    PHASE_HEAD,
    PHASE_PROXY,
)
from flare.http.server.fate import Fate
from flare.http.server.worker_state import WorkerState
from flare.net.proxy_header import (
    PROXY_HEADER_LEN_MAX,
    ProxyHeader,
    find_proxy_header,
)
from flare.sys.errno import EAGAIN, EINTR


def hear_proxy(
    mut connection: Connection, mut scratch: Exchange, mut state: WorkerState
) -> Fate:
    """Takes the header, if all of it is here.

    Args:
        connection: Waits for it.
        scratch: The worker's own exchange, idle; idle again afterwards.
        state: The worker's state.

    Returns:
        GIVES_WAY to be driven as any other connection from now on, WAITS for
        more octets, CLOSES if there are none to come, or not a header.
    """
    var room = scratch.input.room()
    var seen = room[0 : min(len(room), PROXY_HEADER_LEN_MAX)]
    var count = connection.socket.peek(seen)
    if count == -EAGAIN or count == -EINTR:
        return Fate.WAITS
    if count <= 0:
        return Fate.CLOSES
    var found: Optional[ProxyHeader]
    try:
        found = find_proxy_header(seen[0:count])
    except error:
        state.log(String(error, "; from ", connection.peer))
        return Fate.CLOSES
    if not found:
        return Fate.CLOSES if connection.peer_has_ended else Fate.WAITS
    var header = found.value()
    var taken = connection.socket.receive(room[0 : header.header_len])
    if taken != header.header_len:
        return Fate.CLOSES
    if header.client:
        connection.peer = header.client.value().without_mapping()
    connection.phase = PHASE_HANDSHAKE if connection.tls else PHASE_HEAD
    return Fate.GIVES_WAY
