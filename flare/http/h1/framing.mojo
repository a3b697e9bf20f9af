"""What the fields of a message say of its framing and its connection.

Each field line is looked at once, when it is parsed; nothing searches the head
again. Names are told by their length, then by whole-word compares.
"""

from flare.bytes.ascii import equals_ignore_case
from flare.bytes.buffer import TerminatedInput
from flare.bytes.checked import *
from flare.bytes.scan import CASE_BITS_32, CASE_BITS_64, TCHAR, word32, word64
from flare.http.h1.error import RemoteProtocolError, Rule
from flare.http.message.content_length import (
    CONTENT_LENGTH_DIGITS_MAX,
    read_content_length,
)
from flare.http.message.expectation import Expectations
from flare.http.message.fields import FieldLine, ListElements
from flare.http.message.target import AUTHORITY_IS_GOOD, authority_error
from std.sys.intrinsics import likely, unlikely

comptime HAS_HOST: UInt32 = 1
comptime HAS_LENGTH: UInt32 = 2
"""A Content-Length field was seen."""
comptime IS_CHUNKED: UInt32 = 4
"""The content is framed by the chunked coding."""
comptime SAYS_CLOSE: UInt32 = 8
"""Connection has the option `close`."""
comptime SAYS_KEEP_ALIVE: UInt32 = 16
"""Connection has the option `keep-alive`."""
comptime EXPECTS_CONTINUE: UInt32 = 32
"""The client waits for 100 (Continue)."""
comptime EXPECTS_OTHER: UInt32 = 64
"""The client expects something that is not known."""
comptime READS_IRREGULAR: UInt32 = 128
"""Set before a head is parsed to read what is irregular but clear: bare LF as
a line end, folded lines, and a Content-Length that is repeated with the same
value. Only a client does (RFC 9112 sections 2.2, 5.2 and 6.3)."""
comptime IS_IRREGULAR: UInt32 = 256
"""Something of the kind was read."""
comptime ASKS_FOR_TUNNEL: UInt32 = 512
"""The method is CONNECT."""

comptime NOTED_IN_TRAILER = 0
"""Fields of a trailer have no say in the framing (RFC 9110 section 6.5.1)."""

comptime NOTED_IN_RESPONSE = (1 << 10) | (1 << 14) | (1 << 17)
"""Connection, Content-Length and Transfer-Encoding, by the bits of their names'
lengths."""

comptime NOTED_IN_REQUEST = NOTED_IN_RESPONSE | (1 << 4) | (1 << 6)
"""The same with Host and Expect."""


comptime CONTINUE = 100
"""The status by which content is asked for (RFC 9110 section 15.2.1)."""

comptime SWITCHING_PROTOCOLS = 101
"""The status after which another protocol begins (RFC 9110 section 15.2.2)."""


@fieldwise_init
struct ContentEnd(Equatable, TrivialRegisterPassable):
    """Where the content of a message ends (RFC 9112 section 6.3)."""

    var number: UInt8

    comptime NONE = ContentEnd(0)
    """With the head: there is no content."""
    comptime SIZED = ContentEnd(1)
    """After as many octets as Content-Length says."""
    comptime CHUNKED = ContentEnd(2)
    """With the last chunk and its trailers."""
    comptime CLOSE = ContentEnd(3)
    """With the connection."""
    comptime OTHER_PROTOCOL = ContentEnd(4)
    """With the head, and what follows is not HTTP: a tunnel, or 101."""


