"""The first and the last things of a connection: a selector that watches it,
what a proxy announces, TLS; deadlines that pass, and its end.

The header of a proxy is looked at where the kernel keeps it, and taken only
when it is complete. So a connection needs no memory for it, and no octet of
what follows, be it a request or a TLS handshake, ever comes by there.
"""

from flare.bytes.checked import *
from flare.bytes.never import NEVER
from flare.bytes.text import Text
from flare.http.h1.request_parser import RequestParser
from flare.http.server.connection.connection import Connection
from flare.http.server.connection.deadlines import Wait, deadline_of
from flare.http.server.connection.dispatch import refuse_peer, refuse_unread
from flare.http.server.connection.phase import (
    Event,
    FRESH_GRACE_MS,
    NextAction,
    Phase,
)
from flare.http.server.connection.request_call import Refusal
from flare.http.server.connection.sides import ClientSide, Ending
from flare.http.server.connection.write import (
    ask_again,
    await_pending,
    prolong_sending,
)
from flare.http.server.worker_state import WorkerState
from flare.net.ip import any_contains
from flare.net.proxy_header import (
    PROXY_HEADER_LEN_MAX,
    ProxyHeader,
    find_proxy_header,
)
from flare.runtime.event import Interest
from flare.runtime.selector import Selector
from flare.sys.errno import EAGAIN
from std.sys.intrinsics import unlikely


def on_accept(
    mut connection: Connection,
    token: UInt64,
    mut selector: Selector,
    mut state: WorkerState,
    is_refused: Bool,
) -> NextAction:
    """Begins to wait for a client that was just accepted; the connection is one
    too many if `is_refused`."""
    connection.retire_ms = state.next_retire_ms()
    ref proxies = state.config.proxy_protocol
    var is_announced = len(proxies) > 0
    if unlikely(is_announced and not any_contains(proxies, connection.peer.ip)):
        return NextAction.CLOSE
    try:
        selector.register(connection.socket.fd(), token, Interest.STREAM)
    except error:
        state.log(Text().add(error).add("; a connection is dropped").end())
        return NextAction.CLOSE
    if state.tls:
        try:
            _begin_tls(connection, state)
        except error:
            state.log(Text().add(error).add("; a connection is dropped").end())
            return NextAction.CLOSE
    else:
        connection.deadline_ms = deadline_of(
            Wait.HEAD, state.now_ms, state.config
        )
    if unlikely(is_announced):
        # The deadline is one total for the header and what follows.
        connection.enter[Event.PROXY_NAMED]()
    if is_refused:
        return refuse_connection(connection, state)
    return NextAction.WAIT


def _begin_tls(mut connection: Connection, state: WorkerState) raises:
    ref tls = state.tls.held()
    connection.tls = tls.begin()
    connection.begin[Event.TLS_BEGUN](
        state.now_ms, state.config, tls.context.config.handshake_timeout_ms
    )


def read_proxy_header(
    mut connection: Connection,
    mut scratch: RequestParser,
    mut state: WorkerState,
) -> NextAction:
    """Takes the header, if all of it is here; `scratch` is the worker's own
    parser, idle before and after. Returns YIELD to be driven as any other
    connection from now on, WAIT for more octets, CLOSE if there are none to
    come, or not a header."""
    var room = scratch.input.spare()
    var seen = room.before(min(len(room), PROXY_HEADER_LEN_MAX))
    var count = connection.socket.peek(seen)
    if count == -EAGAIN:
        return NextAction.WAIT
    if count <= 0:
        return NextAction.CLOSE
    var found: Optional[ProxyHeader]
    try:
        found = find_proxy_header(seen.before(count))
    except error:
        state.log(Text().add(error).add("; from ").add(connection.peer).end())
        return NextAction.CLOSE
    if not found:
        return (
            NextAction.CLOSE if connection.client
            != ClientSide.OPEN else NextAction.WAIT
        )
    var header = found.held()
    var taken = connection.socket.receive(room.before(header.header_len))
    if taken != header.header_len:
        return NextAction.CLOSE
    if header.client:
        connection.peer = header.client.held().without_mapping()
    if connection.tls:
        connection.enter[Event.TLS_BEGUN]()
    else:
        connection.enter[Event.PROXY_READ]()
    return NextAction.YIELD


