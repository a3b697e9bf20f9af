"""Paths of files that may be served, and their media types."""

from flare.bytes.ascii import equals_ignore_case
from flare.bytes.checked import *
from flare.url.percent import PERCENT, hex_pair_value
from std.builtin.globals import global_constant

comptime FILE_NAME_LEN_MAX = 255
"""Longest name of a file in bytes, as all common file systems have it."""

comptime _SLASH: UInt8 = 47
comptime _DOT: UInt8 = 46


@fieldwise_init
struct FilePath(Copyable, Movable):
    """A path below some folder, which it cannot leave."""

    var path: String
    """Names parted by single slashes, decoded, without one at either end;
    empty for the folder itself."""
    var is_folder: Bool
    """True if the request's path ended with a slash."""

    @staticmethod
    def parse(
        encoded: Span[UInt8, _], *, serves_hidden: Bool = False
    ) -> Optional[Self]:
        """Reads the path of a request target, with its slash in front; nothing
        if the answer is 404.

        A path is taken only if no reader could see another file in it: names
        are decoded once, and refused if they are empty, `.` or `..`, longer
        than `FILE_NAME_LEN_MAX`, no UTF-8, or have a slash, a backslash or a
        control octet in them, as they stand or encoded (RFC 3986 section 3.3).
        Unless `serves_hidden`, so are names that begin with a dot, which are of
        no business to strangers, but for `.well-known` (RFC 8615).
        """
        if len(encoded) == 0 or encoded.at(0) != _SLASH:
            return None
        if len(encoded) == 1:
            return Self(String(), True)
        # The last name may be empty, the ones before may not.
        var is_folder = encoded.at(len(encoded) - 1) == _SLASH
        var end = len(encoded) - Int(is_folder)
        var decoded = List[UInt8](capacity=end)
        var index = 1
        while index < end:
            var octet = encoded.at(index)
            index += 1
            if octet == PERCENT:
                var value = hex_pair_value(encoded, index - 1)
                # An encoded slash parts no names.
                if value < 0 or value == Int(_SLASH):
                    return None
                octet = UInt8(value)
                index += 2
            decoded.append(octet)
        try:
            var path = String(from_utf8=decoded)
            if is_file_path(path, serves_hidden=serves_hidden):
                return Self(path^, is_folder)
        except:
            pass
        return None


def is_file_path(path: StringSpan, *, serves_hidden: Bool) -> Bool:
    """Tells whether a text of the program is the path of a file as `FilePath`
    has it: names parted by single slashes, of which none leads out of the
    folder. Hidden ones are names if `serves_hidden`."""
    var octets = path.as_bytes()
    var name_start = 0
    for index in range(len(octets) + 1):
        if index == len(octets) or octets.at(index) == _SLASH:
            if not _is_name(octets.between(name_start, index), serves_hidden):
                return False
            name_start = index + 1
        elif (
            octets.at(index) < 32
            or octets.at(index) == 127
            or octets.at(index) == 92
        ):
            return False
    return True


def _is_name(name: Span[UInt8, _], serves_hidden: Bool) -> Bool:
    if len(name) == 0 or len(name) > FILE_NAME_LEN_MAX:
        return False
    if name.at(0) != _DOT:
        return True
    if len(name) == 1 or (len(name) == 2 and name.at(1) == _DOT):
        return False
    return serves_hidden or name == ".well-known".as_bytes()


comptime UNKNOWN_FILE_TYPE = StaticString("application/octet-stream")
"""Media type of a file of no known kind, which browsers save, not show."""

# An extension and its media type in turn, from the IANA registry; text is said
# to be UTF-8, which nearly all of it is.
comptime _TYPES: Array[StaticString, 134] = [
    "html",
    "text/html; charset=utf-8",
    "htm",
    "text/html; charset=utf-8",
    "css",
    "text/css; charset=utf-8",
    "js",
    "text/javascript; charset=utf-8",
    "mjs",
    "text/javascript; charset=utf-8",
    "json",
    "application/json",
    "map",
    "application/json",
    "txt",
    "text/plain; charset=utf-8",
    "log",
    "text/plain; charset=utf-8",
    "md",
    "text/markdown; charset=utf-8",
    "csv",
    "text/csv; charset=utf-8",
    "xml",
    "application/xml",
    "svg",
    "image/svg+xml",
    "png",
    "image/png",
    "jpg",
    "image/jpeg",
    "jpeg",
    "image/jpeg",
    "gif",
    "image/gif",
    "webp",
    "image/webp",
    "avif",
    "image/avif",
    "ico",
    "image/x-icon",
    "bmp",
    "image/bmp",
    "tif",
    "image/tiff",
    "tiff",
    "image/tiff",
    "woff",
    "font/woff",
    "woff2",
    "font/woff2",
    "ttf",
    "font/ttf",
    "otf",
    "font/otf",
    "mp3",
    "audio/mpeg",
    "ogg",
    "audio/ogg",
    "oga",
    "audio/ogg",
    "opus",
    "audio/ogg",
    "wav",
    "audio/wav",
    "flac",
    "audio/flac",
    "m4a",
    "audio/mp4",
    "weba",
    "audio/webm",
    "mp4",
    "video/mp4",
    "m4v",
    "video/mp4",
    "webm",
    "video/webm",
    "ogv",
    "video/ogg",
    "mov",
    "video/quicktime",
    "pdf",
    "application/pdf",
    "wasm",
    "application/wasm",
    "webmanifest",
    "application/manifest+json",
    "jsonld",
    "application/ld+json",
    "rss",
    "application/rss+xml",
    "atom",
    "application/atom+xml",
    "zip",
    "application/zip",
    "gz",
    "application/gzip",
    "tar",
    "application/x-tar",
    "bz2",
    "application/x-bzip2",
    "xz",
    "application/x-xz",
    "zst",
    "application/zstd",
    "7z",
    "application/x-7z-compressed",
    "epub",
    "application/epub+zip",
    "rtf",
    "application/rtf",
    "vtt",
    "text/vtt; charset=utf-8",
    "ics",
    "text/calendar; charset=utf-8",
    "yaml",
    "application/yaml",
    "yml",
    "application/yaml",
    "toml",
    "application/toml",
    "xhtml",
    "application/xhtml+xml",
    "doc",
    "application/msword",
    "docx",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xlsx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "pptx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "odt",
    "application/vnd.oasis.opendocument.text",
    "ods",
    "application/vnd.oasis.opendocument.spreadsheet",
]


def file_type(name: StringSpan) -> StaticString:
    """Looks up the media type of a file by the extension, in any case;
    `UNKNOWN_FILE_TYPE` if that says nothing."""
    var octets = name.as_bytes()
    var start = len(octets)
    while start > 0 and octets.at(start - 1) != 46:
        if octets.at(start - 1) == 47:
            return UNKNOWN_FILE_TYPE
        start -= 1
    if start == 0:
        return UNKNOWN_FILE_TYPE
    ref types = global_constant[_TYPES]()
    for index in range(0, len(types), 2):
        if equals_ignore_case(octets.after(start), types.at(index).as_bytes()):
            return types.at(index + 1)
    return UNKNOWN_FILE_TYPE
