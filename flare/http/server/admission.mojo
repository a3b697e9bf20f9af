"""The first things of a connection: a selector that watches it, and TLS."""

from flare.http.server.connection import (
    Connection,
    PHASE_HANDSHAKE,
    PHASE_PROXY,
)
from flare.http.server.ending import refuse
from flare.http.server.fate import Fate
from flare.http.server.tls_link import TlsLink
from flare.http.server.worker_state import WorkerState
from flare.net.ip_network import any_contains
from flare.runtime.event import Interest
from flare.runtime.selector import Selector
from flare.tls.error import TlsError
from std.memory import OwnedPointer
from std.sys.intrinsics import unlikely


def admit(
    mut connection: Connection,
    token: UInt64,
    mut selector: Selector,
    mut state: WorkerState,
    is_refused: Bool,
) -> Fate:
    """Begins to wait for a client that was just accepted.

    Args:
        connection: The connection.
        token: Its token.
        selector: The worker's.
        state: The worker's state.
        is_refused: True if the connection is one too many.

    Returns:
        What is to happen to it.
    """
    connection.retire_ms = state.next_retire_ms()
    ref proxies = state.config.proxy_protocol
    var is_announced = len(proxies) > 0
    if unlikely(is_announced and not any_contains(proxies, connection.peer.ip)):
        return Fate.CLOSES
    try:
        selector.register(connection.socket.number(), token, Interest.STREAM)
    except error:
        state.log(String(error, "; a connection is dropped"))
        return Fate.CLOSES
    if state.tls:
        try:
            _begin_tls(connection, state)
        except error:
            state.log(String(error, "; a connection is dropped"))
            return Fate.CLOSES
    else:
        connection.deadline_ms = state.now_ms + state.config.header_timeout_ms
    if unlikely(is_announced):
        # The deadline is one total for the header and what follows.
        connection.phase = PHASE_PROXY
    if is_refused:
        return refuse(connection, state)
    return Fate.WAITS


def _begin_tls(mut connection: Connection, state: WorkerState) raises TlsError:
    ref context = state.tls.value()
    connection.tls = OwnedPointer(TlsLink(context.session()))
    connection.begin_phase(
        PHASE_HANDSHAKE, state.now_ms, context.config.handshake_timeout_ms
    )
