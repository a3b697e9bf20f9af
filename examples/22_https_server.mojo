# 22 HTTPS server: a certificate of its own, a client without one, a client
# with one, and a client that forgot the s. curl is the client.
#
# Expected output:
#   https, you are nobody
#   https, you are CN=localhost
#   400
#   a plain HTTP request was sent to an HTTPS port; use https://
#   bye

from flare.http import Handler, HttpServer, Request, Response
from flare.http import ShutdownHandle, ok
from flare.net import SocketAddr
from flare.tls import ClientVerification, TlsIdentity, TlsServerConfig
from std.os import Process
from std.subprocess import run
from std.tempfile import TemporaryDirectory

comptime MAKE = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout key.pem -out cert.pem 2>&1"
comptime ASK = "ask() { curl -s --cacert cert.pem \"$@\"; }; ask $URL/; ask --cert cert.pem --key key.pem $URL/; ask -w '%{http_code}\\n' -o answer http${URL#https}/; cat answer; ask $URL/stop"


@fieldwise_init
struct Demo(Handler):
    """Tells clients who they are."""

    var stopper: ShutdownHandle

    def serve(self, req: Request) raises -> Response:
        if req.url == "/stop":
            self.stopper.shutdown()
            return ok("bye\n")
        var who = String("nobody")
        var subject = req.peer_certificate()
        if subject:
            who = String(subject.value())
        return ok(String(req.scheme(), ", you are ", who, "\n"))


def main() raises:
    with TemporaryDirectory() as folder:
        _ = run(String("cd ", folder, " && ", MAKE))
        var tls = TlsServerConfig(
            TlsIdentity(folder + "/cert.pem", folder + "/key.pem"),
            client_verification=ClientVerification.OPTIONAL,
            client_ca_file=folder + "/cert.pem",
        )
        var server = HttpServer.bind_tls(SocketAddr.localhost(0), tls^)
        var url = String("https://localhost:", server.local_addr().port)
        var script = String("cd ", folder, "; URL=", url, "; ", ASK)
        var client = Process.run("/bin/sh", ["-c", script])
        server.serve(Demo(server.shutdown_handle()))
        _ = client.wait()
