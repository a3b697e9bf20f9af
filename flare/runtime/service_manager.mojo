"""The protocol of service managers such as systemd: sockets in, news out."""

from flare.bytes.checked import *
from flare.bytes.compare import same_octets
from flare.bytes.text import Text
from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr
from flare.sys.descriptor import (
    Descriptor,
    close_descriptor,
    close_on_exec,
    is_kept_on_exec,
    make_nonblocking,
)
from flare.sys.sockets.descriptor_passing import send_with_descriptor
from flare.sys.environment import environment_value
from flare.sys.errno import errno_text
from flare.sys.signal import process_id
from flare.sys.sockets.sock_addr import AF_UNIX, SockAddr, UNIX_NAME_LEN_MAX
from flare.sys.sockets.socket import (
    SOCK_DGRAM,
    connect_socket,
    open_socket,
    send,
)
from flare.sys.sockets.socket_option import SocketOption

comptime FIRST_INHERITED = 3
"""The first descriptor that is handed over (SD_LISTEN_FDS_START)."""
comptime _INHERITED_COUNT_MAX = 1_024


def inherited_listeners(address: SocketAddr) raises -> List[RawSocket]:
    """Takes over the listening sockets for an address that were handed over;
    none if nothing was. Port 0 stands for any port.

    The environment says how many there are (`LISTEN_FDS`) and for which process
    (`LISTEN_PID`); for another process they are left alone. Raises if it makes
    no sense, or sockets were handed over and none is for the address.
    """
    var found = handed_over(address)
    if len(found.sockets) == 0 and found.count > 0:
        raise Error(
            Text()
            .add("no inherited socket listens at ")
            .add(address)
            .add("; there are:")
            .add(found.others)
            .add(
                " (correct the address or the service manager's configuration)"
            )
            .end()
        )
    return found^.take()


struct HandedOver(Movable):
    """Which of the sockets that were handed over listen at an address."""

    var sockets: List[RawSocket]
    var others: String
    """What the others are, each after a space."""
    var count: Int
    """How many descriptors were handed over in all."""

    def __init__(out self, count: Int):
        self.sockets = []
        self.others = String()
        self.count = count

    def take(deinit self) -> List[RawSocket]:
        return self.sockets^


def handed_over(address: SocketAddr) raises -> HandedOver:
    """Looks through what was handed over, as `inherited_listeners` does;
    nothing if it is for another process."""
    if not same_octets(
        environment_value("LISTEN_PID").as_bytes(),
        Text().add(Int(process_id())).end().as_bytes(),
    ):
        return HandedOver(0)
    var found = HandedOver(
        _environment_number("LISTEN_FDS", _INHERITED_COUNT_MAX)
    )
    var others = Text()
    for index in range(found.count):
        var number = Int32(FIRST_INHERITED + index)
        if not is_kept_on_exec(number):
            # Another server of this program has taken it.
            continue
        var socket = RawSocket(owned=number)
        var local = _listening_addr(socket)
        if local.port != 0 and (
            local.ip == address.ip
            and (address.port == 0 or local.port == address.port)
        ):
            make_nonblocking(number)
            close_on_exec(number)
            found.sockets.append(socket^)
        else:
            if local.port != 0:
                others = others^.add(" ").add(local)
            else:
                others = others^.add(" descriptor ").add(number).add(
                    " (no TCP listener)"
                )
            # It may be another server's of this program.
            _ = socket.release()
    found.others = others^.end()
    return found^


def close_unclaimed() raises:
    """Closes the listening sockets that were handed over and nobody has taken:
    while they are open, clients wait in them for an answer."""
    if not same_octets(
        environment_value("LISTEN_PID").as_bytes(),
        Text().add(Int(process_id())).end().as_bytes(),
    ):
        return
    for index in range(_environment_number("LISTEN_FDS", _INHERITED_COUNT_MAX)):
        var number = Int32(FIRST_INHERITED + index)
        # What this program opens itself is never kept on exec.
        if not is_kept_on_exec(number):
            continue
        var socket = RawSocket(owned=number)
        var is_listening = _listening_addr(socket).port != 0
        _ = socket.release()
        if is_listening:
            close_descriptor(number)


def _listening_addr(socket: RawSocket) -> SocketAddr:
    """Tells where a descriptor listens; port 0 if it does not listen at a TCP
    port, as a datagram socket, a Unix socket or no socket at all."""
    try:
        if socket.option(SocketOption.IS_LISTENING) == 1:
            return socket.local_addr()
    except:
        pass
    return SocketAddr.any(0)


def _environment_number(name: StringSpan, most: Int) raises -> Int:
    """Reads a whole number of the environment; 0 if there is none."""
    var text = environment_value(name)
    if text.byte_length() == 0:
        return 0
    var number = 0
    var is_number = True
    for octet in text.as_bytes():
        is_number = is_number and octet >= 48 and octet <= 57
        # What is too large stays so, and does not overflow.
        if number <= most:
            number = number * 10 + Int(octet) - 48
    if not is_number or number > most:
        raise Error(
            Text()
            .add(name)
            .add(" is '")
            .add(text)
            .add("'; allowed are whole numbers from 0 to ")
            .add(most)
            .end()
        )
    return number


struct ServiceManager(Movable):
    """Tells a service manager how the program is, if there is one."""

    var _socket: Descriptor
    var watchdog_ms: Int
    """How often it wants to hear `WATCHDOG=1`; 0 for never."""

    def __init__(out self):
        """Makes one that nobody listens to."""
        self._socket = Descriptor(owned=-1)
        self.watchdog_ms = 0

    @staticmethod
    def from_environment() raises -> Self:
        """Finds the manager in the environment (`NOTIFY_SOCKET`); one that
        nobody listens to if the variable is empty. Raises if it names no socket
        that can be reached."""
        var manager = Self()
        var path = environment_value("NOTIFY_SOCKET")
        if path.byte_length() == 0:
            return manager^
        if path.byte_length() > UNIX_NAME_LEN_MAX:
            raise Error(
                Text()
                .add("NOTIFY_SOCKET '")
                .add(path)
                .add("' is too long for a socket")
                .end()
            )
        manager._socket = open_socket(AF_UNIX, SOCK_DGRAM)
        var is_abstract = path.startswith("@")
        var name = path.as_bytes().after(1) if is_abstract else path.as_bytes()
        var result = connect_socket(
            manager._socket.fd(), SockAddr.unix(name, is_abstract)
        )
        if result != 0:
            raise Error(
                Text()
                .add("NOTIFY_SOCKET '")
                .add(path)
                .add("': ")
                .add(errno_text(-result))
                .add(
                    "; it has to name the service manager's socket, or to be"
                    " unset where there is none"
                )
                .end()
            )
        var watchdog_us = _environment_number("WATCHDOG_USEC", 1 << 60)
        if watchdog_us > 0:
            # Half of the time, as the protocol's authors advise.
            manager.watchdog_ms = max(1, watchdog_us // 2_000)
        return manager^

    def tell(self, text: StringSpan):
        """Sends lines such as `READY=1`; a manager that is busy or gone misses
        them."""
        if self._socket.is_open():
            _ = send(self._socket.fd(), text.as_bytes())

    def store(self, name: StringSpan, socket: RawSocket):
        """Has the manager keep a socket open, which stays open here, to hand it
        to the next process (`FDSTORE=1`). Its name (`FDNAME`) is ASCII without
        `:`."""
        if self._socket.is_open():
            var text = String("FDSTORE=1\nFDNAME=", name)
            _ = send_with_descriptor(
                self._socket.fd(), text.as_bytes(), socket.fd()
            )
