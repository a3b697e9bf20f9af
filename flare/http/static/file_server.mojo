"""Files of a folder as a handler: how they are served, and the page that lists
them.
"""

from flare.bytes.checked import *
from flare.bytes.text import Text
from flare.compress.content_coding import ContentCoding
from flare.http.conditional.conditional import (
    EntityTag,
    Precondition,
    Validators,
    evaluate_preconditions,
    range_applies,
)
from flare.http.conditional.range import (
    ByteRange,
    ByterangesLayout,
    RangeSet,
    RangeVerdict,
    content_range,
    unsatisfied_range,
)
from flare.http.message.body import Body
from flare.http.message.content_coding import AcceptEncoding
from flare.http.message.header_map import check_field
from flare.http.message.method import Method
from flare.http.message.request import Request
from flare.http.message.response import Response, not_found, redirect
from flare.http.handler.handler import Handler, RequestPolicy
from flare.http.static.file_folder import FileFolder, FileSource, FoundFile
from flare.http.static.file_path import FilePath, file_type, is_file_path
from flare.sys.errno import errno_text
from flare.sys.file import File, FileStatus
from flare.sys.random import fill_random
from flare.url.percent import COMPONENT_SET, percent_encode
from std.memory import ArcPointer

comptime FILE_CACHE_MS = 1_000
"""How long files are kept open for the next requests, in milliseconds.

Long enough that a busy file is hardly ever opened, and short enough that who
replaces a folder by another sees it at once.
"""


struct FileServerConfig(Copyable, Movable):
    """How files are served."""

    var prefix: String
    """What of a request's path stands before that of the file, from its slash
    on and without one at its end. Empty, the default, for what the route has
    before its `*rest`: `/static` under `/static/*rest`."""
    var index_file: String
    """What is sent for a folder, by its path below that; empty for nothing.
    Default `index.html`."""
    var fallback_file: String
    """What is sent where there is no file, as single-page applications want, by
    its path below the folder, with a slash in front or without; empty to answer
    404. Default empty."""
    var cache_control: String
    """The Cache-Control field of what is found; empty for none. Default empty.
    """
    var lists_folders: Bool
    """Whether a folder without an index is listed. Default False."""
    var follows_links: Bool
    """Whether symbolic links are followed, wherever they lead. Default False.
    """
    var serves_hidden: Bool
    """Whether files are served whose names begin with a dot. Default False."""
    var serves_coded: Bool
    """Whether `NAME.br` or `NAME.gz` beside a file is sent to clients that take
    it. Default True."""
    var cache_ms: Int
    """How long a file is kept open for the next requests, in milliseconds; 0 to
    open it for each. See `FileFolder` for what may be noticed that late.
    Default 1 s."""

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
        cache_ms: Int = FILE_CACHE_MS,
    ):
        """Chooses."""
        self.prefix = prefix^
        self.index_file = index_file^
        self.fallback_file = fallback_file^
        self.cache_control = cache_control^
        self.lists_folders = lists_folders
        self.follows_links = follows_links
        self.serves_hidden = serves_hidden
        self.serves_coded = serves_coded
        self.cache_ms = cache_ms


def folder_page(folder: StringSpan, names: List[String]) -> String:
    """Writes the page, in which no name can be markup. The folder's path is
    decoded, empty for the root; names of folders have a slash after them."""
    var page = String(
        '<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n<title>/'
    )
    _write_text(folder, page)
    page.write("</title>\n<h1>/")
    _write_text(folder, page)
    page.write("</h1>\n<ul>\n")
    if folder.byte_length() > 0:
        page.write('<li><a href="../">../</a></li>\n')
    for ref name in names:
        page.write('<li><a href="./')
        _write_link(name, page)
        page.write('">')
        _write_text(name, page)
        page.write("</a></li>\n")
    page.write("</ul>\n</html>\n")
    return page^


def _write_link(name: String, mut page: String):
    var octets = name.as_bytes()
    var is_folder = len(octets) > 0 and octets.at(len(octets) - 1) == 47
    var end = len(octets) - 1 if is_folder else len(octets)
    var encoded = List[UInt8]()
    percent_encode[COMPONENT_SET](octets.before(end), encoded)
    # An apostrophe is the one quote that the set leaves; it ends no value here.
    page.write(StringSpan(unsafe_from_utf8=encoded))
    if is_folder:
        page.write("/")


def _write_text(text: StringSpan, mut page: String):
    page.write(
        String(text)
        .replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace('"', "&quot;")
    )


