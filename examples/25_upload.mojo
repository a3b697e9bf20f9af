# 25 Upload: a form with files, taken while it arrives. Memory stays small: large
# parts go to a temporary file that has no name, so none is left behind.
#
# Expected output:
#   Holiday: 1000000 bytes in a file
#   422 without an image
#   first 3, second 5

from flare.http import Endpoint, Extracted, HttpServer, Multipart, Request
from flare.http import Response, Router, ServerConfig, Streamed, UploadedPart
from flare.http import ok
from flare.http.extract import MultipartReader
from flare.net import SocketAddr
from std.os import Process


struct Photo(Movable):
    var title: String
    var image: UploadedPart


@fieldwise_init
struct Submit(Endpoint):
    var form: Multipart[Photo]

    def serve(self) raises -> Response:
        ref photo = self.form.value
        var place = "a file" if photo.image.is_in_file() else "memory"
        var length = len(photo.image)
        return ok(String(photo.title, ": ", length, " bytes in ", place, "\n"))


def count(req: Request) raises -> Response:
    """Reads each part while the client sends it, and keeps nothing."""
    var form = MultipartReader(req)
    var room = List[UInt8](length=65_536, fill=0)
    var text = String()
    while True:
        var part = form.next_part()
        if not part:
            return ok(text + "\n")
        var length = 0
        var piece_len = form.read(Span(room))
        while piece_len > 0:
            length += piece_len
            piece_len = form.read(Span(room))
        text.write(", " if text else "", part.value().name, " ", length)


def main() raises:
    var router = Router()
    router.post("/photos", Extracted[Submit](), max_body_size=1 << 30)
    router.post("/count", Streamed(count))
    var server = HttpServer.bind(
        SocketAddr.localhost(0), ServerConfig(handler_threads=4)
    )
    var url = String("http://", server.local_addr())
    var script = String("head -c 1000000 /dev/zero | curl -s -F title=Holiday")
    script.write(" -F 'image=@-;filename=big.bin' ", url, "/photos; ")
    script.write("curl -s -o /dev/null -w '%{http_code} without an image\n'")
    script.write(" -F title=Empty ", url, "/photos; ")
    script.write("curl -s -F first=one -F second=three ", url, "/count; ")
    script.write("kill -TERM $PPID")
    var client = Process.run("/bin/sh", ["-c", script])
    server.serve(router^)
    _ = client.wait()