struct Framing(TrivialRegisterPassable):
    """Framing facts of one message head."""

    var flags: UInt32
    """The constants above, or-ed."""
    var content_length: Int
    """The Content-Length in bytes; 0 without one."""

    @always_inline
    def __init__(out self):
        """Makes the framing of a head without fields."""
        self.flags = 0
        self.content_length = 0

    @always_inline
    def has(self, flag: UInt32) -> Bool:
        """Tells whether one of the facts of this file was noted."""
        return (self.flags & flag) != 0

    @always_inline
    def has_content(self) -> Bool:
        """Tells whether octets of content follow the head: chunked, or a
        Content-Length over 0."""
        return self.has(IS_CHUNKED) or self.content_length > 0

    @always_inline
    def keeps_alive(self, minor_version: UInt8) -> Bool:
        """Decides whether the connection may carry another request; the minor
        version is 0 for HTTP/1.0.

        Source: RFC 9112 section 9.3.
        """
        if self.has(SAYS_CLOSE):
            return False
        return minor_version > 0 or self.has(SAYS_KEEP_ALIVE)

    @always_inline
    def note[
        noted_name_lens: Int
    ](
        mut self, input: TerminatedInput, line: FieldLine
    ) raises RemoteProtocolError:
        """Looks at one field line, if it is one of `NOTED_IN_REQUEST` or
        `NOTED_IN_RESPONSE`. Raises if the field breaks a rule of its own."""
        var name_len = line.name_len()
        if likely(name_len > 17 or ((noted_name_lens >> name_len) & 1) == 0):
            return
        var name = line.name_offset()
        comptime HOST = word32("host")
        comptime CONNECTI = word64("connecti")
        if name_len == 4:
            if (input.load32(name) | CASE_BITS_32) == HOST:
                self._note_host(input, line)
        elif name_len == 10:
            # A token has no octet whose case bit makes it another token octet
            # here but letters, and `-` has the bit already.
            if (input.load64(name) | CASE_BITS_64) == CONNECTI and (
                input.load16(name + 8) | 0x2020
            ) == 0x6E6F:
                self._note_connection(input, line)
        else:
            self._note_rarer(input, line)

    @always_inline
    def _note_host(
        mut self, input: TerminatedInput, line: FieldLine
    ) raises RemoteProtocolError:
        if unlikely(self.has(HAS_HOST)):
            raise RemoteProtocolError(
                materialize[Rule.HOST_REPEATED](), line.name_offset()
            )
        self.flags |= HAS_HOST
        var start = line.value_offset()
        # RFC 9110 section 4.2.1: neither an http nor an https URI has none.
        if unlikely(line.value_len() == 0):
            raise RemoteProtocolError(materialize[Rule.HOST_VALUE](), start)
        # SAFETY: the value ends before the terminator.
        var stop = authority_error(
            input.unsafe_base(), start, start + line.value_len()
        )
        if unlikely(stop != AUTHORITY_IS_GOOD):
            raise RemoteProtocolError(materialize[Rule.HOST_VALUE](), stop)

    @always_inline
    def _note_connection(mut self, input: TerminatedInput, line: FieldLine):
        comptime KEEP_ALI = word64("keep-ali")
        comptime CLOS = word32("clos")
        var value = line.value_offset()
        if (
            line.value_len() == 10
            and (input.load64(value) | CASE_BITS_64) == KEEP_ALI
            and (input.load16(value + 8) | 0x2020) == 0x6576
        ):
            self.flags |= SAYS_KEEP_ALIVE
        elif (
            line.value_len() == 5
            and (input.load32(value) | CASE_BITS_32) == CLOS
            and (input.load16(value + 3) | 0x2020) == 0x6573
        ):
            self.flags |= SAYS_CLOSE
        else:
            self._note_connection_options(input, line)

    @no_inline
    def _note_connection_options(
        mut self, input: TerminatedInput, line: FieldLine
    ):
        """Reads a list of connection options (RFC 9110 section 7.6.1)."""
        var value = input.span(line.value_offset(), line.value_len())
        for option in ListElements(value):
            if equals_ignore_case(option, "close".as_bytes()):
                self.flags |= SAYS_CLOSE
            elif equals_ignore_case(option, "keep-alive".as_bytes()):
                self.flags |= SAYS_KEEP_ALIVE

    @no_inline
    def _note_rarer(
        mut self, input: TerminatedInput, line: FieldLine
    ) raises RemoteProtocolError:
        var name = input.span(line.name_offset(), line.name_len())
        var value = input.span(line.value_offset(), line.value_len())
        if equals_ignore_case(name, "content-length".as_bytes()):
            self._note_length(value, line.value_offset())
        elif equals_ignore_case(name, "transfer-encoding".as_bytes()):
            # A second Transfer-Encoding line continues the list of the first,
            # and chunked would then stand in it twice, or not last.
            if self.has(IS_CHUNKED):
                raise RemoteProtocolError(
                    materialize[Rule.CODING_NOT_FINAL](), line.value_offset()
                )
            var broken = check_transfer_encoding(value)
            if broken:
                raise RemoteProtocolError(broken.held(), line.value_offset())
            self.flags |= IS_CHUNKED
        elif equals_ignore_case(name, "expect".as_bytes()):
            var expected = Expectations(value)
            if expected.has_continue:
                self.flags |= EXPECTS_CONTINUE
            if expected.has_other:
                self.flags |= EXPECTS_OTHER

    def _note_length(
        mut self, value: Span[UInt8, _], offset: Int
    ) raises RemoteProtocolError:
        if self.has(READS_IRREGULAR) and (
            self.has(HAS_LENGTH) or not _is_single(value)
        ):
            return self._note_equal_lengths(value, offset)
        if self.has(HAS_LENGTH):
            raise RemoteProtocolError(
                materialize[Rule.LENGTH_REPEATED](), offset
            )
        self.flags |= HAS_LENGTH
        self.content_length = _parse_length(value, offset)

    def _note_equal_lengths(
        mut self, value: Span[UInt8, _], offset: Int
    ) raises RemoteProtocolError:
        """Takes lines and lists that say the same length (RFC 9112 section
        6.3, point 5)."""
        for element in ListElements(value.as_imm()):
            var length = _parse_length(element, offset)
            if self.has(HAS_LENGTH):
                if length != self.content_length:
                    raise RemoteProtocolError(
                        materialize[Rule.LENGTH_REPEATED](), offset
                    )
                self.flags |= IS_IRREGULAR
            self.flags |= HAS_LENGTH
            self.content_length = length

    @always_inline
    def check(
        self, minor_version: UInt8, offset: Int
    ) raises RemoteProtocolError:
        """Checks what can be told only when all fields are there, up to the
        head's end at `offset`; the minor version is 0 for HTTP/1.0."""
        comptime PLAIN = HAS_HOST | SAYS_KEEP_ALIVE | SAYS_CLOSE | HAS_LENGTH
        if likely(
            minor_version > 0
            and self.has(HAS_HOST)
            and (self.flags & ~PLAIN) == 0
        ):
            return
        if minor_version > 0 and not self.has(HAS_HOST):
            raise RemoteProtocolError(materialize[Rule.HOST_MISSING](), offset)
        if self.has(IS_CHUNKED) and self.has(HAS_LENGTH):
            raise RemoteProtocolError(
                materialize[Rule.LENGTH_AND_CODING](), offset
            )
        if self.has(IS_CHUNKED) and minor_version == 0:
            raise RemoteProtocolError(
                materialize[Rule.CODING_VERSION](), offset
            )
        if self.has(ASKS_FOR_TUNNEL):
            raise RemoteProtocolError(materialize[Rule.TUNNEL](), offset)
        if self.has(EXPECTS_OTHER) and minor_version > 0:
            raise RemoteProtocolError(materialize[Rule.EXPECTATION](), offset)


