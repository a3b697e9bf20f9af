# 03 Errors: tell them apart by kind, and let them explain themselves.
#
# Expected output:
#   at byte 8: an octet has no leading zero
#   '127.0.0.01' is not an IPv4 or IPv6 address: an octet has no leading zero (byte 8)
#   'a\x0d\x0a' is not an IPv4 or IPv6 address: it begins as a name does; write its address, such as 127.0.0.1, or look it up with `resolve` of flare.dns (byte 0)
#   AddressInUse: True
#   bind 127.0.0.1:*: *; stop the other program or choose another port
#   ConnectionRefused: True
#   connect 127.0.0.1:*: *; is a server listening there?

from flare.net import (
    AddressInUse,
    ConnectionRefused,
    IpAddr,
    NetworkError,
    RawSocket,
    SocketAddr,
)
from flare.runtime import Interest, Reactor


def connect(addr: SocketAddr) raises NetworkError -> RawSocket:
    """Connects and waits until it is known how that went."""
    var socket = RawSocket.tcp()
    if not socket.connect(addr):
        var reactor = Reactor()
        reactor.register(socket.fd(), 1, Interest.WRITE)
        _ = reactor.poll(timeout_ms=5_000)
        socket.check_connected(addr)
    return socket^


def main() raises:
    # An address parser says what is wrong, where, and never repeats raw bytes.
    try:
        _ = IpAddr.parse("127.0.0.01")
    except error:
        print("at byte ", error.offset, ": ", error.reason, sep="")
        print(error)
    try:
        _ = SocketAddr.parse("a\r\n:80")
    except error:
        print(error)

    var listener = RawSocket.listen_tcp(SocketAddr.localhost(0))
    var addr = listener.local_addr()
    try:
        _ = RawSocket.listen_tcp(addr)
    except error:
        print("AddressInUse:", error.kind == AddressInUse)
        print(error)

    listener.close()
    try:
        _ = connect(addr)
    except error:
        print("ConnectionRefused:", error.kind == ConnectionRefused)
        print(error)
