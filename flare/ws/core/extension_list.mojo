"""The value of a Sec-WebSocket-Extensions field."""

from flare.bytes.octet_class import TCHAR

comptime EXTENSION_COUNT_MAX = 32
"""Most extensions and parameters read from one message.

The RFC sets no limit; there are two extensions, and one of them has four
parameters.
"""

comptime _TAB: UInt8 = 9
comptime _SPACE: UInt8 = 32
comptime _QUOTE: UInt8 = 34
comptime _COMMA: UInt8 = 44
comptime _SEMICOLON: UInt8 = 59
comptime _EQUALS: UInt8 = 61
comptime _BACKSLASH: UInt8 = 92


@fieldwise_init
struct ExtensionParameter(Copyable, Movable):
    """A parameter of an extension."""

    var name: String
    """Its name, as sent."""
    var value: String
    """Its value without quotes; empty if it has none."""
    var has_value: Bool
    """True if there is a value; it is then a token, and not empty."""


@fieldwise_init
struct Extension(Copyable, Movable):
    """An extension that is offered or agreed on."""

    var name: String
    """Its name, as sent."""
    var parameters: List[ExtensionParameter]
    """Its parameters, in order."""


struct _Cursor[o: ImmOrigin](Movable):
    var octets: Span[UInt8, Self.o]
    var position: Int

    def __init__(out self, octets: Span[UInt8, Self.o]):
        self.octets = octets
        self.position = 0

    def skip_space(mut self):
        while self.position < len(self.octets):
            var octet = self.octets[self.position]
            if octet != _SPACE and octet != _TAB:
                return
            self.position += 1

    def is_at_end(self) -> Bool:
        return self.position >= len(self.octets)

    def take(mut self, octet: UInt8) -> Bool:
        """Takes an octet and the space around it, if it comes next."""
        self.skip_space()
        if self.is_at_end() or self.octets[self.position] != octet:
            return False
        self.position += 1
        self.skip_space()
        return True

    def take_token(mut self) -> String:
        """Takes a token; gives an empty text if none comes next."""
        var start = self.position
        while not self.is_at_end() and materialize[TCHAR]().contains(
            self.octets[self.position]
        ):
            self.position += 1
        return String(
            unsafe_from_utf8=self.octets[start : self.position]
        )

    def take_quoted(mut self) -> String:
        """Takes the rest of a quoted string; gives an empty text if it is not
        one, or if it does not quote a token (RFC 6455 section 9.1)."""
        var text = List[UInt8]()
        while not self.is_at_end():
            var octet = self.octets[self.position]
            self.position += 1
            if octet == _QUOTE:
                return String(unsafe_from_utf8=text)
            if octet == _BACKSLASH and not self.is_at_end():
                octet = self.octets[self.position]
                self.position += 1
            if not materialize[TCHAR]().contains(octet):
                return String()
            text.append(octet)
        return String()


def parse_extensions(
    value: Span[UInt8, _], mut extensions: List[Extension]
) -> Bool:
    """Reads one field value.

    Source: RFC 6455 section 9.1. Empty elements are passed over (RFC 9110
    section 5.6.1).

    Args:
        value: The value.
        extensions: Gets what is read.

    Returns:
        False if it is malformed, or too long a list.
    """
    var cursor = _Cursor(value.as_imm())
    while True:
        cursor.skip_space()
        if cursor.is_at_end():
            return True
        if cursor.take(_COMMA):
            continue
        var extension = Extension(cursor.take_token(), [])
        if extension.name.byte_length() == 0:
            return False
        while cursor.take(_SEMICOLON):
            if not _parse_parameter(cursor, extension):
                return False
        extensions.append(extension^)
        if len(extensions) > EXTENSION_COUNT_MAX:
            return False
        if not cursor.take(_COMMA) and not cursor.is_at_end():
            return False


def _parse_parameter(mut cursor: _Cursor, mut extension: Extension) -> Bool:
    var parameter = ExtensionParameter(cursor.take_token(), String(), False)
    if parameter.name.byte_length() == 0:
        return False
    if cursor.take(_EQUALS):
        parameter.has_value = True
        if cursor.take(_QUOTE):
            parameter.value = cursor.take_quoted()
        else:
            parameter.value = cursor.take_token()
        if parameter.value.byte_length() == 0:
            return False
    extension.parameters.append(parameter^)
    return len(extension.parameters) <= EXTENSION_COUNT_MAX
