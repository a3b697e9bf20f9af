"""Paths that name methods."""

from flare.bytes.checked import *

# What a segment of a path has beside letters and digits (RFC 3986 section 3.3),
# without what is escaped.
comptime _MARKS = StaticString("-._~!$&'()*+,;=:@")


def is_method_path(path: Span[UInt8, _]) -> Bool:
    """Tells whether a path names a method, and goes as it stands: what reads
    URLs makes no other one of it. False for escapes and for the segments `.`
    and `..`, too.

    Source: PROTOCOL-HTTP2.md of gRPC, "Path": a slash, the service, a slash,
    the method.
    """
    var segment_count = 0
    var start = 1
    if len(path) == 0 or path.at(0) != 47:
        return False
    for index in range(1, len(path) + 1):
        if index < len(path) and path.at(index) != 47:
            if not _is_of_segment(path.at(index)):
                return False
            continue
        if _is_no_name(path.between(start, index).as_imm()):
            return False
        segment_count += 1
        start = index + 1
    return segment_count >= 2


def name_offset(path: Span[UInt8, _]) -> Int:
    """Finds where the name begins that stands behind the last slash of a path,
    or of the URL of a type; 0 if there is no slash."""
    var start = len(path)
    while start > 0 and path.at(start - 1) != 47:
        start -= 1
    return start


def _is_no_name(segment: Span[UInt8, _]) -> Bool:
    for octet in segment:
        if octet != 46:
            return False
    return len(segment) <= 2


def _is_of_segment(octet: UInt8) -> Bool:
    if octet | 32 >= 97 and octet | 32 <= 122:
        return True
    if octet >= 48 and octet <= 57:
        return True
    for mark in _MARKS.as_bytes():
        if octet == mark:
            return True
    return False
