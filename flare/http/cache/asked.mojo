"""Which requests a cache has to do with, and under which key."""

from flare.http.cache.core.key import cache_key
from flare.http.message.method import Method
from flare.http.message.request import Request


def is_readable(req: Request) -> Bool:
    """Tells whether a request may be answered with what is kept: GET and HEAD
    without content, unless they ask for another protocol or have conditions
    that are for the origin alone."""
    if req.method != Method.GET and req.method != Method.HEAD:
        return False
    if len(req.body) > 0:
        return False
    comptime for index in range(len(_UNREADABLE)):
        comptime NAME = _UNREADABLE[index]
        if req.headers.find(NAME) >= 0:
            return False
    return True


comptime _UNREADABLE: Array[StaticString, 6] = [
    "content-length",
    "transfer-encoding",
    "upgrade",
    "expect",
    "if-match",
    "if-unmodified-since",
]


def request_key(req: Request) -> String:
    var target = req.url
    if not target.startswith("/"):
        # The absolute form: its authority is what `host` gives.
        var path = String(req.path)
        if req.query.byte_length() > 0:
            path += "?"
            path += req.query
        return cache_key(req.scheme(), req.host(), path)
    return cache_key(req.scheme(), req.host(), target)


def may_change(method: Method) -> Bool:
    """Tells whether a method is not known to be safe (RFC 9110 section 9.2.1),
    so that what is kept of its target may be right no longer (RFC 9111 section
    4.4). What CONNECT has as a target is nothing that could be kept."""
    return (
        method != Method.GET
        and method != Method.HEAD
        and method != Method.OPTIONS
        and method != Method.TRACE
        and method != Method.CONNECT
    )
