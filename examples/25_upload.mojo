# 25 Upload: a form with files. Small parts stay in memory, large ones go to
# temporary files that have no name, so none is left behind.
#
# Expected output:
#   title: 7 bytes in memory
#   photo (big.bin): 1000000 bytes in a file

from flare.http import FormUpload, HttpServer, Request, Response
from flare.http import bad_request, ok
from flare.net import SocketAddr
from std.os import Process


def upload(req: Request) raises -> Response:
    var form = FormUpload(req.headers["content-type"])
    try:
        form.receive(req.body)
        form.finish()
    except error:
        return bad_request(error.reason)
    var text = String()
    for index in range(len(form.parts)):
        ref part = form.parts[index]
        text.write(part.head.name)
        if part.head.filename:
            text.write(" (", part.head.filename.value(), ")")
        text.write(": ", len(part), " bytes in ")
        text.write("a file\n" if part.is_in_file() else "memory\n")
    return ok(text^)


def main() raises:
    var server = HttpServer.bind(SocketAddr.localhost(0))
    var script = String(
        "head -c 1000000 /dev/zero | curl -s -F title=Holiday",
        " -F 'photo=@-;filename=big.bin' http://",
        server.local_addr(),
        "/; kill -TERM $PPID",
    )
    var client = Process.run("/bin/sh", ["-c", script])
    server.serve(upload)
    _ = client.wait()
