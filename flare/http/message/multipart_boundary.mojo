"""The lines between the parts of a form with files."""

from flare.http.message.media_type import MediaType, MediaTypeError
from flare.http.message.multipart_error import MultipartError

comptime BOUNDARY_LEN_MAX = 70
"""Longest boundary in bytes (RFC 2046 section 5.1.1)."""

comptime PADDING_LEN_MAX = 64
"""Most spaces and tabs taken between a boundary and its line's end.

RFC 2046 section 5.1.1 sets no limit; nobody writes any.
"""

comptime NO_MATCH = -1
"""Stands for the length of a delimiter line that is none."""
comptime NEEDS_MORE = 0
"""Stands for the length of one that cannot be told from data yet."""

comptime _CR: UInt8 = 13
comptime _LF: UInt8 = 10
comptime _DASH: UInt8 = 45


def multipart_boundary(
    content_type: StringSpan,
) raises MultipartError -> String:
    """Finds the boundary in a Content-Type field.

    Args:
        content_type: The field's value.

    Returns:
        The boundary.

    Raises:
        MultipartError: If the media type is not multipart/form-data, or has no
            boundary of 1 to 70 octets (RFC 2046 section 5.1.1).
    """
    var media_type: MediaType
    try:
        media_type = MediaType.parse(content_type)
    except error:
        raise MultipartError(_WANTS_FORM, 0, False)
    if media_type.essence != "multipart/form-data":
        raise MultipartError(_WANTS_FORM, 0, False)
    var boundary = media_type.parameter("boundary")
    if not boundary:
        raise MultipartError(_WANTS_BOUNDARY, 0, False)
    var length = boundary.value().byte_length()
    if length < 1 or length > BOUNDARY_LEN_MAX:
        raise MultipartError(_WANTS_BOUNDARY, 0, False)
    return boundary.value()


comptime _WANTS_FORM = StaticString(
    "the Content-Type must be multipart/form-data (RFC 7578 section 4.1)"
)
comptime _WANTS_BOUNDARY = StaticString(
    "the Content-Type needs a boundary of 1 to 70 octets (RFC 2046 section"
    " 5.1.1)"
)


@fieldwise_init
struct DelimiterMatch(TrivialRegisterPassable):
    """Whether a delimiter line stands somewhere."""

    var length: Int
    """How long it is, in bytes; or `NO_MATCH`, or `NEEDS_MORE`."""
    var is_last: Bool
    """True if it is the last one, with two dashes behind the boundary."""


def match_delimiter(
    octets: Span[UInt8, _], delimiter: Span[UInt8, _]
) -> DelimiterMatch:
    """Compares octets with a delimiter line (RFC 2046 section 5.1.1).

    Args:
        octets: What has come so far of a text.
        delimiter: CRLF, two dashes and the boundary; without the CRLF at the
            start of a body.

    Returns:
        Whether the line stands at their start. Behind the last boundary the
        rest of the line does not count.
    """
    var common = min(len(octets), len(delimiter))
    if octets[:common] != delimiter[:common]:
        return DelimiterMatch(NO_MATCH, False)
    var index = common
    if index + 1 < len(octets) and octets[index] == _DASH:
        if octets[index + 1] == _DASH:
            return DelimiterMatch(index + 2, True)
        return DelimiterMatch(NO_MATCH, False)
    while index < len(octets) and (octets[index] == 32 or octets[index] == 9):
        index += 1
    if index - common > PADDING_LEN_MAX:
        return DelimiterMatch(NO_MATCH, False)
    # A dash behind the boundary may be the first of two.
    if index == len(octets) or (
        index + 1 == len(octets)
        and (
            octets[index] == _CR or (octets[index] == _DASH and index == common)
        )
    ):
        return DelimiterMatch(NEEDS_MORE, False)
    if octets[index] == _CR and octets[index + 1] == _LF:
        return DelimiterMatch(index + 2, False)
    return DelimiterMatch(NO_MATCH, False)
