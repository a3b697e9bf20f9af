"""Which of several responses to one URI a request selects (RFC 9111 section 4.1)."""

from flare.bytes.ascii import (
    ascii_lower,
    equals_ignore_case,
    trim_whitespace,
)
from flare.bytes.checked import *
from flare.bytes.copy import text_of
from flare.http.cache.core.cache_control import element_end
from flare.http.message.fields import Fields, ListElements
from flare.http.message.header_map import HeaderError, HeaderMap

comptime _COMMA: UInt8 = 44
comptime _STAR: UInt8 = 42


@fieldwise_init
struct _SelectingField(Copyable, Movable):
    """A field of the request that the response was selected by."""

    var name: String
    # As it was received; for a look without making anything.
    var received: String
    # In a form in which values of the same meaning are the same.
    var normal: String
    var is_there: Bool


struct VaryKey(Copyable, Defaultable, Movable, Sized):
    """The fields that a response's Vary names, and others it is selected by, with
    their values in the request that it answered."""

    var is_any: Bool
    """True for `Vary: *`, which no other request matches."""
    var _fields: List[_SelectingField]

    def __init__(out self):
        """Makes the key of a response without Vary, which all requests match."""
        self.is_any = False
        self._fields = []

    def __init__(out self, headers: HeaderMap, fields: Fields):
        self = Self()
        var index = headers.find("vary")
        while index >= 0:
            for element in ListElements(headers.value(index).as_bytes()):
                if len(element) == 1 and element.at(0) == _STAR:
                    self.is_any = True
                elif len(element) > 0:
                    self._add(element, fields)
            index = headers.find("vary", index + 1)

    def select_by(mut self, name: StringSpan, fields: Fields):
        """Has requests select the response by one more field, as if Vary named
        it; `fields` are those of the request that it answers."""
        self._add(name.as_bytes(), fields)

    def _add(mut self, name: Span[UInt8, _], fields: Fields):
        for known in self._fields:
            if equals_ignore_case(known.name.as_bytes(), name):
                return
        var lower = List[UInt8](capacity=len(name))
        for octet in name:
            lower.append(ascii_lower(octet))
        var text = text_of(lower)
        var received = _received(fields, text)
        var normal = _normal(text, received)
        self._fields.append(
            _SelectingField(text.copy(), received^, normal^, text in fields)
        )

    def __len__(self) -> Int:
        """Counts the fields that Vary names."""
        return len(self._fields)

    def matches(self, fields: Fields) -> Bool:
        """Tells whether a request selects the response: whether all that Vary
        names is as it was in the request that the response answered, or absent
        as it was."""
        if self.is_any:
            return False
        for index in range(len(self._fields)):
            if not _is_same(self._fields.at(index), fields):
                return False
        return True

    def is_same(self, other: Self) -> Bool:
        """Tells whether two responses are selected by the same requests, so
        that one takes the place of the other."""
        if self.is_any != other.is_any or len(self) != len(other):
            return False
        for index in range(len(self._fields)):
            ref mine = self._fields.at(index)
            ref its = other._fields.at(index)
            if mine.is_there != its.is_there or not (mine.name == its.name):
                return False
            if not (mine.normal == its.normal):
                return False
        return True

    def names(self) -> String:
        """Lists the fields that Vary names, with commas between; empty without
        Vary."""
        var text = String()
        for index in range(len(self._fields)):
            if index > 0:
                text += ","
            text += self._fields.at(index).name
        return text^

    def selection(self) -> List[UInt8]:
        """Writes what requests that select the response have in common: octets
        that are the same where `is_same` holds, and nowhere else."""
        var octets = List[UInt8]()
        for index in range(len(self._fields)):
            ref field = self._fields.at(index)
            for part in [field.name, field.normal]:
                octets.extend(String(part.byte_length(), ":").as_bytes())
                octets.extend(part.as_bytes())
            octets.append(UInt8(43) if field.is_there else UInt8(45))
        return octets^

    def selecting_fields(self) raises HeaderError -> HeaderMap:
        """Copies the fields of the request that the response answered, as far
        as Vary names them. Raises if they are longer than a block."""
        var fields = HeaderMap()
        for index in range(len(self._fields)):
            ref field = self._fields.at(index)
            if field.is_there:
                fields.append(field.name, field.received)
        return fields^

    def octet_count(self) -> Int:
        """Tells how much memory the key takes."""
        var count = 0
        for index in range(len(self._fields)):
            ref field = self._fields.at(index)
            count += field.name.byte_length() + field.normal.byte_length()
            count += field.received.byte_length() + 80
        return count


def selection_of(names: StringSpan, fields: Fields) raises -> List[UInt8]:
    """Writes what `VaryKey.selection` of a response to the request gives for a
    Vary with these names. Raises if they are no field's value."""
    var headers = HeaderMap()
    if names.byte_length() > 0:
        headers.append("Vary", names)
    return VaryKey(headers, fields).selection()


def _is_same(selecting: _SelectingField, fields: Fields) -> Bool:
    var index = fields.find(selecting.name)
    if index < 0 or not selecting.is_there:
        return index < 0 and not selecting.is_there
    if (
        fields.find(selecting.name, index + 1) < 0
        and fields.value_bytes(index) == selecting.received.as_bytes()
    ):
        return True
    return (
        _normal(selecting.name, _received(fields, selecting.name))
        == selecting.normal
    )


def _received(fields: Fields, name: String) -> String:
    """Combines the lines of a field (RFC 9110 section 5.3)."""
    var octets = List[UInt8]()
    var index = fields.find(name)
    var is_first = True
    while index >= 0:
        if not is_first:
            octets.append(_COMMA)
        is_first = False
        octets.extend(fields.value_bytes(index))
        index = fields.find(name, index + 1)
    return text_of(octets)


def _normal(name: String, received: String) -> String:
    """Writes a value as others of the same meaning are written.

    Whitespace around commas means nothing in any list, but it does in a quoted
    string, and where a field is no list. Of the fields below the order of
    elements and the case mean nothing either (RFC 9110 sections 12.5.2 to
    12.5.4): what counts is the weight.
    """
    if _is_single(name):
        return received
    var is_set = (
        name == "accept-encoding"
        or name == "accept-language"
        or name == "accept-charset"
    )
    var elements = List[String]()
    var octets = received.as_bytes()
    var start = 0
    while start <= len(octets):
        var end = element_end(octets, start)
        var element = trim_whitespace(octets.between(start, end).as_imm())
        if len(element) > 0:
            elements.append(_element(element, is_set))
        start = end + 1
    if is_set:
        sort(elements)
    var text = String()
    for index in range(len(elements)):
        if index > 0:
            text += ","
        text += elements.at(index)
    return text^


def _is_single(name: String) -> Bool:
    """Tells whether a field, of those that requests are told apart by, is no
    list, so that a comma is an octet as any other (RFC 9110 sections 10.1 and
    11.6.2, RFC 6265 section 4.2)."""
    return (
        name == "cookie"
        or name == "authorization"
        or name == "user-agent"
        or name == "referer"
        or name == "from"
        or name == "host"
    )


def _element(element: Span[UInt8, _], is_set: Bool) -> String:
    var octets = List[UInt8](capacity=len(element))
    for octet in element:
        if not is_set:
            octets.append(octet)
        elif octet != 32 and octet != 9:
            octets.append(ascii_lower(octet))
    return text_of(octets)
