"""A field section as HTTP/2 carries it: the header of a request or a response,
or trailers, with the rules of RFC 9113 sections 8.1 to 8.3.
"""

from flare.bytes.ascii import equals_ignore_case, is_scheme_octet
from flare.bytes.buffer import Buffer, unsafe_lend
from flare.bytes.checked import *
from flare.bytes.compare import same_octets
from flare.http.h2.error import Http2Error, Http2Rule
from flare.http.h2.hpack_decoder import (
    DECODED_LEN_MAX,
    HpackDecoder,
    HpackField,
)
from flare.http.h2.hpack_table import (
    ENTRY_OVERHEAD,
    FieldKind,
    is_token,
    is_visible,
)
from flare.http.h2.priority import Priority
from flare.http.message.content_length import read_content_length
from flare.http.message.expectation import Expectations
from flare.http.message.fields import FieldLine, Fields
from flare.http.message.method import METHOD_LEN_MAX, Method
from flare.http.message.request import RequestLine, Version
from flare.http.message.target import (
    TargetParts,
    split_target,
)
from std.sys.intrinsics import likely, unlikely

comptime WANTS_UPGRADE = 101
"""`SectionFacts.status` of a request that asks for WebSocket (RFC 8441)."""


@fieldwise_init
struct SectionLimits(TrivialRegisterPassable):
    """How large a field section may be; what is beyond is answered, and what
    the table of the peer has to know of it is decoded nevertheless."""

    var size_max: Int
    """The largest section in bytes, each field counted with 32 more (RFC 9113
    section 6.5.2)."""
    var field_count_max: Int
    """Most fields, each crumb of a cookie counted."""
    var target_len_max: Int
    """Longest `:path` in bytes."""


struct SectionFacts(ImplicitlyCopyable, Movable):
    """What the fields of a section mean to the stream."""

    var status: Int
    """The status to answer with in place of a handler, 0 if there is none: the
    request is understood, and is more than is allowed here. `WANTS_UPGRADE` if
    it is an extended CONNECT for WebSocket; then method and fields are those of
    the GET that HTTP/1.1 has for it, but for Sec-WebSocket-Key."""
    var content_length: Int
    """What content-length says, in bytes; -1 without one."""
    var method: Method
    """A request's method."""
    var target: TargetParts
    """The parts of a request's target."""
    var expects_continue: Bool
    """True if a request expects 100-continue."""
    var response_status: Int
    """A response's status."""
    # Which pseudo-header fields there are, by the bits of their kinds.
    var _seen: UInt32
    var _is_text: Bool
    var _has_bad_host: Bool
    var _broken: Optional[Http2Rule]
    var _is_cut: Bool
    var _expects_more: Bool
    var _cookie_count: Int
    # Indices of fields; -1 for none.
    var _host: Int
    var _priority: Int

    @always_inline
    def __init__(out self):
        """Says what no fields mean."""
        self.status = 0
        self.content_length = -1
        self.method = Method.OTHER
        self.target = TargetParts(0, 0, 0)
        self.expects_continue = False
        self.response_status = 0
        self._seen = 0
        self._is_text = True
        self._has_bad_host = False
        self._broken = None
        self._is_cut = False
        self._expects_more = False
        self._cookie_count = 0
        self._host = -1
        self._priority = -1


