"""One request on its way in: the pure core of a server connection.

    var parser = RequestParser(buffer_len)
    # 1. put octets into parser.input
    # 2. call advance() until it answers something other than HEAD_READY
    # 3. READY: lend parser.unsafe_request(...) to a handler, then finish()
    # 4. NEEDS_OCTETS: go to 1

    advance():  HEAD --complete, no content--------------------> READY
                HEAD --complete, content--> HEAD_READY
                HEAD_READY --limit set--> BODY --complete------> READY
                READY --finish()--> HEAD of the next request
                BODY --detach_body()--> READY, without content
                HEAD --skip_rest(body)--> SKIPPING
                SKIPPING --all dropped----------> SKIPPED, HEAD
"""

from flare.bytes.buffer import Buffer, unsafe_lend
from flare.bytes.checked import *
from flare.http.h1.body_decoder import (
    BodyDecoder,
    BodyProgress,
    DetachedBody,
)
from flare.http.h1.error import RemoteProtocolError
from flare.http.h1.field_section import HeadLimits
from flare.http.h1.framing import ContentEnd, IS_CHUNKED, SAYS_CLOSE
from flare.http.h1.request_head import RequestHead
from flare.http.message.fields import FieldLine, Fields
from flare.http.message.request import (
    CancelFlag,
    PathParams,
    Request,
    RequestLine,
    TlsPeer,
    Version,
)
from flare.http.message.target import unsafe_path_without_octets
from flare.net.socket_addr import SocketAddr
from std.sys.intrinsics import likely, unlikely


@fieldwise_init
struct Progress(Equatable, TrivialRegisterPassable):
    """What `RequestParser.advance` found."""

    var number: UInt8

    comptime NEEDS_OCTETS = Progress(0)
    comptime HEAD_READY = Progress(1)
    """The head is complete, content follows: set `body.max_body_size`, go on."""
    comptime READY = Progress(2)
    comptime SKIPPED = Progress(3)
    """What was to be dropped is dropped: go on."""


comptime _IN_HEAD = UInt8(0)
comptime _IN_BODY = UInt8(1)
comptime _COMPLETE = UInt8(2)
comptime _SKIPPING = UInt8(3)


