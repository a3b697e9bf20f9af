"""Routes as lists of what is left of them, sorted while a program is built."""

from flare.http.routing.pattern import SEGMENT_STATIC, Segment


@fieldwise_init
struct Way(Copyable, Movable):
    """What is left of a route behind the first segments of a path."""

    var segments: List[Segment]
    """The segments that are left."""
    var method: UInt8
    """A method's number, or `ANY_METHOD`."""
    var route: Int
    """The route's number."""

    def text(self) -> String:
        """Gives the next segment's text.

        Returns:
            The text; there must be a segment.
        """
        return self.segments[0].text


def ended(ways: List[Way]) -> List[Way]:
    """Selects those that end here.

    Args:
        ways: The ways.

    Returns:
        Those without a segment left.
    """
    return [way.copy() for way in ways if len(way.segments) == 0]


def of_kind(ways: List[Way], kind: UInt8) -> List[Way]:
    """Selects those whose next segment is of a kind.

    Args:
        ways: The ways.
        kind: One of the `SEGMENT_` constants.

    Returns:
        They; those that end here are not among them.
    """
    var selected = List[Way]()
    for way in ways:
        if len(way.segments) > 0 and way.segments[0].kind == kind:
            selected.append(way.copy())
    return selected^


def behind(ways: List[Way]) -> List[Way]:
    """Goes one segment on.

    Args:
        ways: The ways; none ends here.

    Returns:
        They, without their next segment.
    """
    var shorter = List[Way]()
    for way in ways:
        var segments = List[Segment]()
        for index in range(1, len(way.segments)):
            segments.append(way.segments[index].copy())
        shorter.append(Way(segments^, way.method, way.route))
    return shorter^


def text_lengths(ways: List[Way]) -> List[Int]:
    """Lists how long their next segments are, each length once.

    Args:
        ways: The ways; a text is next on each.

    Returns:
        Lengths in bytes.
    """
    var lengths = List[Int]()
    for way in ways:
        var length = way.segments[0].text.byte_length()
        if length not in lengths:
            lengths.append(length)
    return lengths^


def of_text_length(ways: List[Way], length: Int) -> List[Way]:
    """Selects those whose next segment is so long.

    Args:
        ways: The ways; a text is next on each.
        length: In bytes.

    Returns:
        They.
    """
    var selected = List[Way]()
    for way in ways:
        if way.segments[0].text.byte_length() == length:
            selected.append(way.copy())
    return selected^


def telling_offset(ways: List[Way]) -> Int:
    """Finds where their next segments differ most.

    Args:
        ways: At least one; a text of the same length is next on each.

    Returns:
        The offset in bytes at which the texts have the most different octets;
        -1 if all are the same text.
    """
    var best = -1
    var best_count = 1
    for offset in range(ways[0].segments[0].text.byte_length()):
        var count = len(octets_at(ways, offset))
        if count > best_count:
            best = offset
            best_count = count
    return best


def octets_at(ways: List[Way], offset: Int) -> List[UInt8]:
    """Lists the octets of their next segments at an offset, each once.

    Args:
        ways: The ways; a longer text is next on each.
        offset: In bytes.

    Returns:
        The octets.
    """
    var octets = List[UInt8]()
    for way in ways:
        var octet = way.segments[0].text.as_bytes()[offset]
        if octet not in octets:
            octets.append(octet)
    return octets^


def with_octet(ways: List[Way], offset: Int, octet: UInt8) -> List[Way]:
    """Selects those whose next segment has an octet at an offset.

    Args:
        ways: The ways; a longer text is next on each.
        offset: In bytes.
        octet: The octet.

    Returns:
        They.
    """
    var selected = List[Way]()
    for way in ways:
        if way.segments[0].text.as_bytes()[offset] == octet:
            selected.append(way.copy())
    return selected^
