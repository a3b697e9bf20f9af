"""Content codings of a message: Content-Encoding decoded, Accept-Encoding weighed (RFC 9110 sections 8.4 and 12.5.3)."""

from flare.bytes.ascii import ascii_lower, trim_whitespace, write_escaped
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.compress.content_coding import ContentCoding
from flare.compress.decoder import Decoder, OUTPUT_LEN_MAX, PIECE_LEN
from flare.compress.error import CompressError
from flare.http.message.fields import Fields, ListElements

comptime CODING_COUNT_MAX = 3
"""Most codings on top of each other.

The RFC sets no limit, nobody uses more than one, and each takes memory.
"""


@fieldwise_init
struct ContentCodingError(Copyable, Movable, Writable):
    """Content is in codings that cannot be decoded.

    A server answers 415 (RFC 9110 section 15.5.16).
    """

    var name: String
    """The unknown coding; empty if there are too many of them."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes the message."""
        writer.write("Content-Encoding: ")
        if self.name.byte_length() == 0:
            writer.write("more than ", CODING_COUNT_MAX, " codings; ")
            writer.write("the sender must use fewer")
            return
        writer.write("the coding '")
        write_escaped(self.name.as_bytes(), writer)
        writer.write("' is unknown; gzip, deflate, br and zstd are not")


def parse_content_encoding(
    value: StringSpan, mut codings: List[ContentCoding]
) raises ContentCodingError:
    """Reads a Content-Encoding field line.

    Source: RFC 9110 section 8.4. `identity` and empty elements add nothing.

    Args:
        value: The field line's value.
        codings: Gets the codings in the order in which they were applied; holds
            those of the lines before.

    Raises:
        ContentCodingError: If a coding is unknown, or there are more than
            `CODING_COUNT_MAX` in all.
    """
    for element in ListElements(value.as_bytes().as_imm()):
        if len(element) == 0:
            continue
        var coding = ContentCoding.parse(element)
        if not coding:
            raise ContentCodingError(
                String(StringSpan(unsafe_from_utf8=element))
            )
        if coding.held() == ContentCoding.IDENTITY:
            continue
        if len(codings) == CODING_COUNT_MAX:
            raise ContentCodingError("")
        codings.append(coding.held())


struct ContentDecoder(Movable):
    """Undoes the codings of a message's content.

    A chain of `Decoder`, with their properties: pieces of any length, errors
    that tell truncated from corrupt, and a limit that holds for what comes out
    of each coding.
    """

    # In the order of decoding: the last coding applied is the first undone.
    var _decoders: List[Decoder]
    # What came out of a decoder and waits for the next one.
    var _between: List[Buffer]

    def __init__(
        out self,
        codings: List[ContentCoding],
        output_len_max: Int = OUTPUT_LEN_MAX,
    ) raises CompressError:
        """Starts a message's content, loading what libraries it needs.

        Args:
            codings: The codings in the order in which they were applied, as
                `parse_content_encoding` gives them; at least one.
            output_len_max: Most octets that may come out, in bytes.

        Raises:
            CompressError: If a library is missing.
        """
        self._decoders = List[Decoder]()
        self._between = List[Buffer]()
        for index in range(len(codings) - 1, -1, -1):
            var format = codings.at(index).format()
            if format:
                self._decoders.append(Decoder(format.held(), output_len_max))
                self._between.append(Buffer())

    def receive(
        mut self, octets: Span[UInt8, _], mut output: Buffer
    ) raises CompressError:
        """Decodes the next octets; the rest is as for `Decoder.receive`."""
        _ = self.receive_some(octets, output, Int.MAX)

    def receive_some(
        mut self, octets: Span[UInt8, _], mut output: Buffer, count_max: Int
    ) raises CompressError -> Int:
        """Decodes until so many octets came out, and gives how many were taken;
        the rest is as for `Decoder.receive_some`."""
        var last = len(self._decoders) - 1
        if last < 0:
            var count = min(len(octets), count_max)
            output.append(octets.before(count))
            return count
        var end = len(output) + min(count_max, Int.MAX - len(output))
        var taken = 0
        while len(output) < end:
            var stage = self._ready_stage(len(octets) - taken)
            if stage < 0:
                break
            if stage == 0 and last == 0:
                taken += self._decoders.at(0).receive_some(
                    octets.after(taken), output, end - len(output)
                )
            elif stage == 0:
                taken += self._decoders.at(0).receive_some(
                    octets.after(taken), self._between.at(0), PIECE_LEN
                )
            elif stage == last:
                self._advance(stage, output, end - len(output))
            else:
                var target = Buffer()
                swap(target, self._between.at(stage))
                self._advance(stage, target, PIECE_LEN)
                swap(target, self._between.at(stage))
        return taken

    def _ready_stage(self, offered: Int) -> Int:
        """Finds the last decoder that can go on; -1 if none can."""
        for stage in range(len(self._decoders) - 1, -1, -1):
            var waiting = offered
            if stage > 0:
                waiting = len(self._between.at(stage - 1))
            if waiting > 0 or self._decoders.at(stage).has_pending():
                return stage
        return -1

    def _advance(
        mut self, stage: Int, mut output: Buffer, count_max: Int
    ) raises CompressError:
        """Feeds a decoder what waits for it."""
        var taken = self._decoders.at(stage).receive_some(
            self._between.at(stage - 1).span(), output, count_max
        )
        self._between.at(stage - 1).consume(taken)

    def has_pending(self) -> Bool:
        """Tells whether more may come out, as `Decoder.has_pending` does."""
        return self._ready_stage(0) >= 0

    def is_started(self) -> Bool:
        """Tells whether any octet was received: content of no octets at all is
        not coded, whatever its fields say."""
        return len(self._decoders) > 0 and self._decoders.at(0).is_started()

    def finish(mut self) raises CompressError:
        """Says that there are no more octets; the rest is as for
        `Decoder.finish`."""
        for index in range(len(self._decoders)):
            self._decoders.at(index).finish()