comptime LINGER_LEN_MAX = 1 << 20
"""Octets dropped after the last response before others have their turn, in bytes.

What comes in all is bounded by `linger_timeout_ms` alone: a client that sends much
in one go has to read its answer, too.
"""


def begin_shutdown(
    mut connection: Connection, mut state: WorkerState
) -> NextAction:
    """Ends a connection whose last response is in the output, sent or parked.

    A client that has not been read to the end would be sent a reset by close,
    which can destroy the response on its way (RFC 9112 section 9.6). So the own
    direction ends first, and what still comes is read for a while.
    """
    connection.ending.end(is_unread=False)
    if not connection.request.pending:
        connection.tell_end()
    if connection.request.pending:
        return await_pending(connection, state)
    if connection.ending != Ending.LINGERS:
        return NextAction.CLOSE
    connection.socket.finish_writing()
    connection.begin[Event.LAST_SENT](state.now_ms, state.config)
    return NextAction.YIELD


def discard_input(
    mut connection: Connection, mut scratch: RequestParser
) -> NextAction:
    """Reads and drops what a client sends after its last response; `scratch`
    is the worker's own parser, idle before and after. Returns WAIT for more,
    YIELD if there is more already, CLOSE at the end of the stream."""
    var total = 0
    while total < LINGER_LEN_MAX:
        var count = connection.socket.receive(scratch.input.spare())
        if count == -EAGAIN:
            return NextAction.WAIT
        if count <= 0:
            return NextAction.CLOSE
        total += count
    return NextAction.YIELD


def on_timeout(
    mut connection: Connection, mut state: WorkerState
) -> NextAction:
    """Does what follows when a phase has taken too long.

    A client that waits for an answer gets one; one that sends nothing, or does
    not read, does not. Returns SHUTDOWN if an answer was sent, YIELD to ask a
    source, WAIT if the client has earned more time, CLOSE otherwise.
    """
    var action = connection.decide(Event.TIMED_OUT)
    if action == NextAction.ASK:
        # Nobody is late; the source wants to be asked, and that sets the next.
        connection.deadline_ms = NEVER
        ask_again(connection)
        return NextAction.YIELD
    if action == NextAction.MEASURE:
        if connection.request.pending and prolong_sending(connection, state):
            return NextAction.WAIT
        return NextAction.CLOSE
    if action != NextAction.REFUSE:
        return action
    ref request = connection.request
    if request.call.job:
        var is_head = request.call.is_head
        var why = request.call.late_refusal()
        request.cancel()
        return refuse_peer(connection, state, why, is_head)
    if not request.parser or request.parser.held()[].is_skipping():
        # Nothing has come, or it was answered already.
        return NextAction.CLOSE
    var box = request.parser.take()
    request.call.charge = None
    return refuse_unread(box[], connection, state, Refusal.LATE_REQUEST)


def refuse_connection(
    mut connection: Connection, mut state: WorkerState
) -> NextAction:
    """Answers a connection that is one too many. Returns SHUTDOWN, or CLOSE if
    the connection is broken, or speaks TLS: a handshake would cost more than a
    request."""
    if connection.tls:
        return NextAction.CLOSE
    var why = Refusal(503, "the server has too many connections")
    return refuse_peer(connection, state, why, False)


def begin_drain(mut connection: Connection, state: WorkerState) -> NextAction:
    """Lets a connection go when the server is to stop, as soon as it can.

    Returns YIELD after a long pause, since a request may be here nevertheless,
    and to end a stream that has no end; else WAIT. A client that was answered a
    moment ago may have its next request on the way: it is waited for shortly,
    and answered with `Connection: close`.
    """
    var action = connection.decide(Event.DRAIN_BEGUN)
    if action == NextAction.ASK:
        # One whose client is behind is asked when the client has caught up.
        ask_again(connection)
        return NextAction.YIELD
    if action == NextAction.WAIT or connection.request.parser:
        return NextAction.WAIT
    var idle_timeout_ms = state.config.idle_timeout_ms
    var idle_ms = state.now_ms - (connection.deadline_ms - idle_timeout_ms)
    # The deadline of one that has grown old tells nothing of its pause.
    var is_known = connection.deadline_ms < connection.retire_ms
    if connection.phase == Phase.IDLE and (
        is_known and idle_ms >= FRESH_GRACE_MS
    ):
        return NextAction.YIELD
    # A request may be on its way.
    connection.hasten(state.now_ms, state.config)
    return NextAction.WAIT
