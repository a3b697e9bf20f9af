"""Files of a folder as a handler."""

from flare.bytes.buffer import Buffer
from flare.compress.content_coding import ContentCoding
from flare.http.message.accept_encoding import AcceptEncoding
from flare.http.message.body import Body
from flare.http.message.byteranges import ByterangesLayout
from flare.http.message.conditional import (
    Precondition,
    Validators,
    evaluate_preconditions,
    range_applies,
)
from flare.http.message.date import append_imf_fixdate
from flare.http.message.entity_tag import EntityTag
from flare.http.message.file_path import FilePath
from flare.http.message.file_type import file_type
from flare.http.message.method import Method
from flare.http.message.range import (
    ByteRange,
    RangeSet,
    RangeVerdict,
    content_range,
    unsatisfied_range,
)
from flare.http.message.request import Request
from flare.http.message.response import Response, not_found, redirect
from flare.http.routing.handler import Handler
from flare.http.server.file_source import FileSource
from flare.http.server.folder_page import folder_page
from flare.sys.clock import unix_seconds
from flare.sys.errno import OsError
from flare.sys.file import File, FileStatus, names_in
from flare.sys.random import fill_random

comptime READ_LEN_MAX = 8 * 1024
"""Longest content that is read to go with its head, in bytes.

One call with both costs less than two with none of it copied.
"""

comptime _NS_A_SECOND = 1_000_000_000


struct FileServerConfig(Copyable, Movable):
    """How files are served."""

    var prefix: String
    """What of a request's path stands before that of the file: `/static` for
    a server under `/static/*rest`."""
    var index_file: String
    """What is sent for a folder; empty for nothing."""
    var fallback_file: String
    """What is sent where there is no file, as single-page applications want;
    empty to answer 404."""
    var cache_control: String
    """The Cache-Control field of what is found; empty for none."""
    var lists_folders: Bool
    """Whether a folder without an index is listed."""
    var follows_links: Bool
    """Whether symbolic links are followed, wherever they lead."""
    var serves_hidden: Bool
    """Whether files are served whose names begin with a dot."""
    var serves_coded: Bool
    """Whether `NAME.br` or `NAME.gz` beside a file is sent to clients that
    take it."""

    def __init__(
        out self,
        *,
        var prefix: String = String(),
        var index_file: String = String("index.html"),
        var fallback_file: String = String(),
        var cache_control: String = String(),
        lists_folders: Bool = False,
        follows_links: Bool = False,
        serves_hidden: Bool = False,
        serves_coded: Bool = True,
    ):
        """Chooses.

        Args:
            prefix: What stands before the path of the file.
            index_file: What is sent for a folder.
            fallback_file: What is sent where there is no file.
            cache_control: The Cache-Control field.
            lists_folders: Whether a folder without an index is listed.
            follows_links: Whether symbolic links are followed.
            serves_hidden: Whether hidden files are served.
            serves_coded: Whether coded neighbours are sent.
        """
        self.prefix = prefix^
        self.index_file = index_file^
        self.fallback_file = fallback_file^
        self.cache_control = cache_control^
        self.lists_folders = lists_folders
        self.follows_links = follows_links
        self.serves_hidden = serves_hidden
        self.serves_coded = serves_coded


struct _Found(Movable):
    """A regular file that will be sent."""

    var file: File
    var status: FileStatus
    var name: String
    var coding: ContentCoding
    var has_variants: Bool

    def __init__(out self, var file: File, status: FileStatus, name: String):
        self.file = file^
        self.status = status
        self.name = name
        self.coding = ContentCoding.IDENTITY
        self.has_variants = False

    def take_file(deinit self) -> File:
        return self.file^


