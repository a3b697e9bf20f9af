"""The parser of multipart/form-data (RFC 7578, RFC 2046), with its events, limits and errors."""

from flare.bytes.ascii import equals_ignore_case, trim_whitespace
from flare.bytes.buffer import Buffer, unsafe_lend
from flare.bytes.checked import *
from flare.bytes.scan import TCHAR, find_octet_within
from flare.http.message.media_type import MediaType, has_essence
from flare.http.multipart.part import FormDisposition, TransferDecoder

comptime _CR: UInt8 = 13
comptime _LF: UInt8 = 10


struct MultipartParser(Movable):
    """Reads a multipart/form-data body in pieces of any length.

    Call `receive`, then `next_event` until it says `NEEDS_OCTETS`, and so on;
    call `finish` after the last octet. Memory stays within what one `receive`
    brought and the longest field section.

    Source: RFC 7578 and RFC 2046 section 5.1. Before the first boundary only
    empty lines may stand; a form has no preamble.
    """

    var part: PartHead
    """The part that the last `PART` event was about."""
    var _limits: MultipartLimits
    # CRLF, two dashes, and the boundary.
    var _delimiter: List[UInt8]
    var _input: Buffer
    var _decoded: Buffer
    var _decoder: TransferDecoder
    var _state: UInt8
    var _has_disposition: Bool
    # Octets of the input that the last event lends, dropped at the next call.
    var _lent_len: Int
    # How far the input has been looked through in vain.
    var _scanned: Int
    # Offset of the input's head in the body.
    var _offset: Int
    var _part_count: Int
    var _part_len: Int
    var _section_len: Int

    comptime _START: UInt8 = 0
    comptime _FIELDS: UInt8 = 1
    comptime _CONTENT: UInt8 = 2
    # After a part: its head can still be read.
    comptime _BETWEEN: UInt8 = 3
    comptime _END: UInt8 = 4
    # At the empty line after the fields of a part.
    comptime _EMPTY_LINE: UInt8 = 5

    def __init__(
        out self,
        boundary: StringSpan,
        limits: MultipartLimits = MultipartLimits(),
    ):
        """Starts with no octets.

        Args:
            boundary: As `multipart_boundary` found it.
            limits: How much the form may have.
        """
        self.part = PartHead()
        self._limits = limits
        self._delimiter = List[UInt8](capacity=boundary.byte_length() + 4)
        self._delimiter.extend("\r\n--".as_bytes())
        self._delimiter.extend(boundary.as_bytes())
        self._input = Buffer(0)
        self._decoded = Buffer(0)
        self._decoder = TransferDecoder()
        self._state = Self._START
        self._has_disposition = False
        self._lent_len = 0
        self._scanned = 0
        self._offset = 0
        self._part_count = 0
        self._part_len = 0
        self._section_len = 0

    @no_inline
    def __deinit__(deinit self):
        return

    def receive(mut self, octets: Span[UInt8, _]) raises MultipartError:
        """Takes more of the body.

        Args:
            octets: Of any number.

        Raises:
            MultipartError: If the body is longer than the limit.
        """
        self._drop_lent()
        if self._state == Self._END:
            self._offset += len(octets)
        else:
            self._input.append(octets)
        if self._offset + len(self._input) > self._limits.total_len_max:
            raise self._too_large(
                "the form is longer than total_len_max",
                self._limits.total_len_max,
            )

    def finish(mut self) raises MultipartError:
        """Ends the body.

        Raises:
            MultipartError: If the last boundary has not come.
        """
        if self._state != Self._END:
            raise self._broken(
                "the body must not end before the last boundary, which has two"
                " dashes behind it (RFC 2046 section 5.1.1)",
                len(self._input),
            )

    def data(ref self) -> Span[UInt8, ImmOrigin(origin_of(self))]:
        """Lends the piece of content of the last `DATA` event, until the next
        call; how the content is cut into pieces depends on how it arrived."""
        # SAFETY: both buffers are this parser's own, which is the origin.
        comptime o = ImmOrigin(origin_of(self))
        if self._decoder.is_identity():
            return unsafe_lend[o](self._input.unsafe_base(), self._lent_len)
        return unsafe_lend[o](self._decoded.unsafe_base(), len(self._decoded))

    def next_event(mut self) raises MultipartError -> MultipartEvent:
        """Looks for what comes next, and gives the event.

        Raises:
            MultipartError: If the body breaks a rule or passes a limit; the
                parser must not be used any more.
        """
        self._drop_lent()
        if self._state == Self._START and not self._begin():
            return MultipartEvent.NEEDS_OCTETS
        if self._state == Self._BETWEEN:
            self._begin_part()
        if self._state == Self._FIELDS:
            if not self._read_fields():
                return MultipartEvent.NEEDS_OCTETS
            self._state = Self._EMPTY_LINE
            return MultipartEvent.PART
        if self._state == Self._EMPTY_LINE:
            var line = self._read_empty_line()
            if line.length == NEEDS_MORE:
                return MultipartEvent.NEEDS_OCTETS
            if line.length != NO_MATCH:
                return self._end_part_at(line)
        if self._state == Self._CONTENT:
            return self._read_content()
        self._drop(len(self._input))
        return MultipartEvent.END

    def _begin(mut self) raises MultipartError -> Bool:
        """Takes empty lines and the first boundary; False if it lacks octets."""
        while True:
            var input = self._input.span()
            if len(input) < 2:
                return False
            if input.at(0) == _CR and input.at(1) == _LF:
                self._drop(2)
                continue
            var line = match_delimiter(input, Span(self._delimiter).after(2))
            if line.length == NEEDS_MORE:
                return False
            if line.length == NO_MATCH:
                raise self._broken(
                    "a form begins with its boundary (RFC 2046 section 5.1.1)",
                    0,
                )
            self._drop(line.length)
            if line.is_last:
                self._state = Self._END
            else:
                self._begin_part()
            return True

    def _begin_part(mut self):
        self._state = Self._FIELDS
        self.part = PartHead()
        self._decoder = TransferDecoder()
        self._has_disposition = False
        self._part_len = 0
        self._section_len = 0

    def _end_part_at(
        mut self, line: DelimiterMatch
    ) raises MultipartError -> MultipartEvent:
        self._drop(line.length)
        if not self._decoder.is_complete():
            raise self._broken(_WANTS_ENCODING, 0)
        self._state = Self._END if line.is_last else Self._BETWEEN
        return MultipartEvent.PART_END

    def _read_fields(mut self) raises MultipartError -> Bool:
        """Takes whole field lines; True at the empty one."""
        while True:
            var end = find_octet_within(
                self._input.unsafe_base(), self._scanned, len(self._input), _CR
            )
            if self._section_len + end > self._limits.field_section_len_max:
                raise self._too_large(
                    "the fields of a part are longer than"
                    " field_section_len_max",
                    self._limits.field_section_len_max,
                )
            if end + 2 > len(self._input):
                self._scanned = end
                return False
            if self._input.span().at(end + 1) != _LF:
                raise self._broken(
                    "a line ends with CRLF (RFC 2046 section 5.1.1)", end + 1
                )
            self._section_len += end + 2
            if end == 0:
                break
            self._note_field(end)
            self._drop(end + 2)
        if not self._has_disposition:
            raise self._broken(_WANTS_DISPOSITION, 2)
        self._part_count += 1
        if self._part_count > self._limits.part_count_max:
            raise self._too_large(
                "there are more parts than part_count_max",
                self._limits.part_count_max,
            )
        return True

    def _read_empty_line(mut self) -> DelimiterMatch:
        """Takes the empty line before content. It is the boundary's own where a
        part has no content (RFC 2046 section 5.1.1, `body-part`)."""
        var line = match_delimiter(self._input.span(), Span(self._delimiter))
        if line.length == NO_MATCH:
            self._drop(2)
            self._state = Self._CONTENT
        return line

    def _note_field(mut self, length: Int) raises MultipartError:
        var line = self._input.span().before(length)
        var colon = 0
        while colon < length and materialize[TCHAR]().contains(line.at(colon)):
            colon += 1
        if colon == 0 or colon == length or line.at(colon) != 58:
            raise self._broken(
                "a field line is a name, a colon and a value (RFC 5322"
                " section 2.2)",
                colon,
            )
        for index in range(colon, length):
            var octet = line.at(index)
            if (octet < 32 and octet != 9) or octet == 127:
                raise self._broken(
                    "a field holds no control octet but a tab", index
                )
        var name = line.before(colon)
        var value = trim_whitespace(line.after(colon + 1))
        if equals_ignore_case(name, "content-disposition".as_bytes()):
            var found = FormDisposition.parse(value)
            if not found or self._has_disposition:
                raise self._broken(_WANTS_DISPOSITION, 0)
            self._has_disposition = True
            self.part.name = found.value().name
            self.part.filename = found.value().filename
            self._check_names()
        elif equals_ignore_case(name, "content-type".as_bytes()):
            self.part.content_type = String(from_utf8_lossy=value)
        elif equals_ignore_case(name, "content-transfer-encoding".as_bytes()):
            var decoder = TransferDecoder.named(value)
            if not decoder:
                raise self._broken(_WANTS_ENCODING, 0)
            self._decoder = decoder.value().copy()

    def _check_names(self) raises MultipartError:
        var longest = self.part.name.byte_length()
        if self.part.filename:
            longest = max(longest, self.part.filename.value().byte_length())
        if longest > self._limits.name_len_max:
            raise self._too_large(
                "a name is longer than name_len_max", self._limits.name_len_max
            )

    def _read_content(mut self) raises MultipartError -> MultipartEvent:
        while True:
            var input = self._input.span()
            var end = find_octet_within(
                self._input.unsafe_base(), self._scanned, len(input), _CR
            )
            var line = DelimiterMatch(NEEDS_MORE, False)
            if end < len(input):
                line = match_delimiter(input.after(end), Span(self._delimiter))
            if line.length == NO_MATCH:
                self._scanned = end + 1
                continue
            if end > 0:
                if self._lend(end):
                    return MultipartEvent.DATA
                continue
            if line.length == NEEDS_MORE:
                return MultipartEvent.NEEDS_OCTETS
            return self._end_part_at(line)

    def _lend(mut self, length: Int) raises MultipartError -> Bool:
        """Makes octets at the head the next data; False if they decode to
        none."""
        self._part_len += length
        if self._part_len > self._limits.part_len_max:
            raise self._too_large(
                "a part is longer than part_len_max", self._limits.part_len_max
            )
        if self._decoder.is_identity():
            self._lent_len = length
            return True
        self._decoded.clear()
        if not self._decoder.decode(
            self._input.span().before(length), self._decoded
        ):
            raise self._broken(_WANTS_ENCODING, 0)
        self._drop(length)
        return len(self._decoded) > 0

    def _drop_lent(mut self):
        self._decoded.clear()
        self._drop(self._lent_len)

    def _drop(mut self, count: Int):
        self._input.consume(count)
        self._offset += count
        self._lent_len = 0
        self._scanned = 0

    def _broken(self, rule: StaticString, offset: Int) -> MultipartError:
        return MultipartError(rule, self._offset + offset, -1)

    def _too_large(self, rule: StaticString, limit: Int) -> MultipartError:
        return MultipartError(rule, self._offset, limit)


