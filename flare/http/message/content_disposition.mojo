"""The Content-Disposition of a part of a form."""

from flare.bytes.ascii import equals_ignore_case, trim_whitespace

comptime _QUOTE: UInt8 = 34
comptime _SEMICOLON: UInt8 = 59
comptime _BACKSLASH: UInt8 = 92


struct FormDisposition(Copyable, Movable):
    """Which field of a form a part is (RFC 7578 section 4.2)."""

    var name: String
    """The field's name."""
    var filename: Optional[String]
    """For a file, the name that the client has for it, without folders; may be
    empty, as when no file was chosen."""

    def __init__(out self, var name: String, var filename: Optional[String]):
        """Makes a disposition.

        Args:
            name: The field's name.
            filename: For a file, its name.
        """
        self.name = name^
        self.filename = filename^

    @staticmethod
    def parse(value: Span[UInt8, _]) -> Optional[Self]:
        """Reads a Content-Disposition field.

        Read as browsers write it, which is not quite RFC 6266: a backslash is
        one unless a quote or a backslash follows, and `%22`, `%0D` and `%0A`
        stand for what cannot be written between quotes (HTML, multipart
        encoding algorithm). Unknown parameters are skipped, `filename*` among
        them (RFC 7578 section 4.2 forbids it).

        Args:
            value: The field's value.

        Returns:
            What it says; nothing if it is not of a form, has no name, has one
            twice, has an open quote, or is not UTF-8.
        """
        var octets = value.as_imm()
        var end = _find(octets, 0, _SEMICOLON)
        var kind = trim_whitespace(octets[:end])
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
    """One parameter, up to the semicolon behind it."""

    var name: Span[UInt8, Self.o]
    var value: List[UInt8]
    var end: Int

    def __init__(out self, octets: Span[UInt8, Self.o], start: Int):
        var index = start
        while index < len(octets) and (
            octets[index] != 61 and octets[index] != _SEMICOLON
        ):
            index += 1
        self.name = trim_whitespace(octets[start:index])
        self.value = List[UInt8]()
        self.end = index
        if index == len(octets) or octets[index] == _SEMICOLON:
            return
        index += 1
        while index < len(octets) and (
            octets[index] == 32 or octets[index] == 9
        ):
            index += 1
        if index == len(octets) or octets[index] != _QUOTE:
            self.end = _find(octets, index, _SEMICOLON)
            self.value.extend(trim_whitespace(octets[index : self.end]))
            return
        index = _unquote(octets, index + 1, self.value)
        self.end = index
        if index >= 0:
            self.end = _find(octets, index, _SEMICOLON)


def _unquote(octets: Span[UInt8, _], start: Int, mut value: List[UInt8]) -> Int:
    """Reads up to the closing quote; gives what is behind it, or -1."""
    var index = start
    while index < len(octets) and octets[index] != _QUOTE:
        if octets[index] == _BACKSLASH and index + 1 < len(octets):
            var next = octets[index + 1]
            if next == _QUOTE or next == _BACKSLASH:
                index += 1
        value.append(octets[index])
        index += 1
    return -1 if index >= len(octets) else index + 1


def _text(octets: Span[UInt8, _]) -> Optional[String]:
    """Decodes the three octets that browsers encode."""
    var decoded = List[UInt8](capacity=len(octets))
    var index = 0
    while index < len(octets):
        var octet = octets[index]
        if octet == 37 and index + 2 < len(octets):
            var code = octets[index + 1 : index + 3]
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
    """Takes what is behind the last slash of either kind."""
    var octets = path.as_bytes()
    var start = 0
    for index in range(len(octets)):
        if octets[index] == 47 or octets[index] == _BACKSLASH:
            start = index + 1
    return String(unsafe_from_utf8=octets[start:])


def _find(octets: Span[UInt8, _], start: Int, octet: UInt8) -> Int:
    var index = start
    while index < len(octets) and octets[index] != octet:
        index += 1
    return index