struct FileServer(Handler):
    """Serves the files of a folder, to GET and HEAD.

    With ranges, conditions (RFC 9110 sections 13 and 14), entity tags made
    from length and time, and memory for one piece of a file at a time. Nothing
    outside of the folder can be reached, devices and pipes are not opened for
    clients, and what there is no right to read is not found.
    """

    var _root: File
    var _root_path: String
    var _config: FileServerConfig

    def __init__(
        out self,
        root: StringSpan,
        var config: FileServerConfig = FileServerConfig(),
    ) raises OsError:
        """Opens the folder, which stays the same if it is renamed.

        Args:
            root: The folder's path.
            config: How files are served.

        Raises:
            OsError: If the folder cannot be opened.
        """
        self._root = File.folder(root)
        self._root_path = String(root)
        self._config = config^

    def serve(self, req: Request) raises -> Response:
        """Answers a request.

        Args:
            req: The request.

        Returns:
            The file, a part of it, or why not.

        Raises:
            Error: If a file that is there cannot be read.
        """
        if req.method != Method.GET and req.method != Method.HEAD:
            var refused = Response(405)
            refused.headers.set("Allow", "GET, HEAD")
            return refused^
        var octets = req.path.as_bytes()
        var prefix = self._config.prefix.as_bytes()
        if len(octets) < len(prefix) or octets[: len(prefix)] != prefix:
            return not_found()
        var path = FilePath.parse(
            octets[len(prefix) :], serves_hidden=self._config.serves_hidden
        )
        if not path:
            return not_found()
        var wanted = path.value().path
        var found = self._open(wanted)
        if found and found.value().status.is_folder:
            # Relative links of a page resolve rightly behind a slash alone.
            if not path.value().is_folder:
                return redirect(_with_slash(req), 301)
            var index = self._open_index(wanted)
            if index:
                return self._respond(req, index.take())
            if self._config.lists_folders:
                return self._list(wanted)
            found = None
        elif path.value().is_folder:
            found = None
        if not found or not found.value().status.is_regular:
            return self._fall_back(req)
        return self._respond(req, found.take())

    def _open(self, path: String) -> Optional[_Found]:
        """Opens a file; what cannot be opened is not there for a client."""
        try:
            var file = self._root.open_beneath(
                path, follows_links=self._config.follows_links
            )
            var status = file.status()
            return _Found(file^, status, path)
        except:
            return None

    def _open_index(self, folder: String) -> Optional[_Found]:
        if self._config.index_file.byte_length() == 0:
            return None
        var found = self._open(_join(folder, self._config.index_file))
        if found and found.value().status.is_regular:
            return found^
        return None

    def _fall_back(self, req: Request) raises -> Response:
        if self._config.fallback_file.byte_length() == 0:
            return not_found()
        var found = self._open(self._config.fallback_file)
        if not found or not found.value().status.is_regular:
            return not_found()
        return self._respond(req, found.take())

    def _list(self, folder: String) raises -> Response:
        var names = List[String]()
        for name in names_in(_join(self._root_path, folder)):
            var is_hidden = name.startswith(".")
            if is_hidden and not self._config.serves_hidden:
                continue
            var entry = self._open(_join(folder, name))
            if not entry:
                continue
            if entry.value().status.is_folder:
                names.append(name + "/")
            elif entry.value().status.is_regular:
                names.append(name)
        var response = Response(
            200,
            folder_page(folder, names),
            content_type="text/html; charset=utf-8",
        )
        response.headers.set("Cache-Control", "no-cache")
        return response^

    def _choose_coding(self, req: Request, mut found: _Found) raises:
        """Takes the neighbour that the client wants most, if there is one."""
        if not self._config.serves_coded:
            return
        var offered = List[ContentCoding]()
        var brotli = self._open(found.name + ".br")
        if brotli and brotli.value().status.is_regular:
            offered.append(ContentCoding.BR)
        var gzip = self._open(found.name + ".gz")
        if gzip and gzip.value().status.is_regular:
            offered.append(ContentCoding.GZIP)
        found.has_variants = len(offered) > 0
        if not found.has_variants:
            return
        var text = String()
        for value in req.headers.get_all("accept-encoding"):
            text.write(value, ",")
        var chosen = AcceptEncoding(text).choose(offered)
        if not chosen:
            return
        found.coding = chosen.value()
        var coded: _Found
        if chosen.value() == ContentCoding.BR:
            coded = brotli.take()
        else:
            coded = gzip.take()
        found.status = coded.status
        swap(found.file, coded.file)

    def _respond(self, req: Request, var found: _Found) raises -> Response:
        self._choose_coding(req, found)
        var now_s = unix_seconds()
        var validators = _validators(found)
        var precondition = evaluate_preconditions(
            req.method, req.headers, validators, now_s
        )
        if precondition == Precondition.FAILED:
            return Response(412)
        if precondition == Precondition.NOT_MODIFIED:
            var response = Response(304)
            self._describe(response, found, validators)
            return response^
        var size = found.status.size
        var set = RangeSet(RangeVerdict.WHOLE)
        # Section 14.2: Range is defined for GET alone.
        var line = req.headers.find("range")
        if (
            line >= 0
            and req.method == Method.GET
            and req.headers.find("range", line + 1) < 0
            and range_applies(req.headers, validators, now_s)
        ):
            set = RangeSet.parse(req.headers.value_bytes(line), size)
            set.coalesce()
        if set.verdict == RangeVerdict.UNSATISFIABLE:
            var response = Response(416)
            response.headers.set("Content-Range", unsatisfied_range(size))
            return response^
        var response = Response(200)
        self._describe(response, found, validators)
        response.headers.set("Accept-Ranges", "bytes")
        var media_type = file_type(found.name)
        response.headers.set("Content-Type", media_type)
        if set.verdict != RangeVerdict.PARTS:
            response.body = _content(
                found^.take_file(), ByteRange(0, size), req.method
            )
            return response^
        response.status = 206
        if len(set.ranges) == 1:
            var part = set.ranges[0]
            response.headers.set("Content-Range", content_range(part, size))
            response.body = _content(found^.take_file(), part, req.method)
            return response^
        var random = Array[UInt8, 16](fill=0)
        fill_random(Span(random))
        var layout = ByterangesLayout(
            set.ranges.copy(), size, String(media_type), random
        )
        response.headers.set("Content-Type", layout.content_type())
        var length = layout.content_length()
        response.body = Body(
            FileSource(found^.take_file(), layout), length=length
        )
        return response^

    def _describe(
        self, mut response: Response, found: _Found, validators: Validators
    ) raises:
        """Sets what a 200, a 206 and a 304 have in common (section 15.4.5)."""
        response.headers.set("ETag", String(validators.entity_tag.value()))
        var date = Buffer(32)
        append_imf_fixdate(date, validators.modified_s.value())
        response.headers.set(
            "Last-Modified", StringSpan(unsafe_from_utf8=date.span())
        )
        if self._config.cache_control.byte_length() > 0:
            response.headers.set("Cache-Control", self._config.cache_control)
        if found.has_variants:
            response.headers.set("Vary", "Accept-Encoding")
        if found.coding == ContentCoding.BR:
            response.headers.set("Content-Encoding", "br")
        elif found.coding == ContentCoding.GZIP:
            response.headers.set("Content-Encoding", "gzip")


def _with_slash(req: Request) -> String:
    """Writes the target with a slash behind its path."""
    var target = String(req.path, "/")
    if req.query.byte_length() > 0:
        target.write("?", req.query)
    return target^


def _content(var file: File, range: ByteRange, method: Method) raises -> Body:
    """Reads short content, which then goes with its head; anything longer is
    left to the server."""
    if range.length > READ_LEN_MAX or method == Method.HEAD:
        return Body(FileSource(file^, range), length=range.length)
    var octets = List[UInt8](length=range.length, fill=0)
    file.read_exactly_at(octets, range.start)
    return Body(octets^)


def _validators(found: _Found) raises -> Validators:
    """Tells versions apart by length and time; a coding makes another tag."""
    var modified_ns = max(found.status.modified_ns, 0)
    var text = String(hex(found.status.size, prefix=""), "-")
    text.write(hex(modified_ns, prefix=""))
    if found.coding != ContentCoding.IDENTITY:
        text.write("-br" if found.coding == ContentCoding.BR else "-gz")
    return Validators(EntityTag(text^), modified_ns // _NS_A_SECOND, True)


def _join(folder: StringSpan, name: StringSpan) -> String:
    if folder.byte_length() == 0:
        return String(name)
    return String(folder, "/", name)