comptime _WANTS_DISPOSITION = StaticString(
    "a part has one Content-Disposition: form-data with one name in UTF-8"
    " (RFC 7578 section 4.2)"
)
comptime _WANTS_ENCODING = StaticString(
    "a Content-Transfer-Encoding is 7bit, 8bit, binary, or sound base64 or"
    " quoted-printable (RFC 7578 section 4.7)"
)


@fieldwise_init
struct MultipartLimits(ImplicitlyCopyable):
    """How much a form may have."""

    var part_count_max: Int
    """Most parts. Default 1,000."""
    var field_section_len_max: Int
    """Longest field section of one part, in bytes; it bounds names too. Default
    8 KiB."""
    var name_len_max: Int
    """Longest name of a field, or of a file, in bytes. Default 1 KiB."""
    var part_len_max: Int
    """Longest content of one part, in bytes as sent. Default `total_len_max`.
    """
    var total_len_max: Int
    """Longest body, in bytes. Default 10 MiB."""

    def __init__(out self, total_len_max: Int = 10 * 1024 * 1024):
        """Sets the limits that fit most forms.

        1,000 parts are more than any form has by hand; each costs the server
        memory for its names: 8 KiB of fields at most, 1 KiB a name.

        Args:
            total_len_max: Longest body in bytes, and longest part.
        """
        self.part_count_max = 1_000
        self.field_section_len_max = 8_192
        self.name_len_max = 1_024
        self.part_len_max = total_len_max
        self.total_len_max = total_len_max


