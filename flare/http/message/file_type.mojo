"""Media types of files, by the ends of their names."""

from flare.bytes.ascii import equals_ignore_case
from std.builtin.globals import global_constant

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
    """Looks up the media type of a file.

    Args:
        name: Its name or path.

    Returns:
        The media type by the extension, in any case; `UNKNOWN_FILE_TYPE` if
        that says nothing.
    """
    var octets = name.as_bytes()
    var start = len(octets)
    while start > 0 and octets[start - 1] != 46:
        if octets[start - 1] == 47:
            return UNKNOWN_FILE_TYPE
        start -= 1
    if start == 0:
        return UNKNOWN_FILE_TYPE
    ref types = global_constant[_TYPES]()
    for index in range(0, len(types), 2):
        if equals_ignore_case(octets[start:], types[index].as_bytes()):
            return types[index + 1]
    return UNKNOWN_FILE_TYPE
