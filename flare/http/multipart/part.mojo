"""The fields of a part: Content-Disposition (RFC 7578, RFC 6266) and Content-Transfer-Encoding (RFC 2045)."""

from flare.bytes.ascii import (
    equals_ignore_case,
    find_octet,
    hex_digit_value,
    trim_whitespace,
)
from flare.bytes.base64 import base64_digit_value
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.copy import text_of

comptime _QUOTE: UInt8 = 34
comptime _SEMICOLON: UInt8 = 59
comptime _BACKSLASH: UInt8 = 92


@fieldwise_init
struct FormDisposition(Copyable, Movable):
    """Which field of a form a part is (RFC 7578 section 4.2)."""

    var name: String
    var filename: Optional[String]
    """For a file, the name that the client has for it, without folders; may be
    empty, as when no file was chosen."""

    @staticmethod
    def parse(value: Span[UInt8, _]) -> Optional[Self]:
        """Reads a Content-Disposition field; nothing if it is not of a form,
        has no name, has one twice, has an open quote, or is not UTF-8.

        Read as browsers write it, which is not quite RFC 6266: a backslash is
        one unless a quote or a backslash follows, also before the quote that
        closes, and `%22`, `%0D` and `%0A` stand for what cannot be written
        between quotes (HTML, multipart encoding algorithm). Unknown parameters
        are skipped, `filename*` among them (RFC 7578 section 4.2 forbids it).
        """
        var octets = value.as_imm()
        var end = find_octet(octets, _SEMICOLON)
        var kind = trim_whitespace(octets.before(end))
        if not equals_ignore_case(kind, "form-data".as_bytes()):
            return None
        var name: Optional[String] = None
        var filename: Optional[String] = None
        while end < len(octets):
            var parameter = _Parameter(octets, end + 1)
            if parameter.end < 0:
                return None
            end = parameter.end
            var is_name = equals_ignore_case(parameter.name, "name".as_bytes())
            if not is_name and not equals_ignore_case(
                parameter.name, "filename".as_bytes()
            ):
                continue
            var text = _text(parameter.value)
            # Two readers of a repeated parameter would take different ones.
            if not text or (name if is_name else filename):
                return None
            if is_name:
                name = text^
            else:
                filename = _without_folders(text.value())
        if not name:
            return None
        return Self(name.value(), filename^)


struct _Parameter[o: ImmOrigin]:
    """One parameter, up to the semicolon after it."""

    var name: Span[UInt8, Self.o]
    var value: List[UInt8]
    var end: Int

    def __init__(out self, octets: Span[UInt8, Self.o], start: Int):
        var index = start
        while index < len(octets) and (
            octets.at(index) != 61 and octets.at(index) != _SEMICOLON
        ):
            index += 1
        self.name = trim_whitespace(octets.between(start, index))
        self.value = List[UInt8]()
        self.end = index
        if index == len(octets) or octets.at(index) == _SEMICOLON:
            return
        index += 1
        while index < len(octets) and (
            octets.at(index) == 32 or octets.at(index) == 9
        ):
            index += 1
        if index == len(octets) or octets.at(index) != _QUOTE:
            self.end = find_octet(octets, _SEMICOLON, index)
            self.value.extend(trim_whitespace(octets.between(index, self.end)))
            return
        index += 1
        var behind = _unquote(octets, index, self.value, escapes=True)
        if not _ends_parameter(octets, behind):
            # The backslash before the quote may be the value's last octet.
            var plain = List[UInt8]()
            var end = _unquote(octets, index, plain, escapes=False)
            if _ends_parameter(octets, end):
                self.value = plain^
                behind = end
        self.end = behind
        if behind >= 0:
            self.end = find_octet(octets, _SEMICOLON, behind)


def _ends_parameter(octets: Span[UInt8, _], index: Int) -> Bool:
    """Tells whether nothing but the end or a semicolon follows; False for -1."""
    if index < 0:
        return False
    var end = find_octet(octets, _SEMICOLON, index)
    return len(trim_whitespace(octets.between(index, end))) == 0


def _unquote(
    octets: Span[UInt8, _],
    start: Int,
    mut value: List[UInt8],
    *,
    escapes: Bool,
) -> Int:
    """Reads up to the closing quote, of which a backslash makes another octet if
    it `escapes`; gives what is after it, or -1."""
    var index = start
    while index < len(octets) and octets.at(index) != _QUOTE:
        if (
            escapes
            and octets.at(index) == _BACKSLASH
            and index + 1 < len(octets)
        ):
            var next = octets.at(index + 1)
            if next == _QUOTE or next == _BACKSLASH:
                index += 1
        value.append(octets.at(index))
        index += 1
    return -1 if index >= len(octets) else index + 1


def _text(octets: Span[UInt8, _]) -> Optional[String]:
    """Decodes the three octets that browsers encode."""
    var decoded = List[UInt8](capacity=len(octets))
    var index = 0
    while index < len(octets):
        var octet = octets.at(index)
        if octet == 37 and index + 2 < len(octets):
            var code = octets.between(index + 1, index + 3)
            var found = _encoded(code)
            if found > 0:
                octet = found
                index += 2
        decoded.append(octet)
        index += 1
    try:
        return String(from_utf8=decoded)
    except:
        return None