@fieldwise_init
struct MultipartEvent(Equatable, ImplicitlyCopyable, Writable):
    """What a parser found next."""

    var code: UInt8
    """The case."""

    comptime NEEDS_OCTETS = MultipartEvent(0)
    """Nothing: call `receive`, or `finish` if there is no more."""
    comptime PART = MultipartEvent(1)
    """A part begins: see `part`."""
    comptime DATA = MultipartEvent(2)
    """A piece of the part's content: see `data()`."""
    comptime PART_END = MultipartEvent(3)
    """The part's content is complete."""
    comptime END = MultipartEvent(4)
    """The form is complete; what follows is ignored."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes the number of the case."""
        writer.write(self.code)


struct PartHead(Copyable, Movable):
    """What the fields of a part say."""

    var name: String
    """The name of the form's field."""
    var filename: Optional[String]
    """For a file, its name with the client, without folders. Never use it as a
    path: it may be `..`, or that of a file that is there."""
    var content_type: String
    """The media type as sent; `text/plain` if there is none (RFC 7578
    section 4.4)."""

    def __init__(out self):
        """Makes the head of no part."""
        self.name = String()
        self.filename = None
        self.content_type = String("text/plain")


@fieldwise_init
struct MultipartError(Copyable, Movable, Writable):
    """A multipart/form-data body is refused."""

    var rule: StaticString
    """What is allowed, with its source."""
    var offset: Int
    """Where the body goes wrong, in bytes from its start."""
    var limit: Int
    """The limit that was passed; -1 if a rule was broken."""

    def status(self) -> Int:
        """Names the status to answer with: 413 for a limit, otherwise 400."""
        return 413 if self.limit >= 0 else 400

    def write_to(self, mut writer: Some[Writer]):
        """Writes the message."""
        writer.write("multipart form: at byte ", self.offset, ", ", self.rule)
        if self.limit >= 0:
            writer.write(" (", self.limit, ")")


