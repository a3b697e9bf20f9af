"""Conditional requests: whether a method is applied, and to how much."""

from flare.bytes.ascii import trim_whitespace
from flare.bytes.buffer import Buffer
from flare.http.message.date import append_imf_fixdate
from flare.http.message.entity_tag import (
    EntityTag,
    TagListMatch,
    match_tag_list,
    scan_entity_tag,
)
from flare.http.message.fields import Fields
from flare.http.message.header_error import HeaderError
from flare.http.message.header_map import HeaderMap
from flare.http.message.http_date import parse_http_date
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