comptime WEIGHT_MAX = 1_000
"""The weight of what is wanted most, in thousandths (RFC 9110 section 12.4.2)."""

comptime _ABSENT: Int16 = -1
comptime _CODING_COUNT = 5
# The weights of the known codings, by their codes, and after them that of `*`.
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

    def __init__(out self, fields: Fields):
        """Reads all lines of the field, which make one list (RFC 9110 section
        5.3).

        Args:
            fields: Those of a request.
        """
        var value = String()
        for line in fields.get_all("accept-encoding"):
            value.write(line, ",")
        self = Self(value)

    def weight(self, coding: ContentCoding) -> Int:
        """Tells how much the client wants a coding: 0 (not at all) to
        `WEIGHT_MAX`, in thousandths.

        Args:
            coding: The coding.
        """
        var own = self._weights.at(Int(coding.code))
        if own != _ABSENT:
            return Int(own)
        if self._weights[_STAR] != _ABSENT:
            return Int(self._weights[_STAR])
        # No coding at all is fine unless it is excluded. It is wanted least.
        return 1 if coding == ContentCoding.IDENTITY else 0

    def choose(self, offered: List[ContentCoding]) -> Optional[ContentCoding]:
        """Gives the coding that the client wants most: that of the highest
        weight, the first of several; nothing if none is acceptable: answer 415,
        or send it as it is.

        Args:
            offered: What the server has, best first; with
                `ContentCoding.IDENTITY` where it would rather not code.
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
        while end < len(element) and element.at(end) != 59:
            end += 1
        var name = trim_whitespace(element.before(end).as_imm())
        var weight = _parse_weight(element.after(end).as_imm())
        if weight < 0:
            return
        var index = -1
        if len(name) == 1 and name.at(0) == 42:
            index = _STAR
        else:
            var coding = ContentCoding.parse(name)
            if coding:
                index = Int(coding.held().code)
        if index >= 0 and self._weights.at(index) == _ABSENT:
            self._weights.at(index) = Int16(weight)


def _parse_weight(octets: Span[UInt8, _]) -> Int:
    """Reads `;q=0.5`, or nothing, as thousandths; -1 if it is neither.

    Source: RFC 9110 section 12.4.2.
    """
    if len(octets) == 0:
        return WEIGHT_MAX
    var text = trim_whitespace(octets.after(1).as_imm())
    if len(text) < 3 or len(text) > 7:
        return -1
    if ascii_lower(text.at(0)) != 113 or text.at(1) != 61:
        return -1
    var whole = text.at(2)
    if whole != 48 and whole != 49:
        return -1
    if len(text) > 3 and text.at(3) != 46:
        return -1
    var weight = Int(whole - 48)
    for index in range(4, 7):
        var digit = UInt8(48)
        if index < len(text):
            digit = text.at(index)
        if digit < 48 or digit > 57:
            return -1
        weight = weight * 10 + Int(digit - 48)
    return weight if weight <= WEIGHT_MAX else -1