comptime READ_LEN_MAX = 8 * 1024
"""Longest content that is read to go with its head, in bytes.

One call with both costs less than two with none of it copied.
"""

comptime _SLASH: UInt8 = 47
comptime _STAR: UInt8 = 42
comptime _NS_A_SECOND = 1_000_000_000
# The kernel's clock for files steps by 10 ms at most; twice that for one that
# is late. What keeps whole seconds alone steps by one, or, as FAT, by two.

comptime _STEP_NS = 20_000_000
comptime _COARSE_STEP_NS = 2 * _NS_A_SECOND


struct _Chosen(Movable):
    """What of a file will be sent, once its coding is known."""

    var file: ArcPointer[File]
    var status: FileStatus
    var path: String
    var coding: ContentCoding
    var has_variants: Bool

    def __init__(out self, var found: FoundFile, var path: String):
        ref file = found.file[]
        self.file = file.plain
        self.status = found.status
        self.path = path^
        self.coding = ContentCoding.IDENTITY
        self.has_variants = Bool(file.brotli) or Bool(file.gzip)


struct FileServer(Handler):
    """Serves the files of a folder, to GET and HEAD.

        router.get("/static/*rest", FileServer("public"))

    With ranges, conditions (RFC 9110 sections 13 and 14), entity tags made
    from length and time (`file_tag`), and memory for one piece of a file at a time. Nothing
    outside of the folder can be reached; devices, pipes and what there is no
    right to read are not found.
    """

    var _folder: FileFolder
    var _config: FileServerConfig

    def __init__(
        out self,
        root: StringSpan,
        var config: FileServerConfig = FileServerConfig(),
    ) raises:
        """Opens the folder, which stays the same if it is renamed.

        Args:
            root: The folder's path.
            config: How files are served.

        Raises:
            Error: If the folder cannot be opened, no file can be below the
                prefix or have the path of `index_file` or `fallback_file`, or
                `cache_control` cannot stand in a field; it says which, and why.
        """
        check_field("Cache-Control", config.cache_control)
        config.index_file = _path_of("index_file", config.index_file)
        config.fallback_file = _path_of("fallback_file", config.fallback_file)
        ref prefix = config.prefix
        if prefix.byte_length() > 0 and (
            not prefix.startswith("/") or prefix.endswith("/")
        ):
            raise Error(
                Text()
                .add("FileServer: no file is below the prefix '")
                .add_escaped(prefix.as_bytes())
                .add("'; write it as '/static'")
                .end()
            )
        try:
            self._folder = FileFolder(
                root,
                follows_links=config.follows_links,
                finds_coded=config.serves_coded,
                cache_ms=config.cache_ms,
            )
        except error:
            raise Error(
                Text()
                .add("FileServer: cannot open the folder '")
                .add_escaped(root.as_bytes())
                .add("': ")
                .add(errno_text(error.number))
                .end()
            )
        self._config = config^

    @no_inline
    def __deinit__(deinit self):
        return

    def serve(self, req: Request) raises -> Response:
        """Answers with the file, a part of it, or why not.

        Raises:
            Error: If a file that is there cannot be read.
        """
        if req.method != Method.GET and req.method != Method.HEAD:
            var refused = Response(405)
            refused.headers.set("Allow", "GET, HEAD")
            return refused^
        var octets = req.path.as_bytes()
        var prefix = self._config.prefix.as_bytes()
        if len(octets) < len(prefix) or octets.before(len(prefix)) != prefix:
            return not_found()
        var start = len(prefix)
        if start == 0:
            start = _rest_offset(req.route(), octets)
        var path = FilePath.parse(
            octets.after(start), serves_hidden=self._config.serves_hidden
        )
        if not path:
            return not_found()
        var wanted = path.value().path
        if path.value().is_folder:
            return self._serve_folder(req, wanted)
        var found = self._folder.find(wanted)
        if found:
            return self._respond(req, found.take(), wanted^)
        var status = self._folder.status(wanted)
        if status and status.value().is_folder:
            # Relative links of a page resolve rightly after a slash alone.
            return redirect(_with_slash(req), 301)
        return self._fall_back(req)

    def serve_file(self, req: Request, path: StringSpan) raises -> Response:
        """Answers with a file that the program chooses, whatever the request's
        own path is: one that its user may see, or has made.

            var reports = FileServer("reports")
            var response = reports.serve_file(req, "7.pdf")

        A handler keeps the `FileServer`, since it opens the folder.

        Conditions and ranges hold as for `serve`, where the method is GET or
        HEAD; of another method the answer is the whole file. A path may be made
        of what a client has sent: none leads out of the folder.

        Args:
            req: The request that is answered.
            path: The file's path below the folder, not encoded.

        Returns:
            The file, a part of it, or 304, 412 or 416; 404 if there is no such
            file, or it is hidden and `serves_hidden` is off.

        Raises:
            Error: If a file that is there cannot be read.
        """
        var wanted = String(path.removeprefix("/"))
        if not is_file_path(wanted, serves_hidden=self._config.serves_hidden):
            return not_found()
        var found = self._folder.find(wanted)
        if not found:
            return not_found()
        return self._respond(req, found.take(), wanted^)

    def policy_for(self, req: Request) -> RequestPolicy:
        """Gives the default for GET and HEAD; else that the head is enough:
        content of methods that are refused is not needed."""
        if req.method != Method.GET and req.method != Method.HEAD:
            return RequestPolicy.by_head()
        return RequestPolicy()

    def _serve_folder(self, req: Request, folder: String) raises -> Response:
        if self._config.index_file.byte_length() > 0:
            var path = _join(folder, self._config.index_file)
            var index = self._folder.find(path)
            if index:
                return self._respond(req, index.take(), path^)
        if self._config.lists_folders:
            var status = self._folder.status(folder)
            if status and status.value().is_folder:
                return self._list(folder)
        return self._fall_back(req)

    def _fall_back(self, req: Request) raises -> Response:
        if self._config.fallback_file.byte_length() == 0:
            return not_found()
        var found = self._folder.find(self._config.fallback_file)
        if not found:
            return not_found()
        return self._respond(req, found.take(), self._config.fallback_file)

    def _list(self, folder: String) raises -> Response:
        var names = List[String]()
        for name in self._folder.names(folder):
            if not is_file_path(name, serves_hidden=self._config.serves_hidden):
                continue
            var status = self._folder.status(_join(folder, name))
            if not status:
                continue
            if status.value().is_folder:
                names.append(name + "/")
            elif status.value().is_regular:
                names.append(name)
        var response = Response(
            200,
            folder_page(folder, names),
            content_type="text/html; charset=utf-8",
        )
        response.headers.set("Cache-Control", "no-cache")
        return response^

    def _choose(
        self, req: Request, var found: FoundFile, var path: String
    ) raises -> _Chosen:
        """Takes the neighbour that the client wants most, if there is one."""
        var file = found.file
        var chosen = _Chosen(found^, path^)
        if not chosen.has_variants:
            return chosen^
        var offered = file[].codings()
        offered.append(ContentCoding.IDENTITY)
        var coding = AcceptEncoding(req.headers).choose(offered)
        if coding and coding.value() != ContentCoding.IDENTITY:
            chosen.coding = coding.value()
            chosen.file = file[].in_coding(coding.value())
            chosen.status = chosen.file[].status()
        return chosen^

    def _respond(
        self, req: Request, var found: FoundFile, var path: String
    ) raises -> Response:
        # A file that was young when it was asked for its time is young now.
        var now_ns = found.asked_ns
        var now_s = now_ns // _NS_A_SECOND
        var chosen = self._choose(req, found^, path^)
        var validators = _validators(chosen, now_ns)
        var precondition = Precondition.PROCEED
        if req.method == Method.GET or req.method == Method.HEAD:
            # What else a method does is done: nothing may be refused now.
            precondition = evaluate_preconditions(
                req.method, req.headers, validators, now_s
            )
        if precondition == Precondition.FAILED:
            return Response(412)
        if precondition == Precondition.NOT_MODIFIED:
            var response = Response(304)
            self._describe(response, chosen, validators)
            return response^
        var size = chosen.status.size
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
        self._describe(response, chosen, validators)
        if chosen.coding != ContentCoding.IDENTITY:
            response.headers.set("Content-Encoding", chosen.coding.name())
        response.headers.set("Accept-Ranges", "bytes")
        var media_type = file_type(chosen.path)
        response.headers.set("Content-Type", media_type)
        if set.verdict != RangeVerdict.PARTS:
            response.body = _content(chosen.file, ByteRange(0, size))
            if size == 0:
                # That nothing is there is known, and said to HEAD, too.
                response.headers.set("Content-Length", "0")
            return response^
        response.status = 206
        if len(set.ranges) == 1:
            var part = set.ranges.at(0)
            response.headers.set("Content-Range", content_range(part, size))
            response.body = _content(chosen.file, part)
            return response^
        var random = Array[UInt8, 16](fill=0)
        fill_random(Span(random))
        var layout = ByterangesLayout(
            set.ranges.copy(), size, String(media_type), random
        )
        response.headers.set("Content-Type", layout.content_type())
        var length = layout.content_length()
        response.body = Body(FileSource(chosen.file, layout), length=length)
        return response^

    def _describe(
        self, mut response: Response, chosen: _Chosen, validators: Validators
    ) raises:
        """Sets what a 200, a 206 and a 304 have in common (section 15.4.5)."""
        validators.describe(response.headers)
        if self._config.cache_control.byte_length() > 0:
            response.headers.set("Cache-Control", self._config.cache_control)
        if chosen.has_variants:
            response.headers.set("Vary", "Accept-Encoding")


