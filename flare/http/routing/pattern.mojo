"""The pattern of a route, such as `/users/:id/files/*path`."""

from flare.http.message.request import PATH_PARAM_COUNT_MAX


@fieldwise_init
struct RouteError(Copyable, Movable, Writable):
    """A route cannot be registered."""

    var reason: String
    """Which pattern, and what is wrong with it."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes the reason.

        Args:
            writer: Where to.
        """
        writer.write("route: ", self.reason)


comptime SEGMENT_STATIC: UInt8 = 0
"""Matches one segment with the same text."""
comptime SEGMENT_PARAM: UInt8 = 1
"""Matches any one segment that is not empty: `:name`."""
comptime SEGMENT_REST: UInt8 = 2
"""Matches what is left, slashes included: `*name`."""


@fieldwise_init
struct Segment(Copyable, Movable):
    """One part of a pattern between slashes."""

    var kind: UInt8
    """One of the `SEGMENT_` constants."""
    var text: String
    """The text to match, or the parameter's name."""


def parse_pattern(pattern: StringSpan) raises RouteError -> List[Segment]:
    """Reads a pattern.

    Args:
        pattern: Begins with `/`; text is compared with decoded paths, so it
            is written without percent-encoding.

    Returns:
        Its segments; a slash at the end gives an empty one.

    Raises:
        RouteError: If the pattern is malformed or has more than
            `PATH_PARAM_COUNT_MAX` parameters; it says how.
    """
    var octets = pattern.as_bytes()
    if len(octets) == 0 or octets[0] != 47:
        raise _error(pattern, "a pattern begins with '/'")
    for octet in octets:
        if octet < 32 or octet == 127 or octet == 35 or octet == 63:
            raise _error(
                pattern, "a pattern holds no '?', '#' or control octet"
            )
        if octet == 37:
            raise _error(
                pattern, "a pattern is not percent-encoded: write the text"
            )
    var segments = List[Segment]()
    for part in pattern[byte=1:].split("/"):
        if len(segments) > 0:
            ref last = segments[len(segments) - 1]
            if last.kind == SEGMENT_REST:
                raise _error(pattern, "nothing may follow '*name'")
        segments.append(_parse_segment(pattern, part, segments))
    if _param_count(segments) > PATH_PARAM_COUNT_MAX:
        raise _error(
            pattern,
            String("at most ", PATH_PARAM_COUNT_MAX, " parameters are allowed"),
        )
    return segments^


def param_names(pattern: StringSpan) raises RouteError -> List[String]:
    """Lists the names of a pattern's parameters.

    Args:
        pattern: As for `parse_pattern`.

    Returns:
        The names, in order.

    Raises:
        RouteError: As `parse_pattern` does.
    """
    var names = List[String]()
    for segment in parse_pattern(pattern):
        if segment.kind != SEGMENT_STATIC:
            names.append(segment.text)
    return names^


def _param_count(segments: List[Segment]) -> Int:
    var count = 0
    for segment in segments:
        count += Int(segment.kind != SEGMENT_STATIC)
    return count


def _parse_segment(
    pattern: StringSpan, part: StringSpan, before: List[Segment]
) raises RouteError -> Segment:
    var octets = part.as_bytes()
    if len(octets) == 0:
        return Segment(SEGMENT_STATIC, String())
    var kind: UInt8
    if octets[0] == 58:
        kind = SEGMENT_PARAM
    elif octets[0] == 42:
        kind = SEGMENT_REST
    else:
        for octet in octets:
            if octet == 58 or octet == 42:
                raise _error(
                    pattern,
                    "':' and '*' stand at the start of a segment only",
                )
        return Segment(SEGMENT_STATIC, String(part))
    var name = String(part[byte=1:])
    if not _is_name(name):
        raise _error(
            pattern, "a name is letters, digits and '_', no digit first"
        )
    for segment in before:
        if segment.kind != SEGMENT_STATIC and segment.text == name:
            raise _error(pattern, "a name stands once in a pattern")
    return Segment(kind, name^)


def _is_name(name: StringSpan) -> Bool:
    var octets = name.as_bytes()
    if len(octets) == 0 or (octets[0] >= 48 and octets[0] <= 57):
        return False
    for octet in octets:
        var folded = octet | 0x20
        var is_letter = folded >= 97 and folded <= 122
        var is_digit = octet >= 48 and octet <= 57
        if not is_letter and not is_digit and octet != 95:
            return False
    return True


def _error(pattern: StringSpan, reason: StringSpan) -> RouteError:
    return RouteError(String("'", pattern, "': ", reason))


def conflict_error(pattern: StringSpan, standing: StringSpan) -> RouteError:
    """Makes the error for a route that conflicts with another.

    Args:
        pattern: Its pattern.
        standing: The other's, which stands already.

    Returns:
        The error, naming both.
    """
    return RouteError(
        String(
            "'",
            pattern,
            "' matches the same paths as '",
            standing,
            "', which is registered for the same method",
        )
    )


def check_prefix(prefix: StringSpan) raises RouteError:
    """Checks a prefix that routes are mounted below.

    Args:
        prefix: Begins with `/` and does not end with it.

    Raises:
        RouteError: If it is malformed.
    """
    if prefix.byte_length() < 2 or prefix.endswith("/"):
        raise RouteError(String("mount '", prefix, "': write it as '/prefix'"))


def mounted_pattern(prefix: StringSpan, pattern: StringSpan) -> String:
    """Puts a pattern below a prefix.

    Args:
        prefix: The prefix.
        pattern: The pattern; `/` answers the prefix itself.

    Returns:
        The whole pattern.
    """
    if pattern == "/":
        return String(prefix)
    return String(prefix, pattern)
