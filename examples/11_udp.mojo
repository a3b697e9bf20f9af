# 11 UDP: datagrams to and fro, and what happens to those that are too large.
#
# Expected output:
#   server: 'question' from the client: True
#   client: 'answer'
#   DatagramTooLarge: True
#   receive 127.0.0.1:*: a datagram of 26 bytes was cut to 16 bytes; pass more room
#   Timeout: True
#   receive 127.0.0.1:*: nothing within 20 ms; allow more time, or give the peer up

from flare.net import SocketAddr, Timeout
from flare.udp import DatagramTooLarge, UdpSocket


def main() raises:
    var server = UdpSocket.bind(SocketAddr.localhost(0))
    var client = UdpSocket.connect(server.local_addr())
    var room = Array[UInt8, 16](fill=0)

    _ = client.send("question".as_bytes())
    var datagram = server.recv_from(Span(room))
    var text = StringSpan(from_utf8=Span(room)[0 : datagram.length])
    var is_client = datagram.sender == client.local_addr()
    print("server: '", text, "' from the client: ", is_client, sep="")

    _ = server.send_to("answer".as_bytes(), datagram.sender)
    var count = client.recv(Span(room))
    print("client: '", StringSpan(from_utf8=Span(room)[0:count]), "'", sep="")

    # A datagram that does not fit is never passed off as a shorter one.
    _ = client.send("abcdefghijklmnopqrstuvwxyz".as_bytes())
    try:
        _ = server.recv(Span(room))
    except error:
        print("DatagramTooLarge:", error.kind == DatagramTooLarge)
        print(error)

    # Nothing waits for ever unless it is told to.
    server.set_read_timeout(20)
    try:
        _ = server.recv(Span(room))
    except error:
        print("Timeout:", error.kind == Timeout)
        print(error)