struct Http2FieldSection(Movable):
    """Decoded fields, and what they mean to the stream."""

    var octets: Buffer
    """Names and values, one after the other."""
    var facts: SectionFacts
    """What they mean."""
    var _lines: List[FieldLine]
    var _count: Int
    var _pseudo: Array[FieldLine, 8]

    def __init__(out self):
        """Makes an empty section."""
        self.octets = Buffer(0)
        self.facts = SectionFacts()
        self._lines = []
        self._count = 0
        self._pseudo = Array[FieldLine, 8](fill=FieldLine(0, 0, 0, 0))

    def clear(mut self):
        """Forgets the fields and keeps the memory."""
        self.octets.clear()
        self.facts = SectionFacts()
        self._count = 0

    def copy_from(mut self, other: Self):
        """Becomes a copy of another section, and keeps the memory.

        Args:
            other: The section.
        """
        self.octets.clear()
        self.octets.append(other.octets.span())
        self.facts = other.facts
        self._count = 0
        for index in range(other._count):
            self._keep(other._lines.at(index))
        self._pseudo = other._pseudo.copy()

    @always_inline
    def __len__(self) -> Int:
        """Counts the fields, but for pseudo-header fields."""
        return self._count

    def decode(
        mut self,
        mut decoder: HpackDecoder,
        block: Span[UInt8, _],
        limits: SectionLimits,
    ) raises Http2Error:
        """Decodes a field block, which the section then consists of.

        What breaks a rule of one stream is told by the check that follows.

        Args:
            decoder: The connection's.
            block: The whole block.
            limits: How large the section may be.

        Raises:
            Http2Error: If the block is not well-formed, or decodes to more than
                `DECODED_LEN_MAX`; the connection ends.
        """
        self.clear()
        decoder.begin()
        var size = 0
        # Of fields that are kept or not: a reference of an octet may stand for
        # an entry of the whole table.
        var decoded_len = 0
        while True:
            var kept_len = len(self.octets)
            var field = decoder.next(block, self.octets)
            if not field.is_there:
                break
            var length = field.line.name_len() + field.line.value_len()
            decoded_len += length
            if unlikely(decoded_len > DECODED_LEN_MAX):
                raise Http2Error(Http2Rule.FIELD_BLOCK_LEN, 0)
            size += length + ENTRY_OVERHEAD
            if unlikely(
                size > limits.size_max or self._count >= limits.field_count_max
            ):
                self.facts._is_cut = True
            if unlikely(self.facts._is_cut):
                self.octets.truncate(kept_len)
                continue
            var note = field.note
            # Most are sound, and stand where they may.
            if likely(note == FieldKind.OTHER or note == FieldKind.TE):
                self._keep(field.line)
            elif likely(
                note < FieldKind.PSEUDO_UNKNOWN
                and self._count == 0
                and not self._has(note)
            ):
                self._keep_pseudo(note, field.line)
            else:
                self._note(field)
        if unlikely(self.facts._cookie_count > 1):
            self._join_cookies()

    @always_inline
    def _keep(mut self, line: FieldLine):
        if self._count < len(self._lines):
            self._lines.at(self._count) = line
        else:
            self._lines.append(line)
        self._count += 1

    def _break(mut self, rule: Http2Rule):
        """Remembers the first rule that was broken."""
        if not self.facts._broken:
            self.facts._broken = rule

    def _value(
        self, line: FieldLine
    ) -> Span[UInt8, ImmOrigin(origin_of(self.octets))]:
        var start = line.value_offset()
        return self.octets.span().between(start, start + line.value_len())

    def _note(mut self, field: HpackField):
        """Takes a field that means something to HTTP/2, or is malformed."""
        if field.note & FieldKind.BAD_NAME != 0:
            self._break(Http2Rule.FIELD_NAME)
        if field.note & FieldKind.BAD_VALUE != 0:
            self._break(Http2Rule.FIELD_VALUE)
        self.facts._is_text = (
            self.facts._is_text and field.note & FieldKind.IS_HIGH == 0
        )
        # Of `te` it says that, too, and the section is broken in any case.
        self.facts._has_bad_host |= field.note & FieldKind.BAD_OF_KIND != 0
        var kind = field.note & FieldKind.KINDS
        if kind != FieldKind.OTHER and kind <= FieldKind.PSEUDO_MAX:
            self._note_pseudo(kind, field.line)
            return
        if kind == FieldKind.CONTENT_LENGTH:
            self._note_length(field.line)
        elif kind == FieldKind.HOST:
            if self.facts._host >= 0:
                self._break(Http2Rule.HOST)
            self.facts._host = self._count
        elif kind == FieldKind.COOKIE:
            self.facts._cookie_count += 1
        elif kind == FieldKind.TE:
            if field.note & FieldKind.BAD_OF_KIND != 0:
                self._break(Http2Rule.CONNECTION_FIELD)
        elif kind == FieldKind.OF_CONNECTION:
            self._break(Http2Rule.CONNECTION_FIELD)
        elif kind == FieldKind.PRIORITY:
            if self.facts._priority < 0:
                self.facts._priority = self._count
        elif kind == FieldKind.EXPECT:
            self._note_expectations(field.line)
        self._keep(field.line)

    @no_inline
    def _note_expectations(mut self, line: FieldLine):
        var expected = Expectations(self._value(line))
        self.facts.expects_continue |= expected.has_continue
        self.facts._expects_more |= expected.has_other

    def _note_pseudo(mut self, kind: UInt8, line: FieldLine):
        if self._count > 0:
            self._break(Http2Rule.PSEUDO_LATE)
        if kind == FieldKind.PSEUDO_UNKNOWN:
            self._break(Http2Rule.PSEUDO_UNKNOWN)
        if self._has(kind):
            self._break(Http2Rule.PSEUDO_REPEATED)
        self._keep_pseudo(kind, line)

    @always_inline
    def _keep_pseudo(mut self, kind: UInt8, line: FieldLine):
        self.facts._seen |= UInt32(1) << UInt32(kind)
        self._pseudo.at(Int(kind)) = line

    def _note_length(mut self, line: FieldLine):
        """Reads content-length (RFC 9110 section 8.6)."""
        var length = read_content_length(self._value(line))
        if length < 0 or self.facts.content_length >= 0:
            self._break(Http2Rule.CONTENT_LENGTH)
        self.facts.content_length = max(length, 0)

    @no_inline
    def _join_cookies(mut self):
        """Makes one field of the crumbs of a cookie (RFC 9113 section 8.2.3)."""
        var joined = Buffer(0)
        var count = 0
        var first = -1
        for index in range(self._count):
            var line = self._lines.at(index)
            if same_octets(self._name(line), "cookie".as_bytes()):
                if first >= 0:
                    joined.append("; ".as_bytes())
                else:
                    first = count
                    count += 1
                joined.append(self._value(line))
                continue
            self._lines.at(count) = line
            # What stood after the crumbs has moved.
            if index == self.facts._host:
                self.facts._host = count
            if index == self.facts._priority:
                self.facts._priority = count
            count += 1
        self._count = count
        var name = self._lines.at(first)
        var start = len(self.octets)
        if start + len(joined) > DECODED_LEN_MAX:
            self.facts._is_cut = True
            return
        self.octets.append(joined.span())
        self._lines.at(first) = FieldLine(
            name.name_offset(), name.name_len(), start, len(joined)
        )

    def _name(
        self, line: FieldLine
    ) -> Span[UInt8, ImmOrigin(origin_of(self.octets))]:
        var start = line.name_offset()
        return self.octets.span().between(start, start + line.name_len())

    @always_inline
    def _has(self, kind: UInt8) -> Bool:
        return self.facts._seen & (UInt32(1) << UInt32(kind)) != 0

    @always_inline
    def pseudo(
        self, kind: UInt8
    ) -> Span[UInt8, ImmOrigin(origin_of(self.octets))]:
        """Lends the value of a pseudo-header field; empty if it was not sent.

        Args:
            kind: Which one, by `FieldKind`.
        """
        if not self._has(kind):
            return self.octets.span().before(0)
        return self._value(self._pseudo.at(Int(kind)))

    @always_inline
    def has_priority(self) -> Bool:
        """Tells whether there is a `priority` field, or more."""
        return self.facts._priority >= 0

    def priority(self) -> Priority:
        """Tells what all `priority` fields say (RFC 9218 section 5), which are
        one dictionary (RFC 8941 section 4.2): what holds if nothing is said,
        unless all of them are well-formed."""
        var priority = Priority()
        for index in range(max(self.facts._priority, 0), self._count):
            var line = self._lines.at(index)
            if same_octets(self._name(line), "priority".as_bytes()):
                if not priority.take(self._value(line)):
                    return Priority()
        return priority

    def is_extended_connect(self) -> Bool:
        """Tells whether a request asks for another protocol (RFC 8441): it has
        `:protocol`."""
        return self._has(FieldKind.PROTOCOL)

    def check_request(
        mut self, limits: SectionLimits, stream_id: Int
    ) raises Http2Error:
        """Checks the header section of a request (RFC 9113 section 8.3.1), and
        finds the parts of its target.

        Args:
            limits: Bounds of the target.
            stream_id: The request's stream, for the error.

        Raises:
            Http2Error: If the request is malformed. One that is not, but is not
                allowed here, has `status` set.
        """
        if self.facts._broken:
            raise Http2Error(self.facts._broken.value(), stream_id)
        if self.facts._is_cut:
            self.facts.status = 431
            self._forget_odd_names()
            return
        if self.facts._expects_more:
            self.facts.status = 417
        var rule = self._broken_rule(limits)
        if rule:
            raise Http2Error(rule.value(), stream_id)

    def _forget_odd_names(mut self):
        """Forgets pseudo-header fields that are not visible ASCII, in a section
        whose fields are not looked at any further."""
        for kind in range(1, Int(FieldKind.PSEUDO_MAX) + 1):
            if not is_visible(self.pseudo(UInt8(kind))):
                self.facts._seen &= ~(UInt32(1) << UInt32(kind))

    def _broken_rule(mut self, limits: SectionLimits) -> Optional[Http2Rule]:
        if not self._has(FieldKind.METHOD) or self._has(FieldKind.STATUS):
            return Http2Rule.PSEUDO_UNKNOWN if self._has(
                FieldKind.STATUS
            ) else Http2Rule.PSEUDO_MISSING
        var name = self.pseudo(FieldKind.METHOD)
        self.facts.method = Method(StringSpan(unsafe_from_utf8=name))
        if unlikely(self.facts.method == Method.OTHER):
            if len(name) == 0 or not is_token(name):
                return Http2Rule.PSEUDO_VALUE
            if len(name) > METHOD_LEN_MAX:
                self.facts.status = 501
        var is_connect = self.facts.method == Method.CONNECT
        if self.is_extended_connect():
            var protocol = self.pseudo(FieldKind.PROTOCOL)
            if not is_connect or len(protocol) == 0 or not is_token(protocol):
                return Http2Rule.PSEUDO_VALUE
            if not equals_ignore_case(protocol, "websocket".as_bytes()):
                self.facts.status = 501
        if is_connect and not self.is_extended_connect():
            return self._broken_rule_of_tunnel()
        if not self._has(FieldKind.SCHEME) or not self._has(FieldKind.PATH):
            return Http2Rule.PSEUDO_MISSING
        var scheme = self.pseudo(FieldKind.SCHEME)
        var is_common = same_octets(scheme, "https".as_bytes()) or (
            same_octets(scheme, "http".as_bytes())
        )
        if not is_common:
            if not _is_scheme(scheme):
                return Http2Rule.PSEUDO_VALUE
            if self._default_port() == 0 and self.facts.status == 0:
                # A resource of another protocol (RFC 9110 section 7.4).
                self.facts.status = 421
        var rule = self._broken_rule_of_host()
        if rule:
            return rule
        rule = self._broken_rule_of_path(limits)
        if unlikely(self.is_extended_connect()):
            if not rule and self.facts.status == 0:
                self._become_upgrade()
        return rule

    def _become_upgrade(mut self):
        """Makes an extended CONNECT what it is in HTTP/1.1 (RFC 8441 section 5).

        A request of HTTP/2 cannot have the fields by itself (RFC 9113 section
        8.2.2).
        """
        comptime WORDS = StaticString("GETupgradewebsocketconnectionUpgrade")
        var start = len(self.octets)
        if start + WORDS.byte_length() > DECODED_LEN_MAX:
            self.facts.status = 431
            return
        self.octets.append_literal[WORDS]()
        ref method = self._pseudo.at(Int(FieldKind.METHOD))
        method = FieldLine(method.name_offset(), method.name_len(), start, 3)
        self.facts.method = Method.GET
        self._keep(FieldLine(start + 3, 7, start + 10, 9))
        self._keep(FieldLine(start + 19, 10, start + 29, 7))
        self.facts.status = WANTS_UPGRADE

    def _broken_rule_of_tunnel(mut self) -> Optional[Http2Rule]:
        """Checks CONNECT (RFC 9113 section 8.5), which gets 501."""
        if self._has(FieldKind.SCHEME) or self._has(FieldKind.PATH):
            return Http2Rule.PSEUDO_VALUE
        if not self._has(FieldKind.AUTHORITY):
            return Http2Rule.PSEUDO_MISSING
        self.facts.status = 501
        return self._broken_rule_of_host()

    def _broken_rule_of_host(mut self) -> Optional[Http2Rule]:
        """Checks :authority and host: one of them is there, and both are the
        same host (RFC 9113 section 8.3.1)."""
        if self.facts._host < 0 and not self._has(FieldKind.AUTHORITY):
            return Http2Rule.PSEUDO_MISSING
        if self.facts._host >= 0:
            var line = self._lines.at(self.facts._host)
            if not self._has(FieldKind.AUTHORITY):
                self._pseudo.at(Int(FieldKind.AUTHORITY)) = line
                self.facts._seen |= UInt32(1) << UInt32(FieldKind.AUTHORITY)
            elif not equals_ignore_case(
                self._without_port(self._value(line)),
                self._without_port(self.pseudo(FieldKind.AUTHORITY)),
            ):
                return Http2Rule.HOST
        if (
            self.facts._has_bad_host
            or len(self.pseudo(FieldKind.AUTHORITY)) == 0
        ):
            return Http2Rule.PSEUDO_VALUE
        return None

    def _default_port(self) -> Int:
        """Gives the port of a request's scheme; 0 for none that is served."""
        var scheme = self.pseudo(FieldKind.SCHEME)
        if equals_ignore_case(scheme, "https".as_bytes()):
            return 443
        return 80 if equals_ignore_case(scheme, "http".as_bytes()) else 0

    def _without_port[
        o: ImmOrigin
    ](self, authority: Span[UInt8, o]) -> Span[UInt8, o]:
        """Leaves the scheme's own port out, which says nothing (RFC 3986 section
        6.2.3)."""
        var end = len(authority)
        var port = 0
        var factor = 1
        while end > 0 and authority.at(end - 1) != 58:
            var digit = authority.at(end - 1)
            if digit < 48 or digit > 57 or factor > 10_000:
                return authority
            port += (Int(digit) - 48) * factor
            factor *= 10
            end -= 1
        if end == 0 or (factor > 1 and port != self._default_port()):
            return authority
        return authority.before(end - 1)

    def _broken_rule_of_path(
        mut self, limits: SectionLimits
    ) -> Optional[Http2Rule]:
        var line = self._pseudo.at(Int(FieldKind.PATH))
        var start = line.value_offset()
        var length = line.value_len()
        if length == 0:
            return Http2Rule.PSEUDO_VALUE
        var first = self.octets.span().at(start)
        var input = self.octets.terminate()
        # What stands after the path may be of a target, too.
        if (first != 47 and first != 42) or (
            input.scan_target(start) < start + length
        ):
            return Http2Rule.PSEUDO_VALUE
        if length > limits.target_len_max:
            if self.facts.status == 0:
                self.facts.status = 414
            return None
        # SAFETY: the path lies within the input, which has the slack after it.
        # An extended CONNECT has a path as other requests do.
        var method = self.facts.method
        if method == Method.CONNECT:
            method = Method.GET
        self.facts.target = split_target(
            method, input.unsafe_base(), start, length
        )
        if self.facts.target.path_offset < 0:
            return Http2Rule.PSEUDO_VALUE
        return None

    def check_response(mut self, stream_id: Int) raises Http2Error:
        """Checks the header section of a response (RFC 9113 section 8.3.2).

        Args:
            stream_id: Its stream, for the error.

        Raises:
            Http2Error: If it is malformed.
        """
        comptime REQUEST_KINDS = UInt32(0b1101_1110)
        if self.facts._broken:
            raise Http2Error(self.facts._broken.value(), stream_id)
        if self.facts._seen & REQUEST_KINDS != 0:
            raise Http2Error(Http2Rule.PSEUDO_UNKNOWN, stream_id)
        if self.facts._is_cut:
            raise Http2Error(Http2Rule.SECTION_LEN, stream_id)
        if not self._has(FieldKind.STATUS):
            raise Http2Error(Http2Rule.PSEUDO_MISSING, stream_id)
        var digits = self.pseudo(FieldKind.STATUS)
        if len(digits) != 3:
            raise Http2Error(Http2Rule.PSEUDO_VALUE, stream_id)
        var status = 0
        for octet in digits:
            if octet < 48 or octet > 57:
                raise Http2Error(Http2Rule.PSEUDO_VALUE, stream_id)
            status = status * 10 + Int(octet) - 48
        if status < 100 or status == 101:
            raise Http2Error(Http2Rule.INFORMATIONAL, stream_id)
        self.facts.response_status = status

    def check_trailers(self, stream_id: Int) raises Http2Error:
        """Checks trailers (RFC 9113 section 8.1).

        Args:
            stream_id: Their stream, for the error.

        Raises:
            Http2Error: If they are malformed.
        """
        if self.facts._seen != 0:
            raise Http2Error(Http2Rule.TRAILERS, stream_id)
        if self.facts._broken:
            raise Http2Error(self.facts._broken.value(), stream_id)
        if self.facts._is_cut:
            raise Http2Error(Http2Rule.SECTION_LEN, stream_id)

    @always_inline
    def unsafe_fields[o: ImmOrigin](self) -> Fields[o]:
        """Lends names and values of the fields, but for pseudo-header fields.

        Parameters:
            o: The lifetime to lend for; ends before the section changes.
        """
        # SAFETY: all lines lie within the octets; the caller ends the loan
        # before the section changes.
        return Fields(
            unsafe_lend[o](self.octets.unsafe_base(), len(self.octets)),
            unsafe_lend[o](self._lines.unsafe_ptr(), self._count),
            self.facts._is_text,
        )

    def unsafe_nothing[o: ImmOrigin](self) -> Span[UInt8, o]:
        """Lends no octets, for a request without content.

        Parameters:
            o: The lifetime to lend for.
        """
        # SAFETY: nothing is read of no octets.
        return unsafe_lend[o](self.octets.unsafe_base(), 0)

    @always_inline
    def unsafe_request_line[o: ImmOrigin](self) -> RequestLine[o]:
        """Lends what HTTP/1.1 has in its request line; `url` is `:path`."""
        # SAFETY: as for `unsafe_fields`; the checks let visible ASCII pass.
        var octets = unsafe_lend[o](self.octets.unsafe_base(), len(self.octets))
        var path = self._pseudo.at(Int(FieldKind.PATH))
        ref target = self.facts.target
        return RequestLine[o](
            method=self.facts.method,
            method_name=self._text(octets, FieldKind.METHOD),
            url=StringSpan(
                unsafe_from_utf8=octets.between(
                    path.value_offset(), path.value_offset() + path.value_len()
                )
            ) if self._has(FieldKind.PATH) else StringSpan(
                unsafe_from_utf8=octets.before(0)
            ),
            path=StringSpan(
                unsafe_from_utf8=octets.between(
                    target.path_offset, target.path_offset + target.path_len
                )
            ),
            query=StringSpan(
                unsafe_from_utf8=octets.between(
                    target.query_offset, target.query_offset + target.query_len
                )
            ),
            authority=self._text(octets, FieldKind.AUTHORITY),
            version=Version(2, 0),
        )

    @always_inline
    def _text[
        o: ImmOrigin
    ](self, octets: Span[UInt8, o], kind: UInt8) -> StringSpan[o]:
        # SAFETY: visible ASCII, as was checked.
        if not self._has(kind):
            return StringSpan(unsafe_from_utf8=octets.before(0))
        var line = self._pseudo.at(Int(kind))
        var start = line.value_offset()
        return StringSpan(
            unsafe_from_utf8=octets.between(start, start + line.value_len())
        )


def _is_scheme(octets: Span[UInt8, _]) -> Bool:
    """Tells whether octets are the name of a scheme (RFC 3986 section 3.1)."""
    for index in range(len(octets)):
        if not is_scheme_octet(octets.at(index), is_first=index == 0):
            return False
    return len(octets) > 0
