"""Reaches files, uploads and what is signed; see `everything.mojo`."""

from flare.http import (
    ByterangesLayout,
    FileServer,
    FileServerConfig,
    FormUpload,
    MultipartLimits,
    OwnedRequest,
    RangeSet,
    Session,
    SessionConfig,
    SigningKeys,
    has_csrf_token,
    issue_csrf_token,
)


def files() raises:
    """Reaches the file server, ranges and uploads."""
    var config = FileServerConfig(lists_folders=True, cache_ms=500)
    var server = FileServer(".", config^)
    var request = OwnedRequest("GET", "/")
    print(server.serve(request.view()).reason())
    var set = RangeSet.parse("bytes=0-1".as_bytes(), 2)
    var random = Array[UInt8, 16](fill=0)
    var layout = ByterangesLayout(set.ranges.copy(), 2, "a/b", random)
    print(layout.content_length())
    var upload = FormUpload(
        "multipart/form-data; boundary=b", MultipartLimits(99)
    )
    upload.receive("--b--".as_bytes())
    upload.finish()
    print(len(upload.parts))


def signed() raises:
    """Reaches sessions and tokens."""
    var keys = SigningKeys("0123456789abcdef0123456789abcdef")
    var request = OwnedRequest("GET", "/")
    var config = SessionConfig()
    var session = Session.read(request.view().headers, keys, config, 1)
    session.set("a", "b")
    print(session.cookie(keys, config, 1))
    var random = Array[UInt8, 16](fill=0)
    var token = issue_csrf_token(keys, "a", random)
    print(has_csrf_token(keys, "a", token.as_bytes()))
