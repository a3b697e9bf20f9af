"""Entity tags, which tell versions of a representation apart."""

from flare.bytes.ascii import trim_whitespace, write_escaped

comptime _QUOTE: UInt8 = 34
comptime _COMMA: UInt8 = 44


struct EntityTagError(Copyable, Movable, Writable):
    """A text is no entity tag."""

    var text: String
    """The text."""
    var offset: Int
    """Where it goes wrong, in bytes; its length if the end came too early."""

    def __init__(out self, octets: Span[UInt8, _], offset: Int):
        """Describes a refused text.

        Args:
            octets: The text.
            offset: Where it goes wrong, in bytes.
        """
        self.text = String(unsafe_from_utf8=octets)
        self.offset = offset

    def write_to(self, mut writer: Some[Writer]):
        """Writes the message, with the text escaped.

        Args:
            writer: Where to.
        """
        writer.write("entity tag '")
        write_escaped(self.text.as_bytes(), writer)
        writer.write("': wrong at byte ", self.offset)
        writer.write('; write "..." or W/"..." with visible octets other than')
        writer.write(" quotes between (RFC 9110 section 8.8.3)")


struct EntityTag(Copyable, Equatable, Movable, Writable):
    """An entity tag (RFC 9110 section 8.8.3); prints as it is sent."""

    var opaque: String
    """What stands between the quotes."""
    var is_weak: Bool
    """Whether it says no more than that the meaning is the same."""

    def __init__(
        out self, var opaque: String, *, is_weak: Bool = False
    ) raises EntityTagError:
        """Makes an entity tag.

        Args:
            opaque: What is to stand between the quotes, which are added.
            is_weak: Whether octets may differ between two versions.

        Raises:
            EntityTagError: If it holds a quote, a space or a control octet.
        """
        var octets = opaque.as_bytes()
        for index in range(len(octets)):
            if not _is_etagc(octets[index]):
                raise EntityTagError(octets, index)
        self.opaque = opaque^
        self.is_weak = is_weak

    @staticmethod
    def parse(octets: Span[UInt8, _]) raises EntityTagError -> Self:
        """Reads an entity tag, as ETag has it.

        Args:
            octets: The field's value, without whitespace around it.

        Returns:
            The tag.

        Raises:
            EntityTagError: If the text is no entity tag, or more than one.
        """
        var cut = scan_entity_tag(octets, 0)
        if cut.end < 0:
            raise EntityTagError(octets, -1 - cut.end)
        if cut.end != len(octets):
            raise EntityTagError(octets, cut.end)
        var opaque = octets[cut.opaque_start : cut.end - 1]
        return Self(
            String(unsafe_from_utf8=opaque), is_weak=cut.opaque_start == 3
        )

    def matches_strongly(self, other: Self) -> Bool:
        """Compares two tags (RFC 9110 section 8.8.3.2).

        Args:
            other: A tag.

        Returns:
            True if both are strong and the same.
        """
        return not self.is_weak and self == other

    def matches_weakly(self, other: Self) -> Bool:
        """Compares two tags (RFC 9110 section 8.8.3.2).

        Args:
            other: A tag.

        Returns:
            True if they are the same, weak or not.
        """
        return self.opaque == other.opaque

    def write_to(self, mut writer: Some[Writer]):
        """Writes the tag with its quotes.

        Args:
            writer: Where to.
        """
        if self.is_weak:
            writer.write("W/")
        writer.write('"', self.opaque, '"')


@fieldwise_init
struct EntityTagCut(TrivialRegisterPassable):
    """Where an entity tag stands in a text."""

    var opaque_start: Int
    """The first octet behind the opening quote."""
    var end: Int
    """Behind the closing quote; below 0 if there is no tag, and then -1 less
    where it goes wrong."""


def scan_entity_tag(octets: Span[UInt8, _], start: Int) -> EntityTagCut:
    """Finds the entity tag that begins at an offset.

    Args:
        octets: The text.
        start: Where the tag has to begin, at most the length.

    Returns:
        Its place.
    """
    var index = start
    if index + 1 < len(octets) and octets[index] == 87:
        if octets[index + 1] != 47:
            return EntityTagCut(start, -2 - index)
        index += 2
    if index >= len(octets) or octets[index] != _QUOTE:
        return EntityTagCut(start, -1 - index)
    index += 1
    var opaque_start = index
    while index < len(octets) and _is_etagc(octets[index]):
        index += 1
    if index >= len(octets) or octets[index] != _QUOTE:
        return EntityTagCut(start, -1 - index)
    return EntityTagCut(opaque_start, index + 1)


struct TagListMatch(Equatable, ImplicitlyCopyable):
    """What a list of entity tags says of one."""

    var code: UInt8
    """The case."""

    comptime NONE = TagListMatch(0)
    """No tag of the list is the one."""
    comptime SOME = TagListMatch(1)
    """A tag of the list is the one."""
    comptime ANY = TagListMatch(2)
    """The list is `*`."""
    comptime MALFORMED = TagListMatch(3)
    """This is no list of entity tags."""

    @always_inline
    def __init__(out self, code: UInt8):
        """Makes a case.

        Args:
            code: The case.
        """
        self.code = code

    @always_inline
    def __eq__(self, other: Self) -> Bool:
        """Compares two cases.

        Args:
            other: A case.

        Returns:
            True if they are the same.
        """
        return self.code == other.code


def match_tag_list(
    value: Span[UInt8, _], tag: Optional[EntityTag], *, is_strong: Bool
) -> TagListMatch:
    """Looks for a tag in a field such as If-Match or If-None-Match.

    Source: RFC 9110 sections 13.1.1 and 13.1.2; empty elements are skipped
    (section 5.6.1.2).

    Args:
        value: The field's value.
        tag: What the current representation has, if it has one.
        is_strong: True for the strong comparison.

    Returns:
        What was found. A list that goes wrong anywhere matches nowhere.
    """
    var octets = trim_whitespace(value.as_imm())
    if len(octets) == 1 and octets[0] == 42:
        return TagListMatch.ANY
    var found = TagListMatch.NONE
    var count = 0
    var index = 0
    while True:
        while index < len(octets) and _is_gap(octets[index]):
            index += 1
        if index == len(octets):
            return found if count > 0 else TagListMatch.MALFORMED
        var cut = scan_entity_tag(octets, index)
        if cut.end < 0:
            return TagListMatch.MALFORMED
        count += 1
        var is_weak = octets[index] == 87
        if tag and not (is_strong and (is_weak or tag.value().is_weak)):
            var opaque = octets[cut.opaque_start : cut.end - 1]
            if tag.value().opaque.as_bytes() == opaque:
                found = TagListMatch.SOME
        index = cut.end
        while index < len(octets) and _is_space(octets[index]):
            index += 1
        if index < len(octets) and octets[index] != _COMMA:
            return TagListMatch.MALFORMED


def _is_etagc(octet: UInt8) -> Bool:
    return octet >= 33 and octet != _QUOTE and octet != 127


def _is_space(octet: UInt8) -> Bool:
    return octet == 32 or octet == 9


def _is_gap(octet: UInt8) -> Bool:
    return _is_space(octet) or octet == _COMMA