def _path_of(field: StaticString, text: String) raises -> String:
    """Gives a path of the configuration as `FileFolder` has it, without the
    slash in front that it may have; empty if it is. Raises if no file can have
    it."""
    if text.byte_length() == 0:
        return String()
    var path = String(text.removeprefix("/"))
    if not is_file_path(path, serves_hidden=True):
        raise Error(
            Text()
            .add("FileServer: '")
            .add_escaped(text.as_bytes())
            .add("' of ")
            .add(field)
            .add(" is no file below the folder; write it as 'index.html'")
            .end()
        )
    return path^


def _rest_offset(pattern: StringSpan, path: Span[UInt8, _]) -> Int:
    """Finds the slash before what `*rest` of a route has matched; 0 if the
    pattern does not end with one, or is empty, as no route answers.

    A pattern has as many segments before it as the path: both are compared
    segment by segment.
    """
    var octets = pattern.as_bytes()
    var segment_start = 0
    var segment_count = 0
    for index in range(len(octets)):
        if octets.at(index) == _SLASH:
            segment_start = index + 1
            segment_count += 1
    if segment_start >= len(octets) or octets.at(segment_start) != _STAR:
        return 0
    for index in range(len(path)):
        if path.at(index) == _SLASH:
            segment_count -= 1
            if segment_count == 0:
                return index
    return 0


