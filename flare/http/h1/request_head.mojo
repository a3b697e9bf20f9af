"""The head of a request: request line and header section, parsed as they arrive."""

from flare.bytes.buffer import TerminatedInput
from flare.bytes.checked import *
from flare.bytes.scan import TCHAR, word32, word64
from flare.http.h1.error import RemoteProtocolError, Rule
from flare.http.h1.field_section import CRLF, FieldSection, HeadLimits
from flare.http.h1.framing import ASKS_FOR_TUNNEL, Framing, NOTED_IN_REQUEST
from flare.http.message.method import METHOD_LEN_MAX, Method
from flare.http.message.target import TargetParts, split_target
from std.sys.intrinsics import likely, unlikely

comptime EMPTY_LINE_COUNT_MAX = 8
"""Most empty lines skipped before a request line (RFC 9112 section 2.2).

The RFC asks for at least one; some old clients send one after a body.
"""


struct RequestHead(Movable):
    """Where the parts of one request head stand, and what they mean.

    All offsets count from the start of the request. `parse` may be called with
    more and more of the same octets; it resumes at the line where it stopped.
    """

    var method: Method
    var method_offset: Int
    """Start of the method's name, after skipped empty lines."""
    var method_len: Int
    """Length of the method's name in bytes."""
    var target_offset: Int
    var target_len: Int
    var target: TargetParts
    var minor_version: UInt8
    """0 for HTTP/1.0, 1 or more for HTTP/1.1 and what is compatible."""
    var framing: Framing
    var section: FieldSection
    var head_len: Int
    """Length of the complete head in bytes, with its last CRLF."""
    var _is_in_fields: Bool

    def __init__(out self):
        self.method = Method.OTHER
        self.method_offset = 0
        self.method_len = 0
        self.target_offset = 0
        self.target_len = 0
        self.target = TargetParts(0, 0, 0)
        self.minor_version = 1
        self.framing = Framing()
        self.section = FieldSection()
        self.head_len = 0
        self._is_in_fields = False

    @always_inline
    def begin(mut self):
        """Forgets the last request."""
        self.framing = Framing()
        self.head_len = 0
        self._is_in_fields = False

    def has_request_line(self) -> Bool:
        return self._is_in_fields

    def forget_request_line(mut self):
        """Forgets what a former request has left."""
        self.method = Method.OTHER
        self.method_offset = 0
        self.method_len = 0
        self.target_offset = 0
        self.target_len = 0
        self.target = TargetParts(0, 0, 0)
        self.minor_version = 1
        self.section.begin(0)

    @always_inline
    def parse(
        mut self, input: TerminatedInput, limits: HeadLimits
    ) raises RemoteProtocolError -> Bool:
        """Parses the head as far as it has arrived; if it is complete,
        `head_len` says where it ends.

        Source: RFC 9112 sections 2 to 6.
        """
        if likely(not self._is_in_fields):
            var fields_offset = self._parse_request_line(input, limits)
            if unlikely(fields_offset == 0):
                return False
            self._is_in_fields = True
            self.section.begin(fields_offset)
        var end = self.section.parse[NOTED_IN_REQUEST](
            input, limits, self.framing
        )
        if unlikely(end == 0):
            return False
        self.head_len = end
        self.framing.check(self.minor_version, end)
        return True

    @always_inline
    def _parse_request_line(
        mut self, input: TerminatedInput, limits: HeadLimits
    ) raises RemoteProtocolError -> Int:
        """Gives the offset after the line, or 0 if octets are missing."""
        var start = 0
        if unlikely(input[0] == 13):
            self.method = Method.OTHER
            start = _skip_empty_lines(input)
            if start < 0:
                return 0
        comptime GET = word32("GET ")
        comptime POST = word32("POST")
        var word = input.load32(start)
        self.method_offset = start
        if likely(word == GET):
            self.method = Method.GET
            self.method_len = 3
        elif word == POST and input[start + 4] == 32:
            self.method = Method.POST
            self.method_len = 4
        elif not self._parse_other_method(input, start):
            return 0
        var target = start + self.method_len + 1
        var end = input.scan_target(target)
        if unlikely(
            input[end] != 32
            or end == target
            or end - target > limits.max_target_size
        ):
            _check_target_stop(target, end, len(input), limits)
            return 0
        self.target_offset = target
        self.target_len = end - target
        # SAFETY: the target ends before the terminator.
        self.target = split_target(
            self.method, input.unsafe_base(), target, end - target
        )
        # The version goes first: a target of HTTP/2 may have no form of ours.
        var fields_offset = self._parse_version(input, end + 1)
        if unlikely(self.target.path_offset < 0 and fields_offset > 0):
            raise RemoteProtocolError(materialize[Rule.TARGET](), target)
        return fields_offset

    @always_inline
    def _parse_version(
        mut self, input: TerminatedInput, start: Int
    ) raises RemoteProtocolError -> Int:
        comptime HTTP_1_1 = word64("HTTP/1.1")
        comptime HTTP_1_0 = word64("HTTP/1.0")
        var version = input.load64(start)
        if likely(version == HTTP_1_1):
            self.minor_version = 1
        elif version == HTTP_1_0:
            self.minor_version = 0
        elif start + VERSION_LEN > len(input):
            check_version_start(input, start)
            return 0
        else:
            self.minor_version = other_minor_version(input, start)
        if unlikely(input.load16(start + 8) != CRLF):
            var has_lone_cr = start + 9 == len(input) and input[start + 8] == 13
            if start + 8 >= len(input) or has_lone_cr:
                return 0
            raise RemoteProtocolError(materialize[Rule.LINE_END](), start + 8)
        return start + 10

    @no_inline
    def _parse_other_method(
        mut self, input: TerminatedInput, start: Int
    ) raises RemoteProtocolError -> Bool:
        # An answer to what has no method yet must not take that of the request
        # before.
        self.method = Method.OTHER
        var end = input.scan_class[TCHAR](start)
        if end - start > METHOD_LEN_MAX:
            raise RemoteProtocolError(materialize[Rule.METHOD_LEN](), end)
        if end >= len(input):
            return False
        if input[end] != 32 or end == start:
            raise RemoteProtocolError(materialize[Rule.METHOD](), end)
        self.method_len = end - start
        self.method = Method(
            StringSpan(unsafe_from_utf8=input.span(start, end - start))
        )
        if self.method == Method.CONNECT:
            self.framing.flags |= ASKS_FOR_TUNNEL
        return True


