"""What the test servers do with content that they read while it arrives."""

from flare.http import (
    BodyError,
    BodyReader,
    Endpoint,
    FormUpload,
    Multipart,
    MultipartLimits,
    MultipartReader,
    Request,
    Response,
    UploadedPart,
    ok,
)
from std.sys import stderr
from std.time import sleep


@fieldwise_init
struct Taken(Movable):
    """What was read."""

    var length: Int
    var checksum: UInt32


def upload(req: Request) raises -> Response:
    """Reads content and tells length and checksum, and a trailer `x-t`.

    Query: `read` is how much to read, `pause` how many milliseconds to wait
    before each read, `then` what to do behind the last: `fail`, or `wait` until
    nobody waits for the answer.
    """
    var limit = _number(req, "read", 1 << 60)
    var body = req.body_reader()
    var taken = Taken(0, 0)
    var pause_ms = _number(req, "pause", 0)
    try:
        _take(body, taken, limit, pause_ms)
    except error:
        print("upload failed:", error.status, error, file=stderr)
        raise error^
    var then = req.query_param("then")
    if then == "fail":
        raise Error("it failed")
    while then == "wait" and not req.cancelled():
        sleep(0.01)
    var text = String(taken.length, " ", taken.checksum)
    var trailers = body.trailers()
    if "x-t" in trailers:
        text.write(" ", trailers["x-t"])
    return ok(text^)


def _take(
    mut body: BodyReader, mut taken: Taken, limit: Int, pause_ms: Int
) raises BodyError:
    var room = List[UInt8](length=65_536, fill=0)
    while taken.length < limit:
        if pause_ms > 0:
            sleep(Float64(pause_ms) / 1000)
        var wanted = min(len(room), limit - taken.length)
        var count = body.read(Span(room)[:wanted])
        if count == 0:
            return
        for octet in Span(room)[:count]:
            taken.checksum = taken.checksum * 31 + UInt32(octet)
        taken.length += count


def _number(req: Request, name: StringSpan, otherwise: Int) raises -> Int:
    var text = req.query_param(name)
    return Int(text) if text.byte_length() > 0 else otherwise


def form(req: Request) raises -> Response:
    """Keeps a form, and tells what is where."""
    var form = FormUpload(req.headers["content-type"], MultipartLimits(1 << 34))
    var body = req.body_reader()
    form.receive_all(body)
    var text = String()
    for index in range(len(form.parts)):
        ref part = form.parts[index]
        text.write(part.head.name, " ", len(part), " ")
        text.write("file" if part.is_in_file() else "memory", "\n")
    return ok(text^)


def parts(req: Request) raises -> Response:
    """Goes through a form, and tells of each part when it is read."""
    var form = MultipartReader(req, MultipartLimits(1 << 34))
    var room = List[UInt8](length=65_536, fill=0)
    var text = String()
    while True:
        var head = form.next_part()
        if not head:
            return ok(text^)
        var length = 0
        while True:
            var count = form.read(Span(room))
            if count == 0:
                break
            length += count
        text.write(head.value().name, " ", length, "\n")
        print("part", head.value().name, length, file=stderr)


struct Photo(Movable):
    """A form."""

    var title: String
    var image: UploadedPart


@fieldwise_init
struct Submit(Endpoint):
    """Takes a form as an input."""

    var photo: Multipart[Photo]

    def serve(self) raises -> Response:
        ref photo = self.photo.value
        return ok(String(photo.title, " ", len(photo.image)))