def _with_slash(req: Request) -> String:
    """Writes the target with a slash after its path."""
    var target = String(req.path, "/")
    if req.query.byte_length() > 0:
        target.write("?", req.query)
    return target^


def _content(file: ArcPointer[File], range: ByteRange) raises -> Body:
    """Reads short content, which then goes with its head; anything longer is
    left to the server."""
    if range.length > READ_LEN_MAX:
        return Body(FileSource(file, range), length=range.length)
    var octets = List[UInt8](length=range.length, fill=0)
    file[].read_exactly_at(octets, range.start)
    return Body(octets^)


def _validators(chosen: _Chosen, now_ns: Int) raises -> Validators:
    # No file is newer than the response that has it (section 8.8.2.1).
    var modified_ns = min(chosen.status.modified_ns, now_ns)
    return Validators(
        file_tag(
            chosen.status.size, chosen.status.modified_ns, chosen.coding, now_ns
        ),
        max(modified_ns, 0) // _NS_A_SECOND,
        True,
    )


def file_tag(
    size: Int, modified_ns: Int, coding: ContentCoding, now_ns: Int
) raises -> EntityTag:
    """Makes the entity tag of a file, which tells its versions apart by length
    and time; a coding makes another tag.

    Two writes within a step of the kernel's clock leave one time behind. So the
    tag of a file that may still be written to without getting another time is
    weak (RFC 9110 section 8.8.1), and not the one that it has afterwards: no
    range of it is joined to another (section 13.1.5), and what was kept of it
    is fetched again once it has settled. That is so if at `now_ns`, when the
    file was asked, it was that young, or of the future.
    """
    var text = String(hex(size, prefix=""), "-")
    text.write(hex(max(modified_ns, 0), prefix=""))
    if coding != ContentCoding.IDENTITY:
        text.write("-br" if coding == ContentCoding.BR else "-gz")
    var is_coarse = modified_ns % _NS_A_SECOND == 0
    var step_ns = _COARSE_STEP_NS if is_coarse else _STEP_NS
    var is_young = now_ns - modified_ns < step_ns
    if is_young:
        text.write("-young")
    return EntityTag(text^, is_weak=is_young)


def _join(folder: StringSpan, name: StringSpan) -> String:
    if folder.byte_length() == 0:
        return String(name)
    return String(folder, "/", name)
