"""What connections come from: listeners, made, inherited or shared."""

from flare.bytes.checked import *
from flare.bytes.text import Text
from flare.http.server.config import ConfigError, ServerConfig
from flare.net.raw_socket import Accepted, RawSocket
from flare.net.socket_addr import SocketAddr
from flare.runtime.dev_handover import dev_listeners, is_dev_build
from flare.runtime.event import Interest
from flare.runtime.selector import Selector
from flare.runtime.service_manager import inherited_listeners
from flare.sys.errno import EAGAIN, OsError
from flare.sys.sockets.socket_option import SocketOption
from flare.unix.unix_addr import (
    BoundSocket,
    UNIX_BACKLOG,
    UnixAddr,
    listen_unix,
)

comptime _UNSENT_LEN_MAX = 128 * 1024
# What waits in the kernel for a client that takes little. Else it is as much as the
# kernel's buffer may grow to, megabytes, which over TLS are encrypted and copied
# for nothing while others wait. What is sent and not acknowledged is beside it, so
# that a long way is filled.
comptime _BATCH_LEN = 64
comptime _SHARED_BATCH_LEN = 4


struct Listeners(Movable):
    """Sockets that a worker accepts from: one, or some that it was handed."""

    var _sockets: List[RawSocket]
    var _adopted: List[Int]
    # The numbers of the last sockets, which belong to other workers.
    var _turn: Int
    var _interest: Interest
    var _is_watched: Bool

    def __init__(out self, var sockets: List[RawSocket], is_shared: Bool):
        """Takes listening sockets, from which other workers accept, too, if
        `is_shared`."""
        self._sockets = sockets^
        self._adopted = []
        self._turn = 0
        self._interest = Interest.READ
        if is_shared:
            self._interest = Interest.READ | Interest.EXCLUSIVE
        self._is_watched = False

    def batch_len(self) -> Int:
        """Tells how many connections to take in one round of the loop: few if
        other workers accept from the same sockets, so that what waits is left
        to those that have nothing else to do."""
        if self._interest.has(Interest.EXCLUSIVE):
            return _SHARED_BATCH_LEN
        return _BATCH_LEN

    def is_watched(self) -> Bool:
        """Tells whether a selector watches the sockets: True between `watch`
        and `unwatch`."""
        return self._is_watched

    def start(mut self, mut selector: Selector, token: UInt64) raises OsError:
        """Lets a selector tell by a token when connections wait, for the first
        time."""
        for index in range(len(self._sockets)):
            selector.register(
                self._sockets.at(index).fd(), token, self._interest_in(index)
            )
        self._is_watched = True

    def _interest_in(self, index: Int) -> Interest:
        if index < len(self._sockets) - len(self._adopted):
            return self._interest
        # Others were told to serve it, too.
        return Interest.READ | Interest.EXCLUSIVE

    def adopt(
        mut self,
        number: Int,
        var socket: RawSocket,
        mut selector: Selector,
        token: UInt64,
    ) raises OsError:
        """Accepts from another worker's socket, too, which is given back by its
        number."""
        if number in self._adopted:
            return
        self._adopted.append(number)
        self._sockets.append(socket^)
        if self._is_watched:
            var index = len(self._sockets) - 1
            selector.register(
                self._sockets.at(index).fd(), token, self._interest_in(index)
            )

    def give_back(mut self, number: Int, mut selector: Selector) raises OsError:
        """Accepts no more from another worker's socket."""
        var own_count = len(self._sockets) - len(self._adopted)
        for place in range(len(self._adopted)):
            if self._adopted.at(place) != number:
                continue
            _ = self._adopted.pop(place)
            var socket = self._sockets.pop(own_count + place)
            self._turn = 0
            if self._is_watched:
                selector.deregister(socket.fd())
            # Not before: the selector watches what others hold open, too, and
            # a closed descriptor cannot be taken out of it.
            socket.close()
            return

    def watch(mut self, mut selector: Selector, token: UInt64) raises OsError:
        """Lets a selector tell by a token when connections wait, if it does not
        yet."""
        if not self._is_watched:
            self.start(selector, token)

    def unwatch(mut self, mut selector: Selector) raises OsError:
        """Ends that, so that connections wait in the kernel."""
        if not self._is_watched:
            return
        self._is_watched = False
        for index in range(len(self._sockets)):
            selector.deregister(self._sockets.at(index).fd())

    def accept(mut self) -> Accepted:
        """Takes a waiting connection from any of the sockets, or the errno that
        says why there is none; `EAGAIN` when all queues are empty."""
        while self._turn < len(self._sockets):
            var accepted = self._sockets.at(self._turn).accept()
            if accepted.error_number != EAGAIN:
                return accepted^
            self._turn += 1
        self._turn = 0
        return Accepted(RawSocket(owned=-1), SocketAddr.any(0), EAGAIN)

    def close(mut self):
        """Closes the sockets: nothing new is accepted here."""
        self._sockets.clear()
        self._adopted.clear()


def take_listeners(
    mut listeners: List[RawSocket], method: StringSpan
) raises -> List[RawSocket]:
    """Takes the sockets of a server that begins to serve by a method, which the
    error names if there are none any more."""
    if len(listeners) == 0:
        raise Error(
            Text()
            .add("HttpServer.")
            .add(method)
            .add(": this server is served already, or was; bind a new one")
            .end()
        )
    var taken = List[RawSocket]()
    swap(taken, listeners)
    return taken^


def listen_ip(
    address: SocketAddr, config: ServerConfig
) raises -> List[RawSocket]:
    """Makes a TCP socket that listens, or takes over what was handed over: one
    at least. Port 0 lets the kernel choose one. Raises if the address cannot be
    had, or the configuration contradicts itself; the text says which and why.
    """
    config.check()
    var sockets = List[RawSocket]()
    if is_dev_build():
        sockets = dev_listeners(address)
    elif config.inherits_listeners:
        sockets = inherited_listeners(address)
    if len(sockets) == 0:
        sockets.append(RawSocket.listen_tcp(address))
    for index in range(len(sockets)):
        try:
            # Sockets that are accepted inherit it.
            sockets.at(index).set_option(
                SocketOption.UNSENT_MAX, _UNSENT_LEN_MAX
            )
        except:
            # A kernel without it has its own bound.
            pass
    return sockets^


def listen_path(
    address: UnixAddr, config: ServerConfig, replace_stale: Bool
) raises -> BoundSocket:
    """Makes a Unix socket that listens; takes over the path of a program that
    died if `replace_stale`. Raises if the address cannot be had, the
    configuration contradicts itself, or it wants to inherit listeners."""
    config.check()
    if config.inherits_listeners:
        raise ConfigError(
            "inherits_listeners is on, and only TCP listeners are inherited;"
            " turn it off for bind_unix"
        )
    return listen_unix(address, replace_stale, UNIX_BACKLOG)


def check_inherited(bound: ServerConfig, wants_to: Bool) raises:
    """Refuses a configuration that comes too late to inherit listeners, as only
    the later one wants to."""
    if wants_to and not bound.inherits_listeners:
        raise Error(
            "serve_comptime: bind makes listeners; give it a ServerConfig"
            " with inherits_listeners, too"
        )


def check_protocols(bound: ServerConfig, speaks_http2: Bool) raises:
    """Refuses a configuration that comes too late to choose what handshakes
    offer, as it wants another choice."""
    if speaks_http2 != bound.http2:
        raise Error(
            "serve_comptime: bind_tls decides whether handshakes offer HTTP/2;"
            " give it a ServerConfig with the same http2, too"
        )
