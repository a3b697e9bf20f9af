"""Conditional requests (RFC 9110 section 13): validators, entity tags, preconditions."""

from flare.bytes.ascii import (
    is_whitespace,
    skip_whitespace,
    trim_whitespace,
    write_escaped,
)
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.copy import text_of
from flare.http.message.date import append_imf_fixdate, parse_http_date
from flare.http.message.fields import Fields
from flare.http.message.header_map import HeaderError, HeaderMap
from flare.http.message.method import Method


@fieldwise_init
struct Validators(Copyable, Defaultable, Movable):
    """What tells the current representation from others (RFC 9110 section 8.8)."""

    var entity_tag: Optional[EntityTag]
    """Its entity tag, if it has one."""
    var modified_s: Optional[Int]
    """When it was last changed, in seconds since 1970-01-01 00:00:00 UTC, if
    that is known."""
    var exists: Bool
    """False if the target has no representation now; what `*` asks for."""

    def __init__(out self):
        """Stands for a target that has no representation now."""
        self.entity_tag = None
        self.modified_s = None
        self.exists = False

    def describe(self, mut headers: HeaderMap) raises HeaderError:
        """Sets ETag and Last-Modified, as far as they are known.

        Args:
            headers: The header fields of a response.

        Raises:
            HeaderError: Never.
        """
        if self.entity_tag:
            headers.set("ETag", String(self.entity_tag.value()))
        if self.modified_s:
            var date = Buffer(32)
            append_imf_fixdate(date, self.modified_s.value())
            headers.set(
                "Last-Modified", StringSpan(unsafe_from_utf8=date.span())
            )


@fieldwise_init
struct Precondition(Equatable, ImplicitlyCopyable):
    """What the conditions of a request come to."""

    var code: UInt8
    """The case."""

    comptime PROCEED = Precondition(0)
    """Do what the method asks for."""
    comptime NOT_MODIFIED = Precondition(1)
    """Answer 304 (RFC 9110 section 15.4.5): the client has it."""
    comptime FAILED = Precondition(2)
    """Answer 412 (RFC 9110 section 15.5.13), and change nothing."""


def evaluate_preconditions(
    method: Method, fields: Fields, validators: Validators, now_s: Int
) -> Precondition:
    """Evaluates all conditions but If-Range, in RFC 9110 section 13.2.2 order.

    To be asked when the answer without conditions would be 2xx: others are
    given as they are (section 13.2.1).

    Args:
        method: The request's method.
        fields: The request's header fields.
        validators: What the target has now.
        now_s: The time, in seconds since 1970-01-01 00:00:00 UTC.

    Returns:
        What they come to.
    """
    # Section 13.2.1: these select no representation.
    if (
        method == Method.CONNECT
        or method == Method.OPTIONS
        or method == Method.TRACE
    ):
        return Precondition.PROCEED
    if "if-match" in fields:
        if not _if_match(fields, validators):
            return Precondition.FAILED
    elif not _if_unmodified_since(fields, validators, now_s):
        return Precondition.FAILED
    var is_reading = method == Method.GET or method == Method.HEAD
    if "if-none-match" in fields:
        if not _if_none_match(fields, validators):
            if is_reading:
                return Precondition.NOT_MODIFIED
            return Precondition.FAILED
    elif is_reading and not _if_modified_since(fields, validators, now_s):
        return Precondition.NOT_MODIFIED
    return Precondition.PROCEED


def range_applies(fields: Fields, validators: Validators, now_s: Int) -> Bool:
    """Evaluates If-Range (RFC 9110 section 13.1.5).

    Args:
        fields: The request's header fields.
        validators: What the target has now.
        now_s: The time, in seconds since 1970-01-01 00:00:00 UTC.

    Returns:
        True if Range counts: there is no If-Range, or it names the current
        representation without doubt.
    """
    var index = fields.find("if-range")
    if index < 0:
        return True
    if fields.find("if-range", index + 1) >= 0:
        return False
    var value = fields.value_bytes(index)
    var cut = scan_entity_tag(value, 0)
    if cut.end >= 0:
        if cut.end != len(value):
            return False
        var found = match_tag_list(value, validators.entity_tag, is_strong=True)
        return found == TagListMatch.SOME
    var date = parse_http_date(value, now_s)
    if not date or not validators.modified_s:
        return False
    # Section 8.8.2.2: within the second of a change there may be another one.
    var modified_s = validators.modified_s.value()
    return date.value() == modified_s and modified_s < now_s


def _if_match(fields: Fields, validators: Validators) -> Bool:
    """RFC 9110 section 13.1.1."""
    var found = _match_lines(
        fields, "if-match", validators.entity_tag, is_strong=True
    )
    if found == TagListMatch.ANY:
        return validators.exists
    return validators.exists and found == TagListMatch.SOME


def _if_none_match(fields: Fields, validators: Validators) -> Bool:
    """RFC 9110 section 13.1.2. A list that is none excludes nothing."""
    var found = _match_lines(
        fields, "if-none-match", validators.entity_tag, is_strong=False
    )
    if found == TagListMatch.ANY:
        return not validators.exists
    return not validators.exists or found != TagListMatch.SOME


def _match_lines(
    fields: Fields,
    name: StaticString,
    tag: Optional[EntityTag],
    *,
    is_strong: Bool,
) -> TagListMatch:
    """Looks at all lines of a field as at one list (RFC 9110 section 5.3)."""
    var found = TagListMatch.NONE
    var count = 0
    var index = fields.find(name)
    while index >= 0:
        var line = match_tag_list(
            fields.value_bytes(index), tag, is_strong=is_strong
        )
        count += 1
        if line == TagListMatch.MALFORMED:
            return line
        # `*` stands alone.
        if (line == TagListMatch.ANY or found == TagListMatch.ANY) and (
            count > 1
        ):
            return TagListMatch.MALFORMED
        if line != TagListMatch.NONE:
            found = line
        index = fields.find(name, index + 1)
    return found


