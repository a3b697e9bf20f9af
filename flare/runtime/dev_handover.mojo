"""Programs that `flare dev` replaces while they serve.

`flare dev` builds with `-D FLARE_DEV=1`. In such a build alone, and by the
protocol of service managers: `HttpServer.bind` takes its listening socket from
`LISTEN_FDS` or hands a copy of the one it makes to the manager (`FDSTORE=1`),
all workers accept from that one socket, and `serve` says `READY=1`. So the
queue of new connections outlives each version of the program. Any other build
has none of this, and looks into no environment.
"""

from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr
from flare.runtime.service_manager import (
    ServiceManager,
    close_unclaimed,
    handed_over,
)
from std.sys import get_defined_string

comptime IS_DEV_BUILD = get_defined_string["FLARE_DEV", "0"]() == "1"
"""True in a program that was built with `-D FLARE_DEV=1`."""


def dev_listeners(address: SocketAddr) raises -> List[RawSocket]:
    """Takes over the listening socket of an address, or makes one, and tells
    the manager which is in use.

    Args:
        address: Where; port 0 stands for any port that was handed over.

    Returns:
        At least one socket.

    Raises:
        Error: If the address cannot be had, or the environment makes no sense.
    """
    var found = handed_over(address)
    # An address that an edit has changed was handed over to nobody.
    if len(found.sockets) == 0:
        found.sockets.append(RawSocket.listen_tcp(address))
    var manager = ServiceManager.from_environment()
    for index in range(len(found.sockets)):
        manager.store("flare-listener", found.sockets[index])
    return found^.take()


def tell_dev_ready() raises:
    """Says that the program serves, and leaves alone what it did not take.

    Raises:
        Error: If the environment makes no sense.
    """
    close_unclaimed()
    ServiceManager.from_environment().tell("READY=1")
