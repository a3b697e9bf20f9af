"""The head of a response, parsed as it arrives, and how the content after it ends."""

from flare.bytes.buffer import TerminatedInput
from flare.bytes.scan import word64
from flare.http.h1.error import RemoteProtocolError, Rule
from flare.http.h1.field_section import CRLF, FieldSection, HeadLimits
from flare.http.h1.framing import (
    ContentEnd,
    Framing,
    HAS_LENGTH,
    IS_CHUNKED,
    IS_IRREGULAR,
    NOTED_IN_RESPONSE,
    READS_IRREGULAR,
    SWITCHING_PROTOCOLS,
)
from flare.http.h1.request_head import (
    VERSION_LEN,
    check_version_start,
    other_minor_version,
)
from flare.http.message.method import Method
from std.sys.intrinsics import likely, unlikely

comptime _STATUS_OFFSET = 9
comptime _STATUS_END = 12


struct ResponseHead(Movable):
    """Where the parts of one response head stand, and what they mean.

    All offsets count from the start of the response. `parse` may be called
    with more and more of the same octets; it resumes at the line where it
    stopped.
    """

    var status: Int
    """The status code, 100 to 999."""
    var minor_version: UInt8
    """0 for HTTP/1.0, 1 or more for HTTP/1.1 and what is compatible."""
    var reason_offset: Int
    var reason_len: Int
    """Length of the reason phrase in bytes; often 0."""
    var framing: Framing
    var section: FieldSection
    var head_len: Int
    """Length of the complete head in bytes, with its last line end."""
    var is_strict: Bool
    """True to refuse what is irregular but clear: see `READS_IRREGULAR`."""
    var _is_in_fields: Bool

    def __init__(out self):
        self.status = 0
        self.minor_version = 1
        self.reason_offset = 0
        self.reason_len = 0
        self.framing = Framing()
        self.section = FieldSection()
        self.head_len = 0
        self.is_strict = True
        self._is_in_fields = False

    def begin(mut self):
        """Makes the next `parse` start anew; the last places stay readable."""
        self._is_in_fields = False

    def parse(
        mut self, input: TerminatedInput, limits: HeadLimits
    ) raises RemoteProtocolError -> Bool:
        """Parses the head as far as it has arrived; if it is complete,
        `head_len` says where it ends.

        Source: RFC 9112 sections 4 and 5.
        """
        if not self._is_in_fields:
            self.framing = Framing()
            if not self.is_strict:
                self.framing.flags = READS_IRREGULAR
            var fields_offset = self._parse_status_line(input, limits)
            if fields_offset == 0:
                return False
            self._is_in_fields = True
            self.section.begin(fields_offset)
        self.head_len = self.section.parse[NOTED_IN_RESPONSE](
            input, limits, self.framing
        )
        return self.head_len > 0

    def _parse_status_line(
        mut self, input: TerminatedInput, limits: HeadLimits
    ) raises RemoteProtocolError -> Int:
        """Gives the offset after the line, or 0 if octets are missing."""
        if len(input) < VERSION_LEN:
            check_version_start(input, 0)
            return 0
        comptime HTTP_1_1 = word64("HTTP/1.1")
        comptime HTTP_1_0 = word64("HTTP/1.0")
        var version = input.load64(0)
        if likely(version == HTTP_1_1):
            self.minor_version = 1
        elif version == HTTP_1_0:
            self.minor_version = 0
        else:
            self.minor_version = other_minor_version(input, 0)
        if not self._parse_status(input):
            return 0
        # The space after the digits is often left out with the reason; no two
        # parsers can disagree on what such a line means.
        var start = _STATUS_END
        if likely(input[start] == 32):
            start += 1
        elif input[start] != 13 and (self.is_strict or input[start] != 10):
            raise RemoteProtocolError(materialize[Rule.STATUS_LINE](), start)
        var end = input.scan_field_value(start).offset
        if unlikely(end - start > limits.max_target_size):
            raise RemoteProtocolError(
                materialize[Rule.REASON_LEN](), start + limits.max_target_size
            )
        var next = end + 2
        if unlikely(input.load16(end) != CRLF):
            if self.is_strict or input[end] != 10:
                _check_line_stop(input, end)
                return 0
            self.framing.flags |= IS_IRREGULAR
            next = end + 1
        self.reason_offset = start
        self.reason_len = end - start
        return next

    def _parse_status(
        mut self, input: TerminatedInput
    ) raises RemoteProtocolError -> Bool:
        if input[VERSION_LEN] != 32:
            if len(input) > VERSION_LEN:
                raise RemoteProtocolError(
                    materialize[Rule.STATUS_LINE](), VERSION_LEN
                )
            return False
        self.status = 0
        for offset in range(_STATUS_OFFSET, _STATUS_END):
            var digit = Int(input[offset]) - 48
            if digit < 0 or digit > 9:
                if len(input) > offset:
                    raise RemoteProtocolError(
                        materialize[Rule.STATUS_LINE](), offset
                    )
                return False
            self.status = self.status * 10 + digit
        if self.status < 100:
            raise RemoteProtocolError(
                materialize[Rule.STATUS_CODE](), _STATUS_OFFSET
            )
        return len(input) > _STATUS_END


@no_inline
def _check_line_stop(
    input: TerminatedInput, stop: Int
) raises RemoteProtocolError:
    """Tells an unfinished status line from a broken one."""
    var octet = input[stop]
    if stop >= len(input) or (octet == 13 and stop + 1 >= len(input)):
        return
    if octet == 13 or octet == 10:
        raise RemoteProtocolError(materialize[Rule.LINE_END](), stop)
    raise RemoteProtocolError(materialize[Rule.CONTROL](), stop)


def content_end(
    request_method: Method, head: ResponseHead
) raises RemoteProtocolError -> ContentEnd:
    """Decides how a response's content ends, in RFC 9112 section 6.3 order.
    Raises if Content-Length stands beside Transfer-Encoding, or HTTP/1.0 has a
    transfer coding."""
    var status = head.status
    if request_method == Method.HEAD:
        return ContentEnd.NONE
    if status == SWITCHING_PROTOCOLS:
        return ContentEnd.OTHER_PROTOCOL
    if status < 200 or status == 304:
        return ContentEnd.NONE
    # Any 2xx opens the tunnel, 204 too (RFC 9110 section 9.3.6).
    if request_method == Method.CONNECT and status < 300:
        return ContentEnd.OTHER_PROTOCOL
    if status == 204:
        return ContentEnd.NONE
    ref framing = head.framing
    # The RFC lets a client drop the length of this pair. Peers that choose the
    # other one see another end of the response, so we trust neither.
    if framing.has(IS_CHUNKED) and framing.has(HAS_LENGTH):
        raise RemoteProtocolError(
            materialize[Rule.LENGTH_AND_CODING](), head.head_len
        )
    if framing.has(IS_CHUNKED) and head.minor_version == 0:
        raise RemoteProtocolError(
            materialize[Rule.CODING_VERSION](), head.head_len
        )
    if framing.has(IS_CHUNKED):
        return ContentEnd.CHUNKED
    if framing.has(HAS_LENGTH):
        return ContentEnd.SIZED
    return ContentEnd.CLOSE
