"""Media types."""

from flare.bytes.ascii import (
    equals_ignore_case,
    find_octet,
    lower_text,
    skip_whitespace,
    trim_whitespace,
    write_escaped,
)
from flare.bytes.checked import *
from flare.bytes.copy import text_of
from flare.bytes.scan import TCHAR

comptime _SEMICOLON: UInt8 = 59

comptime PARAMETER_COUNT_MAX = 16
"""Most parameters of a media type.

The RFC sets no limit; two are rare.
"""

comptime _TOKEN_RULE = StaticString(
    "a name is letters, digits and !#$%&'*+-.^_`|~ (RFC 9110 section 5.6.2)"
)


struct MediaTypeError(Copyable, Movable, Writable):
    """A text is no media type."""

    var text: String
    """The text."""
    var offset: Int
    """Where it goes wrong, in bytes; its length if the end came too early."""
    var rule: StaticString
    """What is allowed there."""

    def __init__(
        out self, octets: Span[UInt8, _], offset: Int, rule: StaticString
    ):
        """Describes a refused text.

        Args:
            octets: The text.
        """
        self.text = text_of(octets)
        self.offset = offset
        self.rule = rule

    def write_to(self, mut writer: Some[Writer]):
        """Writes the message, with the text escaped."""
        writer.write("media type '")
        write_escaped(self.text.as_bytes(), writer)
        writer.write("': at byte ", self.offset, ", ", self.rule)


@fieldwise_init
struct MediaTypeParameter(Copyable, Equatable, Movable):

    var name: String
    """Its name, in lower case."""
    var value: String
    """Its value, without quotes."""


struct MediaType(Copyable, Equatable, Movable, Writable):
    """A media type with its parameters (RFC 9110 section 8.3.1).

    Such as `text/html; charset=utf-8`. Writes itself with values quoted where
    they must be.
    """

    var essence: String
    """Type and subtype, in lower case: `text/html`."""
    var parameters: List[MediaTypeParameter]
    """The parameters in order."""

    def __init__(out self, var essence: String):
        """Makes a media type without parameters.

        Args:
            essence: Type and subtype; a literal, or checked by `parse`.
        """
        self.essence = essence^
        self.parameters = List[MediaTypeParameter]()

    @staticmethod
    def parse(text: StringSpan) raises MediaTypeError -> Self:
        """Reads a media type, as Content-Type has it.

        Source: RFC 9110 sections 5.6.6 and 8.3.1. Empty parameters, as in
        `text/html;`, are skipped.

        Args:
            text: The field's value.

        Raises:
            MediaTypeError: If it breaks the grammar, names a parameter twice,
                or has more than `PARAMETER_COUNT_MAX` of them.
        """
        var octets = text.as_bytes().as_imm()
        var start = skip_whitespace(octets, 0)
        var slash = _skip_token(octets, start)
        if slash == start:
            raise MediaTypeError(octets, start, _TOKEN_RULE)
        if slash == len(octets) or octets.at(slash) != 47:
            raise MediaTypeError(octets, slash, "type and subtype need a slash")
        var end = _skip_token(octets, slash + 1)
        if end == slash + 1:
            raise MediaTypeError(octets, end, _TOKEN_RULE)
        var media_type = Self(lower_text(octets.between(start, end)))
        var offset = skip_whitespace(octets, end)
        while offset < len(octets):
            if octets.at(offset) != 59:
                raise MediaTypeError(octets, offset, "a semicolon must follow")
            offset = skip_whitespace(octets, offset + 1)
            if offset < len(octets) and octets.at(offset) != 59:
                offset = media_type._parse_parameter(octets, offset)
                offset = skip_whitespace(octets, offset)
        return media_type^

    def parameter(self, name: StringSpan) -> Optional[String]:
        """Finds the value of a parameter; nothing if there is none.

        Args:
            name: Its name, in any case.
        """
        for ref parameter in self.parameters:
            if equals_ignore_case(parameter.name.as_bytes(), name.as_bytes()):
                return parameter.value
        return None

    def write_to(self, mut writer: Some[Writer]):
        """Writes the media type."""
        writer.write(self.essence)
        for ref parameter in self.parameters:
            writer.write("; ", parameter.name, "=")
            var octets = parameter.value.as_bytes()
            if len(octets) > 0 and _skip_token(octets, 0) == len(octets):
                writer.write(parameter.value)
                continue
            writer.write('"')
            for index in range(len(octets)):
                if octets.at(index) == 34 or octets.at(index) == 92:
                    writer.write("\\")
                writer.write(
                    StringSpan(
                        unsafe_from_utf8=octets.between(index, index + 1)
                    )
                )
            writer.write('"')

    def _parse_parameter(
        mut self, octets: Span[UInt8, _], start: Int
    ) raises MediaTypeError -> Int:
        """Reads `name=value`; gives where it ends."""
        var end = _skip_token(octets, start)
        if end == start:
            raise MediaTypeError(octets, end, _TOKEN_RULE)
        var name = lower_text(octets.between(start, end))
        if self.parameter(name):
            raise MediaTypeError(octets, start, "a parameter stands once")
        if len(self.parameters) == PARAMETER_COUNT_MAX:
            raise MediaTypeError(
                octets, start, "there are at most 16 parameters"
            )
        if end == len(octets) or octets.at(end) != 61:
            raise MediaTypeError(octets, end, "an equals sign must follow")
        var value = List[UInt8]()
        end += 1
        if end < len(octets) and octets.at(end) == 34:
            end = _unquote(octets, end, value)
        else:
            var value_start = end
            end = _skip_token(octets, end)
            if end == value_start:
                raise MediaTypeError(octets, end, _TOKEN_RULE)
            value.extend(octets.between(value_start, end))
        self.parameters.append(MediaTypeParameter(name^, text_of(value)))
        return end


def has_essence(content_type: Span[UInt8, _], essence: StringSpan) -> Bool:
    """Tells whether a field's value names a type and subtype, in any case and
    whatever its parameters are, which are not looked at (RFC 9110 section
    8.3.1)."""
    var named = content_type.before(find_octet(content_type, _SEMICOLON))
    return equals_ignore_case(trim_whitespace(named), essence.as_bytes())


def _unquote(
    octets: Span[UInt8, _], start: Int, mut value: List[UInt8]
) raises MediaTypeError -> Int:
    """Reads a quoted string (RFC 9110 section 5.6.4); gives where it ends."""
    var index = start + 1
    while index < len(octets) and octets.at(index) != 34:
        if octets.at(index) == 92:
            index += 1
            if index == len(octets):
                break
        var octet = octets.at(index)
        if (octet < 32 and octet != 9) or octet == 127:
            raise MediaTypeError(octets, index, "no control octet is allowed")
        value.append(octet)
        index += 1
    if index >= len(octets):
        raise MediaTypeError(octets, len(octets), "a quote must end")
    return index + 1


def _skip_token(octets: Span[UInt8, _], start: Int) -> Int:
    var end = start
    while end < len(octets) and materialize[TCHAR]().contains(octets.at(end)):
        end += 1
    return end
