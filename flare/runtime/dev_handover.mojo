"""Programs that `flare dev` replaces while they serve.

`flare dev` builds with `-D FLARE_DEV=1`, and links with the symbol
`flare_dev_build`. In such a program alone, and by the protocol of service
managers: `HttpServer.bind` takes its listening socket from `LISTEN_FDS` or hands
a copy of the one it makes to the manager (`FDSTORE=1`), all workers accept from
that one socket, and `serve` says `READY=1`. So the queue of new connections
outlives each version of the program. Any other build does none of this, and
looks into no environment.
"""

from flare.bytes.checked import *
from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr
from flare.runtime.service_manager import (
    ServiceManager,
    close_unclaimed,
    handed_over,
)
from flare.sys.weak_symbol import weak_symbol
from std.sys import get_defined_string

comptime _IS_DEFINED = get_defined_string["FLARE_DEV", "0"]() == "1"


@always_inline
def is_dev_build() -> Bool:
    """Tells whether the program was built by `flare dev`: compiled with `-D
    FLARE_DEV=1`, or linked with `--defsym=flare_dev_build=1`.

    The linker is asked, too, since a server that was compiled before serves
    both kinds of programs.
    """
    return _IS_DEFINED or weak_symbol["flare_dev_build"]() != 0


def dev_listeners(address: SocketAddr) raises -> List[RawSocket]:
    """Takes over the listening socket of an address, or makes one, and tells
    the manager which is in use: at least one. Port 0 stands for any port that
    was handed over. Raises if the address cannot be had, or the environment
    makes no sense."""
    var found = handed_over(address)
    # An address that an edit has changed was handed over to nobody.
    if len(found.sockets) == 0:
        found.sockets.append(RawSocket.listen_tcp(address))
    var manager = ServiceManager.from_environment()
    for index in range(len(found.sockets)):
        manager.store("flare-listener", found.sockets.at(index))
    return found^.take()


def tell_dev_ready() raises:
    """Says that the program serves, and leaves alone what it did not take.
    Raises if the environment makes no sense."""
    close_unclaimed()
    ServiceManager.from_environment().tell("READY=1")
