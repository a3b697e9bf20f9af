# 06 WebSocket echo: a client, and a server of one connection on a thread.
#
# Expected output:
#   True hello
#   hello again
#   pong: still there?
#   server: closed with 1000 bye

from flare.bytes.buffer import Buffer
from flare.http.h1.limits import HeadLimits
from flare.http.h1.request_head import RequestHead
from flare.http.message.header_map import HeaderMap
from flare.net import SocketAddr
from flare.sys.thread import Task, Thread
from flare.tcp import TcpListener, TcpStream
from flare.ws import WsClient
from flare.ws.core.connection import WsConnection
from flare.ws.core.limits import WsLimits
from flare.ws.core.mask import MaskingKey
from flare.ws.core.progress import WsProgress
from flare.ws.core.role import Role
from flare.ws.core.server_handshake import ServerHandshake


@fieldwise_init
struct EchoServer(Task):
    """Drives the protocol's core over a plain stream."""

    var listener: TcpListener

    def run(mut self) raises:
        var stream = self.listener.accept(timeout_ms=5_000)
        var input = Buffer()
        self.shake_hands(stream, input)
        var ws = WsConnection(Role.SERVER, WsLimits(1 << 20, 1 << 20))
        while ws.state.may_receive():
            self.receive(stream, input)
            var progress = ws.advance(input)
            while progress != WsProgress.NEEDS_OCTETS:
                if progress == WsProgress.MESSAGE:
                    var payload = List[UInt8](ws.payload(input))
                    ws.send_message(
                        ws.receiver.opcode, payload, MaskingKey.none()
                    )
                elif progress == WsProgress.CLOSE:
                    var reason = StringSpan(from_utf8=ws.payload(input))
                    print("server: closed with", ws.receiver.close_code, reason)
                ws.answer(MaskingKey.none())
                progress = ws.advance(input)
            stream.write_all(ws.output.span())
            ws.output.clear()

    def shake_hands(self, mut stream: TcpStream, mut input: Buffer) raises:
        var head = RequestHead()
        var is_complete = False
        while not is_complete:
            self.receive(stream, input)
            input.seal()
            is_complete = head.parse(
                input.base(), len(input), HeadLimits(1_000, 8_000, 50)
            )
        var fields = head.section.fields(input.span())
        var acceptance = ServerHandshake().accept(head.method, 1, fields)
        input.consume(head.head_len)
        var output = Buffer()
        acceptance.write_to(output, HeaderMap())
        stream.write_all(output.span())

    def receive(self, mut stream: TcpStream, mut input: Buffer) raises:
        input.reserve(4_096)
        var count = stream.read(input.room())
        if count == 0:
            raise Error("the client has gone")
        input.commit(count)


def main() raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var url = String("ws://localhost:", listener.local_addr().port, "/echo")
    var server = Thread(EchoServer(listener^))

    with WsClient.connect(url) as ws:
        ws.send_text("hello")
        var msg = ws.recv_message()
        print(msg.is_text, msg.as_text())

        ws.send_text("hello again")
        var frame = ws.recv()
        print(frame.text_payload())

        ws.ping("still there?")
        print("pong:", ws.recv().text_payload())
        ws.close(1000, "bye")
    server^.join()