@no_inline
def _skip_empty_lines(input: TerminatedInput) raises RemoteProtocolError -> Int:
    """Gives the offset of the first octet after CRLFs, or -1 if there is none."""
    var start = 0
    while input[start] == 13:
        if start + 1 >= len(input):
            return -1
        if input[start + 1] != 10:
            raise RemoteProtocolError(materialize[Rule.LINE_END](), start)
        start += 2
        if start > 2 * EMPTY_LINE_COUNT_MAX:
            raise RemoteProtocolError(materialize[Rule.EMPTY_LINES](), start)
    return start if start < len(input) else -1


@no_inline
def _check_target_stop(
    start: Int, stop: Int, length: Int, limits: HeadLimits
) raises RemoteProtocolError:
    """Tells an unfinished target from a broken one."""
    if stop - start > limits.max_target_size:
        raise RemoteProtocolError(
            materialize[Rule.TARGET_LEN](), start + limits.max_target_size
        )
    if stop < length:
        raise RemoteProtocolError(materialize[Rule.TARGET](), stop)


comptime VERSION_LEN = 8
"""Octets of a version such as HTTP/1.1 (RFC 9112 section 2.3)."""


@no_inline
def check_version_start(
    input: TerminatedInput, start: Int
) raises RemoteProtocolError:
    """Refuses what can be no start of a version, however it goes on.

    Without it, a line that has ended too early would be waited for.
    """
    comptime VERSION = StaticString("HTTP/1.1")
    for offset in range(start, min(len(input), start + VERSION_LEN)):
        var octet = input[offset]
        var wanted = VERSION.as_bytes().at(offset - start)
        var is_digit = wanted == 49 and octet >= 48 and octet <= 57
        if octet != wanted and not is_digit:
            raise RemoteProtocolError(materialize[Rule.VERSION_SYNTAX](), start)


@no_inline
def other_minor_version(
    input: TerminatedInput, start: Int
) raises RemoteProtocolError -> UInt8:
    """Reads the minor version of an HTTP/1.x that is neither 1.1 nor 1.0, of
    eight octets that are there. Raises if it is no version, or another major
    one.

    Source: RFC 9112 section 2.3.
    """
    comptime NAME = word32("HTTP")
    var major = input[start + 5]
    var minor = input[start + 7]
    var is_version = (
        input.load32(start) == NAME
        and input[start + 4] == 47
        and major >= 48
        and major <= 57
        and input[start + 6] == 46
        and minor >= 48
        and minor <= 57
    )
    if not is_version:
        raise RemoteProtocolError(materialize[Rule.VERSION_SYNTAX](), start)
    if major != 49:
        raise RemoteProtocolError(materialize[Rule.VERSION_MAJOR](), start)
    return minor - 48