comptime BOUNDARY_LEN_MAX = 70
"""Longest boundary in bytes (RFC 2046 section 5.1.1)."""

comptime PADDING_LEN_MAX = 64
"""Most spaces and tabs taken between a boundary and its line's end.

RFC 2046 section 5.1.1 sets no limit; nobody writes any.
"""

comptime NO_MATCH = -1
"""Stands for the length of a delimiter line that is none."""
comptime NEEDS_MORE = 0
"""Stands for the length of one that cannot be told from data yet."""


comptime _DASH: UInt8 = 45


def multipart_boundary(
    content_type: StringSpan,
) raises MultipartError -> String:
    """Finds the boundary in a Content-Type field.

    Args:
        content_type: The field's value.

    Returns:
        The boundary.

    Raises:
        MultipartError: If the media type is not multipart/form-data, or has no
            boundary of 1 to 70 octets (RFC 2046 section 5.1.1).
    """
    var media_type: MediaType
    try:
        media_type = MediaType.parse(content_type)
    except error:
        # What follows the type may be what cannot be read.
        if has_essence(content_type.as_bytes(), "multipart/form-data"):
            raise MultipartError(_WANTS_BOUNDARY, 0, -1)
        raise MultipartError(_WANTS_FORM, 0, -1)
    if media_type.essence != "multipart/form-data":
        raise MultipartError(_WANTS_FORM, 0, -1)
    var boundary = media_type.parameter("boundary")
    if not boundary:
        raise MultipartError(_WANTS_BOUNDARY, 0, -1)
    var length = boundary.value().byte_length()
    if length < 1 or length > BOUNDARY_LEN_MAX:
        raise MultipartError(_WANTS_BOUNDARY, 0, -1)
    return boundary.value()


comptime _WANTS_FORM = StaticString(
    "the Content-Type must be multipart/form-data (RFC 7578 section 4.1)"
)
comptime _WANTS_BOUNDARY = StaticString(
    "the Content-Type needs one boundary of 1 to 70 octets, in quotes unless it"
    " is a token (RFC 2046 section 5.1.1)"
)


@fieldwise_init
struct DelimiterMatch(TrivialRegisterPassable):
    """Whether a delimiter line stands somewhere."""

    var length: Int
    """How long it is, in bytes; or `NO_MATCH`, or `NEEDS_MORE`."""
    var is_last: Bool
    """True if it is the last one, with two dashes after the boundary."""


def match_delimiter(
    octets: Span[UInt8, _], delimiter: Span[UInt8, _]
) -> DelimiterMatch:
    """Compares octets that have come so far with a delimiter line (RFC 2046
    section 5.1.1): CRLF, two dashes and the boundary; without the CRLF at the
    start of a body. After the last boundary the rest of the line does not
    count."""
    var common = min(len(octets), len(delimiter))
    if octets.before(common) != delimiter.before(common):
        return DelimiterMatch(NO_MATCH, False)
    var index = common
    if index + 1 < len(octets) and octets.at(index) == _DASH:
        if octets.at(index + 1) == _DASH:
            return DelimiterMatch(index + 2, True)
        return DelimiterMatch(NO_MATCH, False)
    while index < len(octets) and (
        octets.at(index) == 32 or octets.at(index) == 9
    ):
        index += 1
    if index - common > PADDING_LEN_MAX:
        return DelimiterMatch(NO_MATCH, False)
    # A dash after the boundary may be the first of two.
    if index == len(octets) or (
        index + 1 == len(octets)
        and (
            octets.at(index) == _CR
            or (octets.at(index) == _DASH and index == common)
        )
    ):
        return DelimiterMatch(NEEDS_MORE, False)
    if octets.at(index) == _CR and octets.at(index + 1) == _LF:
        return DelimiterMatch(index + 2, False)
    return DelimiterMatch(NO_MATCH, False)
