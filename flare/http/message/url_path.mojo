"""The path of a URL: segments between slashes, dots resolved."""

from flare.bytes.ascii import ascii_lower
from flare.http.message.percent import PATH_SET, percent_encode
from flare.http.message.url_parts import UrlRecord

comptime _SLASH: UInt8 = 47
comptime _BACKSLASH: UInt8 = 92
comptime _DOT: UInt8 = 46


def parse_path(
    text: Span[UInt8, _], start: Int, mut url: UrlRecord, path_start: Int = -1
) -> Int:
    """Appends segments to a URL and resolves `.` and `..` among them.

    Source: URL Standard section 4.4 (path state).

    Args:
        text: The whole URL.
        start: Where the first segment starts, behind its slash.
        url: What has been read so far; it ends with the authority, or with
            the part of the base's path that stays.
        path_start: Where that part starts in `url`; -1 if there is none.

    Returns:
        The offset of the `?` or `#` that ends the path, or of the end.
    """
    var is_special = url.is_special()
    url.parts.path.start = len(url.octets) if path_start < 0 else path_start
    var position = start
    while True:
        var end = position
        while end < len(text) and not _ends_segment(text[end], is_special):
            end += 1
        var is_last = end == len(text) or (
            text[end] != _SLASH and text[end] != _BACKSLASH
        )
        var dot_count = _dot_count(text[position:end])
        if dot_count == 2:
            _drop_segment(url)
        if dot_count == 0 or is_last:
            url.octets.append(_SLASH)
        if dot_count == 0:
            percent_encode[PATH_SET](text[position:end], url.octets)
        position = end + 1
        if is_last:
            url.parts.path.end = len(url.octets)
            _part_from_scheme(url)
            return end


def _ends_segment(octet: UInt8, is_special: Bool) -> Bool:
    if octet == _BACKSLASH:
        return is_special
    return octet == _SLASH or octet == 63 or octet == 35


def _dot_count(segment: Span[UInt8, _]) -> Int:
    """Counts the dots of `.` and `..`, encoded or not; 0 for other segments."""
    var count = 0
    var index = 0
    while index < len(segment):
        if count == 2:
            return 0
        if segment[index] == _DOT:
            index += 1
        elif (
            index + 2 < len(segment)
            and segment[index] == 37
            and segment[index + 1] == 50
            and ascii_lower(segment[index + 2]) == 101
        ):
            index += 3
        else:
            return 0
        count += 1
    return count


def _drop_segment(mut url: UrlRecord):
    """Takes the last segment and its slash off."""
    var end = len(url.octets)
    while end > url.parts.path.start:
        end -= 1
        if url.octets[end] == _SLASH:
            break
    url.octets.shrink(end)


def _part_from_scheme(mut url: UrlRecord):
    """Puts `/.` before a path that would else read as an authority.

    Source: URL Standard section 4.5 (URL serializer).
    """
    var start = url.parts.path.start
    if url.parts.has_authority() or url.parts.path.end - start < 2:
        return
    if url.octets[start] != _SLASH or url.octets[start + 1] != _SLASH:
        return
    url.octets.insert(start, _DOT)
    url.octets.insert(start, _SLASH)
    url.parts.path.start += 2
    url.parts.path.end += 2
