"""The server of the tests of files and uploads.

    file_server PORT root=FOLDER temporary=FOLDER write_timeout_ms=N ...

Further arguments are those of `tls_options`. `/strict/` serves the folder as
it is by default, `/open/` with all that can be allowed, `/app/` with a
fallback. `/upload` takes forms when they are there, `/streamed` while they
arrive.
"""

from flare.http import (
    FileServer,
    FileServerConfig,
    FormUpload,
    Handler,
    MultipartLimits,
    Request,
    Response,
    Router,
    ServerConfig,
    Streamed,
    UploadedPart,
    ok,
)
from std.sys import argv
from tests.wire.servers.tls_options import TlsOptions


def _adler32(part: UploadedPart) raises -> Int:
    """The checksum of RFC 1950 section 8.2, over content read by pieces."""
    var room = List[UInt8](length=1 << 16, fill=0)
    var low = 1
    var high = 0
    var offset = 0
    while True:
        var count = part.read_at(Span(room), offset)
        if count == 0:
            return (high << 16) | low
        for octet in Span(room)[:count]:
            low += Int(octet)
            high += low
        low %= 65_521
        high %= 65_521
        offset += count


@fieldwise_init
struct Upload(Handler):
    """Tells what parts a form has."""

    var folder: String

    def serve(self, req: Request) raises -> Response:
        var limits = MultipartLimits(total_len_max=16_000_000)
        limits.part_count_max = 8
        limits.part_len_max = 4_000_000
        var media_type = String()
        if "content-type" in req.headers:
            media_type = String(req.headers["content-type"])
        var form: FormUpload
        try:
            form = FormUpload(media_type, limits, self.folder)
        except error:
            return Response(400, String(error))
        var body = req.body_reader()
        try:
            form.receive_all(body)
        except error:
            return Response(error.status, error.reason)
        var text = String()
        for index in range(len(form.parts)):
            ref part = form.parts[index]
            var place = "file" if part.is_in_file() else "memory"
            text.write(part.head.name, " ", len(part), " ", place)
            text.write(" ", _adler32(part), "\n")
        return ok(text^)


def main() raises:
    var config = ServerConfig(max_body_size=16_000_000)
    var tls = TlsOptions()
    var root = String(".")
    var temporary = String("/tmp")
    var cache_ms = 1_000
    for index in range(2, len(argv())):
        var parts = String(argv()[index]).split("=")
        if tls.take(String(parts[0]), String(parts[1])):
            continue
        if parts[0] == "root":
            root = String(parts[1])
        elif parts[0] == "temporary":
            temporary = String(parts[1])
        elif parts[0] == "cache_ms":
            cache_ms = Int(String(parts[1]))
        elif parts[0] == "write_timeout_ms":
            config.write_timeout_ms = Int(String(parts[1]))
        elif parts[0] == "min_send_rate":
            config.min_send_rate = Int(String(parts[1]))
        elif parts[0] == "shutdown_timeout_ms":
            config.shutdown_timeout_ms = Int(String(parts[1]))
        elif parts[0] == "handler_threads":
            config.handler_threads = Int(String(parts[1]))
        else:
            raise Error("there is no option '", parts[0], "'")
    var router = Router()
    router.get(
        "/strict/*rest",
        FileServer(
            root,
            FileServerConfig(cache_control="max-age=60", cache_ms=cache_ms),
        ),
    )
    router.get(
        "/open/*rest",
        FileServer(
            root,
            FileServerConfig(
                prefix="/open",
                lists_folders=True,
                follows_links=True,
                serves_hidden=True,
            ),
        ),
    )
    router.get(
        "/app/*rest",
        FileServer(
            root, FileServerConfig(prefix="/app", fallback_file="index.html")
        ),
    )
    router.post("/upload", Upload(temporary))
    if config.handler_threads > 0:
        router.post("/streamed", Streamed(Upload(temporary)))
    var server = tls.bind(UInt16(Int(String(argv()[1]))), config^)
    print("listening on", server.local_addr(), flush=True)
    server.serve(router^)