struct RequestParser(Movable):
    """Input octets of a connection, and the request that stands first in them."""

    var input: Buffer
    """What was received and not yet finished; the first request is at its head.
    """
    var head: RequestHead
    """The parsed head of the first request."""
    var body: BodyDecoder
    """The first request's content."""
    var _state: UInt8

    def __init__(out self, capacity: Int):
        """Makes a parser in which so many bytes of input fit without growing."""
        self.input = Buffer(capacity)
        self.head = RequestHead()
        self.body = BodyDecoder()
        self._state = _IN_HEAD

    @no_inline
    def __deinit__(deinit self):
        return

    @always_inline
    def is_idle(self) -> Bool:
        """Tells whether no part of a request is here: True between requests,
        with no octets left over."""
        return self._state == _IN_HEAD and len(self.input) == 0

    @always_inline
    def is_in_body(self) -> Bool:
        """Tells whether the head is complete and the content is not: True from
        HEAD_READY to READY."""
        return self._state == _IN_BODY

    @always_inline
    def advance(
        mut self, limits: HeadLimits
    ) raises RemoteProtocolError -> Progress:
        """Parses as far as the octets go. If the request breaks a rule, the
        connection cannot be used any further."""
        if likely(self._state == _IN_HEAD):
            if unlikely(len(self.input) == 0):
                return Progress.NEEDS_OCTETS
            if not self.head.parse(self.input.terminate(), limits):
                return Progress.NEEDS_OCTETS
            if likely(not self.head.framing.has_content()):
                self._state = _COMPLETE
                return Progress.READY
            self._state = _IN_BODY
            ref framing = self.head.framing
            self.body.begin(
                ContentEnd.CHUNKED if framing.has(
                    IS_CHUNKED
                ) else ContentEnd.SIZED,
                framing.content_length,
            )
            return Progress.HEAD_READY
        return self.advance_body(limits)

    def advance_body(
        mut self, limits: HeadLimits
    ) raises RemoteProtocolError -> Progress:
        """Goes on after a head that `advance` has told of."""
        if self._state == _COMPLETE:
            return Progress.READY
        if self._state == _SKIPPING:
            return self._advance_skip(limits)
        var head_len = self.head.head_len
        var body = self.input.terminate().tail(head_len)
        if not self.body.decode(body, limits):
            var gap = self.body.close_gap(body)
            self.input.truncate(len(self.input) - gap)
            return Progress.NEEDS_OCTETS
        self._state = _COMPLETE
        return Progress.READY

    def _advance_skip(
        mut self, limits: HeadLimits
    ) raises RemoteProtocolError -> Progress:
        var progress = BodyProgress.CONTENT
        while progress == BodyProgress.CONTENT:
            progress = self.body.advance(self.input, limits)
        if progress != BodyProgress.END:
            return Progress.NEEDS_OCTETS
        self.body.drop(self.input)
        self._state = _IN_HEAD
        return Progress.SKIPPED

    def missing_len(self) -> Int:
        """Tells how many bytes of a sized body are still to come; 0 for a
        chunked one, whose length is not known."""
        var whole = self.head.head_len + self.head.framing.content_length
        return max(0, whole - len(self.input))

    def body_received_len(self) -> Int:
        """Tells how much content has arrived, for the rate of a body; of a
        chunked one with the framing that is still in memory."""
        return len(self.input) - self.head.head_len

    def skip_rest(mut self, mut body: DetachedBody, len_max: Int):
        """Drops the rest of content that was taken out before the next request;
        no request is under way. `advance` raises if it breaks a rule, or if it
        is more than `len_max` octets beyond what is here."""
        swap(self.body, body.decoder)
        self.body.max_body_size = min(
            self.body.max_body_size,
            self.body.taken_len + len(body.input) + len_max,
        )
        self.input.append(body.input.span())
        self._state = _SKIPPING

    def is_skipping(self) -> Bool:
        """Tells whether octets are to be dropped before the next request: True
        from `skip_rest` on, until all have come."""
        return self._state == _SKIPPING

    def detach_body(mut self) -> DetachedBody:
        """Takes out the content that is arriving, with what takes its rest.
        What stays is the request without content, complete; `finish` drops its
        head alone."""
        debug_assert(self._state == _IN_BODY, "no body is arriving")
        var decoder = BodyDecoder()
        swap(decoder, self.body)
        var detached = DetachedBody(
            decoder^, self.input.span().after(self.head.head_len)
        )
        ref framing = self.head.framing
        self.input.truncate(self.head.head_len)
        framing.content_length = 0
        framing.flags &= ~IS_CHUNKED
        self._state = _COMPLETE
        return detached^

    def end_connection(mut self):
        """Lets the connection end with the first request, as if it said so."""
        self.head.framing.flags |= SAYS_CLOSE

    @always_inline
    def finish(mut self):
        """Drops the complete request; the next one is then first."""
        debug_assert(self._state == _COMPLETE, "finished before it was whole")
        self.input.consume(self._request_len())
        self.head.begin()
        self._state = _IN_HEAD

    def has_more(self) -> Bool:
        """Tells whether the next request has begun after the complete one."""
        debug_assert(self._state == _COMPLETE, "asked before it was whole")
        return len(self.input) > self._request_len()

    @always_inline
    def _request_len(self) -> Int:
        if unlikely(self.head.framing.has(IS_CHUNKED)):
            return self.head.head_len + self.body.consumed_len()
        return self.head.head_len + self.head.framing.content_length

    def forget_what_was_not_read(mut self):
        """Leaves of the head of a request that broke a rule what was read of
        it, so that `unsafe_request` lends no parts of the one before."""
        if not self.head.has_request_line():
            self.head.forget_request_line()

    def take_over(mut self, mut other: Self):
        """Takes the unfinished request of another parser.

        Parsing goes on here where it stopped there; nothing is parsed twice.
        """
        self.input.clear()
        self.input.append(other.input.span())
        other.input.clear()
        swap(self.head, other.head)
        swap(self.body, other.body)
        self._state = other._state
        other.reset()

    def reset(mut self):
        """Drops everything and keeps the memory."""
        self.input.clear()
        self.head.begin()
        self._state = _IN_HEAD

    @always_inline
    def unsafe_request[
        o: ImmOrigin
    ](
        self,
        peer: SocketAddr,
        params: Pointer[PathParams, MutUntrackedOrigin],
        cancel: OptionalPointer[CancelFlag, ImmUntrackedOrigin] = None,
        tls: OptionalPointer[TlsPeer, ImmUntrackedOrigin] = None,
    ) -> Request[o]:
        """Lends the first request, without content if its body is not complete.
        The lifetime ends before the parser changes; all that is pointed to
        outlives the request."""
        # SAFETY: all offsets come from the parser and lie within the input;
        # the caller ends the loan before it changes the parser.
        var octets = unsafe_lend[o](self.input.unsafe_base(), len(self.input))
        ref head = self.head
        var method_start = head.method_offset
        var path = _text(octets, head.target.path_offset, head.target.path_len)
        if unlikely(head.target.path_len == 0):
            path = unsafe_path_without_octets[o](head.method)
        var line = RequestLine[o](
            method=head.method,
            method_name=_text(octets, method_start, head.method_len),
            url=_text(octets, head.target_offset, head.target_len),
            path=path,
            query=_text(
                octets, head.target.query_offset, head.target.query_len
            ),
            authority=_text(
                octets, head.target.authority_offset, head.target.authority_len
            ),
            version=Version(1, head.minor_version),
        )
        var content_len = 0
        var trailers = Fields(octets.before(0), Span[FieldLine, o](), True)
        if self._state == _COMPLETE and head.framing.has_content():
            content_len = self.body.content_len
            if head.framing.has(IS_CHUNKED):
                trailers = self.body.trailers(
                    octets.unsafe_subspan(
                        offset=head.head_len,
                        length=self.body.consumed_len(),
                    )
                )
        return Request(
            line,
            head.section.fields(octets),
            octets.unsafe_subspan(offset=head.head_len, length=content_len),
            trailers,
            peer=peer,
            params=params,
            cancel=cancel,
            tls=tls,
        )


@always_inline
def _text[
    o: ImmOrigin
](octets: Span[UInt8, o], offset: Int, length: Int) -> StringSpan[o]:
    # SAFETY: the parser found the part within the octets, all visible ASCII.
    return StringSpan(
        unsafe_from_utf8=octets.unsafe_subspan(offset=offset, length=length)
    )
