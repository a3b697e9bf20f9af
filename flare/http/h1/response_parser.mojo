"""The responses of one connection: the pure core of a client connection.

    var parser = ResponseParser(buffer_len)
    parser.begin(Method.GET)             # a request goes out
    # 1. put octets into parser.input; if the server has closed, close_input()
    # 2. call advance() until it answers NEEDS_OCTETS (go to 1) or END
    # 3. END: if is_reusable(), go on with begin()

    advance():  HEAD --1xx--> INTERIM --> HEAD
                HEAD --final--> HEAD_READY --> BODY
                BODY --some content--> CONTENT --> BODY
                BODY --all of it--> END
                END --begin()--> HEAD

What `advance` tells of (a head, a piece of content) is lent until the next
call, which drops it from the input: a body of any length needs a small buffer.
"""

from flare.bytes.buffer import Buffer, unsafe_lend
from flare.http.h1.body_decoder import BodyDecoder, BodyProgress
from flare.http.h1.error import NOWHERE, RemoteProtocolError, Rule
from flare.http.h1.field_section import HeadLimits
from flare.http.h1.framing import ContentEnd, IS_IRREGULAR, SWITCHING_PROTOCOLS
from flare.http.h1.response_head import ResponseHead, content_end
from flare.http.message.fields import Fields
from flare.http.message.method import Method


@fieldwise_init
struct ResponseProgress(Equatable, TrivialRegisterPassable):
    """What `ResponseParser.advance` found."""

    var number: UInt8

    comptime NEEDS_OCTETS = ResponseProgress(0)
    comptime INTERIM = ResponseProgress(1)
    """The head of a 1xx response is complete; the final one follows."""
    comptime HEAD_READY = ResponseProgress(2)
    """The final head is complete: set `body.max_body_size`, go on."""
    comptime CONTENT = ResponseProgress(3)
    """A piece of content is in `content()`."""
    comptime END = ResponseProgress(4)


comptime INTERIM_COUNT_MAX = 16
"""Most interim responses before a final one (RFC 9110 section 15.2).

The RFC sets no limit. Each has a head of its own, so without a bound a server
could keep a client reading for ever.
"""


comptime _REQUEST_TIMEOUT = 408

comptime _IDLE = UInt8(0)
comptime _HEAD = UInt8(1)
comptime _BODY = UInt8(2)
comptime _END = UInt8(3)


