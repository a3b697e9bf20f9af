"""Opening connections: names, sockets, tunnels."""

from flare.dns.resolve import resolve_until
from flare.http.client.call import Call
from flare.http.client.client_state import ClientState
from flare.http.client.connection import ClientConnection
from flare.http.client.endpoint import Endpoint
from flare.http.client.error import ClientError, Phase
from flare.http.client.patience import shorter, total_error
from flare.http.client.transport import Transport
from flare.http.client.tunnel import open_tunnel
from flare.http.client.waiting import wait_for_handshake
from flare.net.ip import IpAddr
from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr
from flare.sys.deadline import Deadline
from flare.sys.socket_option import SocketOption
from flare.tcp.connecting import connect_first
from flare.unix.stream import UnixStream
from flare.unix.unix_addr import UnixAddr


def open_connection(
    mut state: ClientState, call: Call
) raises ClientError -> ClientConnection:
    """Opens a connection for a request.

    Args:
        state: The client.
        call: The request.

    Returns:
        The connection, ready for the request.

    Raises:
        ClientError: If it cannot be opened in time.
    """
    var deadline = Deadline(
        shorter(state.config.connect_timeout_ms, call.total.left_ms())
    )
    try:
        return _open(state, call, deadline)
    except error:
        if call.total.left_ms() == 0:
            raise total_error(call.total, error.phase)
        raise error^


def _open(
    mut state: ClientState, call: Call, deadline: Deadline
) raises ClientError -> ClientConnection:
    ref endpoint = call.endpoint
    var socket: RawSocket
    if endpoint.is_unix:
        socket = open_unix_socket(endpoint.host, deadline)
    elif call.proxy:
        ref proxy = call.proxy.value()
        socket = open_socket_to(proxy.host, proxy.port, deadline)
    else:
        socket = open_socket_to(endpoint.host, endpoint.port, deadline)
    var connection = ClientConnection(Transport(socket^), endpoint.copy())
    if not endpoint.is_tls:
        return connection^
    # A bad name is refused before anything is sent.
    var session = state.session(endpoint)
    if call.proxy:
        open_tunnel(connection, call.proxy.value(), state.config, deadline)
    connection.transport.begin_tls(session^)
    wait_for_handshake(connection, deadline)
    return connection^


def open_socket_to(
    host: String, port: UInt16, deadline: Deadline
) raises ClientError -> RawSocket:
    """Connects over TCP to whichever address of a host answers first.

    Args:
        host: Host name, or address without brackets.
        port: The port.
        deadline: When to give up.

    Returns:
        The socket.

    Raises:
        ClientError: In the phase `RESOLVE` or `CONNECT`.
    """
    var addresses = List[SocketAddr]()
    for ip in _resolve(host, deadline):
        addresses.append(SocketAddr(ip, port))
    try:
        var connected = connect_first(
            addresses, String(host, ":", port), deadline
        )
        var socket = connected^.take_socket()
        socket.set_option(SocketOption.NO_DELAY, 1)
        return socket^
    except error:
        raise ClientError(materialize[Phase.CONNECT](), error)


def _resolve(
    host: String, deadline: Deadline
) raises ClientError -> List[IpAddr]:
    try:
        return resolve_until(host, 0, deadline)
    except error:
        raise ClientError(materialize[Phase.RESOLVE](), error)


def open_unix_socket(
    path: String, deadline: Deadline
) raises ClientError -> RawSocket:
    """Connects to a Unix socket.

    Args:
        path: The socket's path.
        deadline: When to give up.

    Returns:
        The socket.

    Raises:
        ClientError: In the phase `CONNECT`.
    """
    try:
        var stream = UnixStream.connect(UnixAddr(path), deadline.left_ms())
        return stream^.take_socket()
    except error:
        raise ClientError(materialize[Phase.CONNECT](), error)
