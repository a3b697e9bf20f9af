"""The codings that a client takes."""

from flare.bytes.ascii import ascii_lower, trim_whitespace
from flare.compress.content_coding import ContentCoding
from flare.http.message.list_elements import ListElements

comptime WEIGHT_MAX = 1_000
"""The weight of what is wanted most, in thousandths (RFC 9110 section 12.4.2)."""

comptime _ABSENT: Int16 = -1
comptime _CODING_COUNT = 4
# The weights of the known codings, by their codes, and behind them that of `*`.
comptime _STAR = _CODING_COUNT


struct AcceptEncoding(Copyable, Movable):
    """An Accept-Encoding field (RFC 9110 section 12.5.3).

    An element that breaks the grammar is left out, as is a coding that is
    unknown: neither makes the client get what it did not ask for. The first of
    several elements for one coding counts.
    """

    var _weights: Array[Int16, _CODING_COUNT + 1]

    def __init__(out self, value: StringSpan):
        """Reads a field.

        Without a field any coding would do, says the RFC; clients without one
        cannot decode, though, so treat that like an empty field.

        Args:
            value: The field's value; several lines joined by commas.
        """
        self._weights = Array[Int16, _CODING_COUNT + 1](fill=_ABSENT)
        for element in ListElements(value.as_bytes().as_imm()):
            self._note(element)

    def weight(self, coding: ContentCoding) -> Int:
        """Tells how much the client wants a coding.

        Args:
            coding: The coding.

        Returns:
            0 (not at all) to `WEIGHT_MAX`, in thousandths.
        """
        var own = self._weights[Int(coding.code)]
        if own != _ABSENT:
            return Int(own)
        if self._weights[_STAR] != _ABSENT:
            return Int(self._weights[_STAR])
        # No coding at all is fine unless it is excluded. It is wanted least.
        return 1 if coding == ContentCoding.IDENTITY else 0

    def choose(self, offered: List[ContentCoding]) -> Optional[ContentCoding]:
        """Chooses the coding that the client wants most.

        Args:
            offered: What the server has, best first; with
                `ContentCoding.IDENTITY` where it would rather not code.

        Returns:
            The coding of the highest weight, the first of several; nothing if
            none is acceptable: answer 415, or send it as it is.
        """
        var chosen: Optional[ContentCoding] = None
        var weight = 0
        for coding in offered:
            if self.weight(coding) > weight:
                weight = self.weight(coding)
                chosen = coding
        return chosen

    def _note(mut self, element: Span[UInt8, _]):
        var end = 0
        while end < len(element) and element[end] != 59:
            end += 1
        var name = trim_whitespace(element[:end].as_imm())
        var weight = _parse_weight(element[end:].as_imm())
        if weight < 0:
            return
        var index = -1
        if len(name) == 1 and name[0] == 42:
            index = _STAR
        else:
            var coding = ContentCoding.parse(name)
            if coding:
                index = Int(coding.value().code)
        if index >= 0 and self._weights[index] == _ABSENT:
            self._weights[index] = Int16(weight)


def _parse_weight(octets: Span[UInt8, _]) -> Int:
    """Reads `;q=0.5`, or nothing, as thousandths; -1 if it is neither.

    Source: RFC 9110 section 12.4.2.
    """
    if len(octets) == 0:
        return WEIGHT_MAX
    var text = trim_whitespace(octets[1:].as_imm())
    if len(text) < 3 or len(text) > 7:
        return -1
    if ascii_lower(text[0]) != 113 or text[1] != 61:
        return -1
    var whole = text[2]
    if whole != 48 and whole != 49:
        return -1
    if len(text) > 3 and text[3] != 46:
        return -1
    var weight = Int(whole - 48)
    for index in range(4, 7):
        var digit = UInt8(48)
        if index < len(text):
            digit = text[index]
        if digit < 48 or digit > 57:
            return -1
        weight = weight * 10 + Int(digit - 48)
    return weight if weight <= WEIGHT_MAX else -1