def _if_modified_since(
    fields: Fields, validators: Validators, now_s: Int
) -> Bool:
    """RFC 9110 section 13.1.3; True if there is no such condition."""
    var date = _single_date(fields, "if-modified-since", now_s)
    if not date or not validators.modified_s:
        return True
    return validators.modified_s.value() > date.value()


def _if_unmodified_since(
    fields: Fields, validators: Validators, now_s: Int
) -> Bool:
    """RFC 9110 section 13.1.4; True if there is no such condition."""
    var date = _single_date(fields, "if-unmodified-since", now_s)
    if not date or not validators.modified_s:
        return True
    return validators.modified_s.value() <= date.value()


def _single_date(
    fields: Fields, name: StaticString, now_s: Int
) -> Optional[Int]:
    """Reads a date; what is no date, or stands twice, is ignored."""
    var index = fields.find(name)
    if index < 0 or fields.find(name, index + 1) >= 0:
        return None
    return parse_http_date(trim_whitespace(fields.value_bytes(index)), now_s)


comptime _QUOTE: UInt8 = 34
comptime _COMMA: UInt8 = 44


struct EntityTagError(Copyable, Movable, Writable):
    """A text is no entity tag."""

    var text: String
    var offset: Int
    """Where it goes wrong, in bytes; its length if the end came too early."""

    def __init__(out self, octets: Span[UInt8, _], offset: Int):
        self.text = text_of(octets)
        self.offset = offset

    def write_to(self, mut writer: Some[Writer]):
        """Writes the message, with the text escaped."""
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

        Raises:
            EntityTagError: If it holds a quote, a space or a control octet.
        """
        var octets = opaque.as_bytes()
        for index in range(len(octets)):
            if not _is_etagc(octets.at(index)):
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
        var opaque = octets.between(cut.opaque_start, cut.end - 1)
        return Self(text_of(opaque), is_weak=cut.opaque_start == 3)

    def matches_strongly(self, other: Self) -> Bool:
        """Compares two tags (RFC 9110 section 8.8.3.2).

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
        """Writes the tag with its quotes."""
        if self.is_weak:
            writer.write("W/")
        writer.write('"', self.opaque, '"')


@fieldwise_init
struct EntityTagCut(TrivialRegisterPassable):

    var opaque_start: Int
    """The first octet after the opening quote."""
    var end: Int
    """After the closing quote; below 0 if there is no tag, and then -1 less
    where it goes wrong."""


def scan_entity_tag(octets: Span[UInt8, _], start: Int) -> EntityTagCut:
    """Finds the entity tag that begins at an offset, at most the length."""
    var index = start
    if index + 1 < len(octets) and octets.at(index) == 87:
        if octets.at(index + 1) != 47:
            return EntityTagCut(start, -2 - index)
        index += 2
    if index >= len(octets) or octets.at(index) != _QUOTE:
        return EntityTagCut(start, -1 - index)
    index += 1
    var opaque_start = index
    while index < len(octets) and _is_etagc(octets.at(index)):
        index += 1
    if index >= len(octets) or octets.at(index) != _QUOTE:
        return EntityTagCut(start, -1 - index)
    return EntityTagCut(opaque_start, index + 1)


@fieldwise_init
struct TagListMatch(Equatable, ImplicitlyCopyable):
    """What a list of entity tags says of one."""

    var code: UInt8

    comptime NONE = TagListMatch(0)
    """No tag of the list is the one."""
    comptime SOME = TagListMatch(1)
    """A tag of the list is the one."""
    comptime ANY = TagListMatch(2)
    """The list is `*`."""
    comptime MALFORMED = TagListMatch(3)
    """This is no list of entity tags."""


def match_tag_list(
    value: Span[UInt8, _], tag: Optional[EntityTag], *, is_strong: Bool
) -> TagListMatch:
    """Looks for the current tag in a field such as If-Match or If-None-Match,
    by strong or by weak comparison. A list that goes wrong anywhere matches
    nowhere.

    Source: RFC 9110 sections 13.1.1 and 13.1.2; empty elements are skipped
    (section 5.6.1.2).
    """
    var octets = trim_whitespace(value.as_imm())
    if len(octets) == 1 and octets.at(0) == 42:
        return TagListMatch.ANY
    var found = TagListMatch.NONE
    var count = 0
    var index = 0
    while True:
        while index < len(octets) and _is_gap(octets.at(index)):
            index += 1
        if index == len(octets):
            return found if count > 0 else TagListMatch.MALFORMED
        var cut = scan_entity_tag(octets, index)
        if cut.end < 0:
            return TagListMatch.MALFORMED
        count += 1
        var is_weak = octets.at(index) == 87
        if tag and not (is_strong and (is_weak or tag.value().is_weak)):
            var opaque = octets.between(cut.opaque_start, cut.end - 1)
            if tag.value().opaque.as_bytes() == opaque:
                found = TagListMatch.SOME
        index = cut.end
        index = skip_whitespace(octets, index)
        if index < len(octets) and octets.at(index) != _COMMA:
            return TagListMatch.MALFORMED


def _is_etagc(octet: UInt8) -> Bool:
    return octet >= 33 and octet != _QUOTE and octet != 127


def _is_gap(octet: UInt8) -> Bool:
    return is_whitespace(octet) or octet == _COMMA