def _encoded(code: Span[UInt8, _]) -> UInt8:
    if code == "22".as_bytes():
        return _QUOTE
    if equals_ignore_case(code, "0d".as_bytes()):
        return 13
    if equals_ignore_case(code, "0a".as_bytes()):
        return 10
    return 0


def _without_folders(path: String) -> String:
    """Takes what is after the last slash of either kind."""
    var octets = path.as_bytes()
    var start = 0
    for index in range(len(octets)):
        if octets.at(index) == 47 or octets.at(index) == _BACKSLASH:
            start = index + 1
    return text_of(octets.after(start))


struct TransferDecoder(Copyable, Movable):
    """Undoes a transfer encoding of RFC 2045, piece by piece.

    RFC 7578 section 4.7 deprecates them; some clients use them nevertheless.
    """

    var _kind: UInt8
    # Base64: the digits of a group so far, and how many there are; padding
    # counts too. Quoted-printable: what stands after a `=`.
    var _group: UInt32
    var _count: Int
    var _is_padded: Bool
    # Quoted-printable: spaces that count only if their line goes on.
    var _spaces: List[UInt8]

    comptime _IDENTITY: UInt8 = 0
    comptime _BASE64: UInt8 = 1
    comptime _QUOTED_PRINTABLE: UInt8 = 2

    def __init__(out self):
        """Makes a decoder that leaves octets as they are."""
        self._kind = Self._IDENTITY
        self._group = 0
        self._count = 0
        self._is_padded = False
        self._spaces = List[UInt8]()

    @staticmethod
    def named(name: Span[UInt8, _]) -> Optional[Self]:
        """Makes a decoder for what Content-Transfer-Encoding says (RFC 2045
        section 6.1); nothing for an unknown encoding."""
        var decoder = Self()
        if equals_ignore_case(name, "base64".as_bytes()):
            decoder._kind = Self._BASE64
        elif equals_ignore_case(name, "quoted-printable".as_bytes()):
            decoder._kind = Self._QUOTED_PRINTABLE
        elif not (
            equals_ignore_case(name, "7bit".as_bytes())
            or equals_ignore_case(name, "8bit".as_bytes())
            or equals_ignore_case(name, "binary".as_bytes())
        ):
            return None
        return decoder^

    def is_identity(self) -> Bool:
        return self._kind == Self._IDENTITY

    def decode(mut self, octets: Span[UInt8, _], mut output: Buffer) -> Bool:
        """Decodes any number of octets; False if they cannot be decoded."""
        for octet in octets:
            var is_right: Bool
            if self._kind == Self._BASE64:
                is_right = self._take_digit(octet, output)
            elif self._kind == Self._QUOTED_PRINTABLE:
                is_right = self._take_printable(octet, output)
            else:
                output.append_octet(octet)
                continue
            if not is_right:
                return False
        return True

    def is_complete(self) -> Bool:
        """Tells whether the octets may end here: not within a group of base64
        or after a `=`."""
        return self._count == 0

    def _take_digit(mut self, octet: UInt8, mut output: Buffer) -> Bool:
        """RFC 2045 section 6.8; whitespace between digits is skipped."""
        if octet == 32 or octet == 9 or octet == 13 or octet == 10:
            return True
        if octet == 61:
            if self._count < 2:
                return False
            self._is_padded = True
            self._group <<= 6
        else:
            var digit = base64_digit_value(octet)
            if digit < 0 or self._is_padded:
                return False
            self._group = self._group << 6 | UInt32(digit)
        self._count += 1
        # How many octets a group has shows when its last digit is there, so
        # the octets are written as soon as they are known.
        if not self._is_padded and self._count >= 2:
            var shift = UInt32(2 * (4 - self._count))
            output.append_octet(UInt8((self._group >> shift) & 0xFF))
        if self._count == 4:
            self._count = 0
            self._group = 0
        return True

    def _take_printable(mut self, octet: UInt8, mut output: Buffer) -> Bool:
        """RFC 2045 section 6.7; spaces at a line's end are dropped."""
        if self._count == 0:
            if octet == 61:
                self._flush_spaces(output)
                self._count = 1
            elif octet == 32 or octet == 9:
                # A run of spaces is no longer than a line may be.
                if len(self._spaces) >= 998:
                    return False
                self._spaces.append(octet)
            else:
                if octet == 13 or octet == 10:
                    self._spaces.clear()
                self._flush_spaces(output)
                output.append_octet(octet)
            return True
        if self._count == 1:
            # A soft line break is `=`, perhaps spaces, and a line end.
            if octet == 32 or octet == 9:
                return True
            if octet == 13:
                self._count = 3
                return True
            if octet == 10:
                self._count = 0
                return True
        if self._count == 3:
            self._count = 0
            return octet == 10
        var digit = hex_digit_value(octet)
        if digit < 0:
            return False
        if self._count == 1:
            self._group = UInt32(digit)
            self._count = 2
            return True
        output.append_octet(UInt8(self._group << 4 | UInt32(digit)))
        self._count = 0
        return True

    def _flush_spaces(mut self, mut output: Buffer):
        output.append(Span(self._spaces))
        self._spaces.clear()