def _is_single(value: Span[UInt8, _]) -> Bool:
    """Tells whether a value is no list, but for a list of one element."""
    for octet in value:
        if octet == 44:
            return False
    return len(value) > 0


def _parse_length(
    value: Span[UInt8, _], offset: Int
) raises RemoteProtocolError -> Int:
    var length = read_content_length(value)
    if unlikely(length < 0):
        raise RemoteProtocolError(
            materialize[Rule.LENGTH_VALUE](), offset + _bad_digit(value)
        )
    return length


def _bad_digit(value: Span[UInt8, _]) -> Int:
    """Finds what is no digit in a length that is none; 0 if it is its length."""
    if len(value) > CONTENT_LENGTH_DIGITS_MAX:
        return 0
    for index in range(len(value)):
        if value.at(index) < 48 or value.at(index) > 57:
            return index
    return 0


comptime _REGISTERED = StaticString("gzip x-gzip deflate compress x-compress")


def check_transfer_encoding(value: Span[UInt8, _]) -> Optional[Rule]:
    """Decides whether a request with this Transfer-Encoding can be framed: None
    if `chunked` is the one coding.

    Source: RFC 9112 sections 6.1 and 6.3: a request whose final coding is not
    chunked has no length (400); codings we do not decode are not implemented
    (501). Empty elements of the list count for nothing (RFC 9110 section
    5.6.1).
    """
    if equals_ignore_case(value, "chunked".as_bytes()):
        return None
    var chunked_count = 0
    var other_count = 0
    var last_is_chunked = False
    for coding in ListElements(value.as_imm()):
        if len(coding) == 0:
            continue
        last_is_chunked = equals_ignore_case(coding, "chunked".as_bytes())
        if last_is_chunked:
            chunked_count += 1
            continue
        other_count += 1
        var name_len = _name_len(coding)
        if name_len == 0 or equals_ignore_case(
            coding.before(name_len), "chunked".as_bytes()
        ):
            # No coding at all, or chunked with what it never has: parameters
            # (RFC 9112 section 7).
            return materialize[Rule.CODING_NOT_FINAL]()
        if not _is_registered(coding.before(name_len)):
            return materialize[Rule.CODING_UNKNOWN]()
    if chunked_count != 1 or not last_is_chunked:
        return materialize[Rule.CODING_NOT_FINAL]()
    if other_count > 0:
        return materialize[Rule.CODING_UNKNOWN]()
    return None


def _name_len(coding: Span[UInt8, _]) -> Int:
    """Measures the token that a coding begins with."""
    var end = 0
    while end < len(coding) and materialize[TCHAR]().contains(coding.at(end)):
        end += 1
    return end


def _is_registered(name: Span[UInt8, _]) -> Bool:
    var registered = _REGISTERED.as_bytes()
    var start = 0
    for end in range(len(registered) + 1):
        if end < len(registered) and registered.at(end) != 32:
            continue
        if equals_ignore_case(name, registered.between(start, end)):
            return True
        start = end + 1
    return False