struct ResponseParser(Movable):
    """Input octets of a client connection, and the response they belong to."""

    var input: Buffer
    """What was received and not yet dropped."""
    var head: ResponseHead
    """The last complete head; its offsets are good until the next `advance`."""
    var body: BodyDecoder
    """The content; its `taken_len` is what `advance` has told of."""
    var _method: Method
    var _end: ContentEnd
    var _state: UInt8
    var _expects_switching: Bool
    var _is_irregular: Bool
    var _is_closed: Bool
    var _is_request_sent: Bool
    var _interim_count: Int
    # A head that `advance` told of, and that goes at its next call.
    var _drop_len: Int

    def __init__(out self, capacity: Int):
        """Makes a parser in which so many bytes of input fit without growing."""
        self.input = Buffer(capacity)
        self.head = ResponseHead()
        self.body = BodyDecoder()
        self._method = Method.GET
        self._end = ContentEnd.NONE
        self._state = _IDLE
        self._expects_switching = False
        self._is_irregular = False
        self._is_closed = False
        self._is_request_sent = False
        self._interim_count = 0
        self._drop_len = 0

    @no_inline
    def __deinit__(deinit self):
        return

    def begin(
        mut self,
        method: Method,
        expects_switching: Bool = False,
        is_strict: Bool = True,
    ) raises RemoteProtocolError:
        """Gets ready for the response to a request.

        Args:
            method: The request's method, which decides on the content.
            expects_switching: True if the request asks for another protocol
                with Upgrade, so that 101 is an answer.
            is_strict: False to read what is irregular but clear: bare LF as
                line ends of the head, folded lines, equal Content-Lengths,
                whitespace around chunk sizes. The connection is then not
                reusable.

        Raises:
            RemoteProtocolError: If octets are here already.
        """
        self._drop()
        if len(self.input) > 0:
            raise RemoteProtocolError(materialize[Rule.UNSOLICITED](), NOWHERE)
        self._begin(method, expects_switching, is_strict)

    def begin_elsewhere(mut self, method: Method, *, is_strict: Bool = True):
        """Gets ready for the response to a request on another connection: what
        is here of the last one is dropped. `is_strict` is as for `begin`."""
        self.reset()
        self._begin(method, False, is_strict)

    def _begin(
        mut self, method: Method, expects_switching: Bool, is_strict: Bool
    ):
        self._method = method
        self._expects_switching = expects_switching
        self._is_irregular = False
        self.head.is_strict = is_strict
        self.body.chunked.reads_padding = not is_strict
        self._is_request_sent = False
        self._interim_count = 0
        self.body.begin(ContentEnd.NONE, 0)
        self.head.begin()
        self._state = _HEAD

    def reset(mut self):
        """Drops everything and keeps the memory, for another connection."""
        self.input.clear()
        self.body.forget()
        self._drop_len = 0
        self._is_closed = False
        self._interim_count = 0
        self._state = _IDLE

    def end_request(mut self):
        """Notes that the whole request was sent.

        A response may end before its request does; the connection is then not
        good for another one (RFC 9112 section 9.3).
        """
        self._is_request_sent = True

    def close_input(mut self):
        """Notes that the server has closed its side: no octets will follow."""
        self._is_closed = True

    def has_begun(self) -> Bool:
        """Tells whether any octet of a response has arrived; until then a
        repetition of the request cannot meet two responses."""
        return (
            self._state >= _BODY
            or self._interim_count > 0
            or len(self.input) > 0
        )

    def is_amid_content(self) -> Bool:
        """Tells whether the head has come, and the end of the content was not
        seen yet."""
        return self._state == _BODY

    def advance(
        mut self, limits: HeadLimits
    ) raises RemoteProtocolError -> ResponseProgress:
        """Parses as far as the octets go. If the response breaks a rule, or the
        connection was closed before its end, the connection cannot be used any
        further.

        Source: RFC 9112 section 6.3.
        """
        if self._state == _HEAD:
            self._drop()
            return self._advance_head(limits)
        if self._state != _BODY:
            return ResponseProgress.END
        self._drop_head()
        var found = self.body.advance(self.input, limits, self._is_closed)
        if found == BodyProgress.CONTENT:
            return ResponseProgress.CONTENT
        if found == BodyProgress.NEEDS_OCTETS:
            return self._wait(materialize[Rule.TRUNCATED_CONTENT]())
        self._state = _END
        return ResponseProgress.END

    def _drop_head(mut self):
        self.input.consume(self._drop_len)
        self._drop_len = 0

    def _drop(mut self):
        self._drop_head()
        self.body.drop(self.input)

    def _advance_head(
        mut self, limits: HeadLimits
    ) raises RemoteProtocolError -> ResponseProgress:
        if not self.head.parse(self.input.terminate(), limits):
            return self._wait(materialize[Rule.TRUNCATED_HEAD]())
        self._drop_len = self.head.head_len
        if self.head.framing.has(IS_IRREGULAR):
            self._is_irregular = True
        var status = self.head.status
        if status == SWITCHING_PROTOCOLS and not self._expects_switching:
            raise RemoteProtocolError(materialize[Rule.SWITCHING](), NOWHERE)
        if status < 200 and status != SWITCHING_PROTOCOLS:
            self._interim_count += 1
            if self._interim_count > INTERIM_COUNT_MAX:
                raise RemoteProtocolError(
                    materialize[Rule.INTERIM_COUNT](), NOWHERE
                )
            self.head.begin()
            return ResponseProgress.INTERIM
        self._end = content_end(self._method, self.head)
        self.body.begin(self._end, self.head.framing.content_length)
        self._state = _BODY
        return ResponseProgress.HEAD_READY

    def _wait(
        self, truncated: Rule
    ) raises RemoteProtocolError -> ResponseProgress:
        if not self._is_closed:
            return ResponseProgress.NEEDS_OCTETS
        if not self.has_begun():
            raise RemoteProtocolError(materialize[Rule.NO_RESPONSE](), NOWHERE)
        # Of content, what came before is taken out.
        var is_head = truncated == Rule.TRUNCATED_HEAD
        raise RemoteProtocolError(
            truncated, len(self.input) if is_head else NOWHERE
        )

    def is_reusable(self) -> Bool:
        """Tells whether the connection may carry another request: request and
        response are complete, both sides keep it alive, nothing is left over,
        and nothing was irregular, which who is in between may have read in
        another way.

        Source: RFC 9112 section 9.3. Octets after the response belong to
        nothing that was asked for, so they spoil the connection.
        """
        return (
            self._state == _END
            and self._is_request_sent
            and not self._is_closed
            and not self._is_irregular
            and not self.body.chunked.is_irregular
            and self._end != ContentEnd.CLOSE
            and self._end != ContentEnd.OTHER_PROTOCOL
            and self.head.framing.keeps_alive(self.head.minor_version)
            and self.leftover_len() == 0
        )

    def is_late_close(self) -> Bool:
        """Tells whether a response whose head is there may be about a
        connection that was idle, and not about the request: a 408, before which
        nothing has come, and with which the connection ends.

        Source: RFC 9110 section 15.5.9.
        """
        return (
            self._state >= _BODY
            and self.head.status == _REQUEST_TIMEOUT
            and self._interim_count == 0
            and (
                self._end == ContentEnd.CLOSE
                or not self.head.framing.keeps_alive(self.head.minor_version)
            )
        )

    def leftover_len(self) -> Int:
        """Counts the last octets of `input`, which belong to no response,
        after one that has ended."""
        return len(self.input) - self.body.trailers_end()

    def has_content(self) -> Bool:
        """Tells whether content may follow the head that is complete."""
        if self._end == ContentEnd.SIZED:
            return self.head.framing.content_length > 0
        return self._end == ContentEnd.CHUNKED or self._end == ContentEnd.CLOSE

    def content_len(self) -> Int:
        """Tells how many bytes of content there will be after the head that is
        complete; -1 if its end shows only when it comes."""
        if self._end == ContentEnd.SIZED:
            return self.head.framing.content_length
        return -1 if self.has_content() else 0

    def is_other_protocol(self) -> Bool:
        """Tells whether what follows the head is not HTTP: after 101 and
        after 2xx to CONNECT. Once `advance` has told of the end, `input` holds
        what has arrived of it."""
        return self._end == ContentEnd.OTHER_PROTOCOL and self._state >= _BODY

    @always_inline
    def content(ref self) -> Span[UInt8, ImmOrigin(origin_of(self.input))]:
        """Lends the piece of content that `advance` told of; empty unless it
        told of some."""
        return self.body.content(self.input)

    def fields(ref self) -> Fields[ImmOrigin(origin_of(self))]:
        """Lends the header fields, from the head's completion to the next
        `advance`.
        """
        # SAFETY: offsets of the parsed head lie within the input.
        comptime o = ImmOrigin(origin_of(self))
        return self.head.section.fields(
            unsafe_lend[o](self.input.unsafe_base(), self.head.head_len)
        )

    def reason(ref self) -> Span[UInt8, ImmOrigin(origin_of(self))]:
        """Lends the reason phrase as sent, as long as the fields; opaque from
        0x80 up (RFC 9112 section 4)."""
        # SAFETY: offsets of the parsed head lie within the input.
        return unsafe_lend[ImmOrigin(origin_of(self))](
            self.input.unsafe_base().unsafe_offset(self.head.reason_offset),
            self.head.reason_len,
        )

    def trailers(ref self) -> Fields[ImmOrigin(origin_of(self.input))]:
        """Lends the trailer fields of a chunked body that has ended; none
        before `END` or without chunks."""
        return self.body.trailers(self.input.span())
