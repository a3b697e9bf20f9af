# 14 A bare reactor: a TCP echo on one thread that talks to itself.
#
# Expected output:
#   client connects
#   server accepts
#   server echoes 4 octets
#   client reads 4 octets
#   timer 99 expires

from flare.net import RawSocket, SocketAddr
from flare.runtime import Interest, Reactor

comptime LISTENER = UInt64(1)
comptime SERVER = UInt64(2)
comptime CLIENT = UInt64(3)


def main() raises:
    var reactor = Reactor()
    var listener = RawSocket.listen_tcp(SocketAddr.localhost(0))
    reactor.register(listener.fd(), LISTENER, Interest.READ)
    var client = RawSocket.tcp()
    print("client connects")
    _ = client.connect(listener.local_addr())
    reactor.register(client.fd(), CLIENT, Interest.STREAM)
    var server = RawSocket(owned=-1)
    var room = Array[UInt8, 64](fill=0)
    var is_sent = False
    var is_echoed = False

    while not is_echoed:
        for index in range(reactor.poll()):
            var event = reactor.event(index)
            if event.token == LISTENER:
                print("server accepts")
                server = listener.accept().take_socket()
                reactor.register(server.fd(), SERVER, Interest.READ)
            elif event.token == SERVER:
                var count = server.receive(Span(room))
                if count > 0:
                    print("server echoes", count, "octets")
                    _ = server.send(Span(room)[0:count])
            elif event.is_readable:
                print("client reads", client.receive(Span(room)), "octets")
                is_echoed = True
            elif event.is_writable and not is_sent:
                _ = client.send("ping".as_bytes())
                is_sent = True

    _ = reactor.insert_timer(5, 99)
    while reactor.timer_count() > 0:
        _ = reactor.poll()
        var token = reactor.next_expired()
        if token:
            print("timer", token.value(), "expires")
