# 12 TLS: a server on a thread, a client that trusts it, and one that does not.
#
# Expected output:
#   5 TLSv1.3 new
#   5 TLSv1.3 resumed
#   SelfSigned

from flare.net import SocketAddr
from flare.runtime import Task, Thread
from flare.tcp import TcpListener
from flare.tls import TlsClientContext, TlsConfig, TlsError
from flare.tls import TlsServerConfig, TlsServerContext, TlsStream
from std.subprocess import run
from std.tempfile import TemporaryDirectory

comptime MAKE = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout key.pem -out certificate.pem 2>&1"


@fieldwise_init
struct Echo(Task):
    var listener: TcpListener
    var context: TlsServerContext

    def run(mut self) raises:
        var room = List[UInt8](length=100, fill=0)
        for _ in range(2):
            var stream = TlsStream.accept(self.listener.accept(), self.context)
            stream.write_all(Span(room)[0 : stream.read(Span(room))])
            stream.close()
        var last = self.listener.accept()
        try:
            _ = TlsStream.accept(last^, self.context)
        except error:
            return  # It does not trust this server.


def greet(port: UInt16, context: TlsClientContext) raises TlsError:
    var stream = TlsStream.connect("localhost", port, context)
    stream.write_all("hello".as_bytes())
    var room = List[UInt8](length=5, fill=0)
    print(stream.read(Span(room)), stream.session().version(), end=" ")
    print("resumed" if stream.session().is_resumed() else "new")
    stream.close()


def main() raises:
    with TemporaryDirectory() as folder:
        _ = run(String("cd ", folder, " && ", MAKE))
        var pem = folder + "/certificate.pem"
        var config = TlsServerConfig(pem, folder + "/key.pem")
        var listener = TcpListener.bind(SocketAddr.localhost(0))
        var port = listener.local_addr().port
        var thread = Thread(Echo(listener^, TlsServerContext(config^)))
        var client = TlsClientContext(TlsConfig(ca_file=pem))
        greet(port, client)
        greet(port, client)
        try:
            greet(port, TlsClientContext(TlsConfig()))
        except error:
            print(error.kind)
        thread^.join()
