"""Content of a response: octets, or a stream that a source makes piece by piece."""

from flare.bytes.buffer import Buffer, unsafe_lend
from flare.bytes.checked import *
from flare.bytes.erased import Erased, ErasedBox, destroy, erase
from flare.bytes.never import NEVER
from flare.bytes.padding import Padding
from flare.http.message.header_map import HeaderError
from flare.http.message.trailers import Trailers
from std.memory import ArcPointer


comptime _PIECE_LEN = 16_384
comptime _KEPT_LEN_MAX = 1_024
comptime _SPARE_LEN_MAX = 4_096
# Of longer content no memory is kept.


struct Body(Copyable, Defaultable, Movable, Sized, Writable):
    """Content held in memory, text or octets; or a source that makes it.

    Text is kept as a `String`: a literal costs no copy, text of up to 23 bytes
    no allocation, and a copy of longer text shares its memory. So one `String`
    can be the content of any number of responses. A copy of a body with a source
    shares the source, which can be sent once.
    """

    var _text: String
    var _octets: List[UInt8]
    var _stream: Optional[ArcPointer[BodyStream]]

    def __init__(out self):
        """Makes empty content; allocates nothing."""
        self._text = String()
        self._octets = []
        self._stream = None

    @implicit
    def __init__(out self, var text: String):
        """Takes text.

        Args:
            text: The content.
        """
        self._text = text^
        self._octets = []
        self._stream = None

    @implicit
    def __init__(out self, text: StringLiteral):
        """Takes a literal."""
        self._text = String(text)
        self._octets = []
        self._stream = None

    @implicit
    def __init__(out self, var octets: List[UInt8]):
        """Takes octets.

        Args:
            octets: The content, of any kind.
        """
        self._text = String()
        self._octets = octets^
        self._stream = None

    def __init__[
        S: BodySource
    ](out self, var source: S, *, length: Optional[Int] = None):
        """Takes a source, which makes the content while it is sent.

        Without a length the content is sent in chunks (RFC 9112 section 7.1),
        or to a client of HTTP/1.0 until the connection closes.

        Parameters:
            S: The source's type.

        Args:
            source: Makes the content.
            length: How much that will be in bytes, if it is known; a source
                that makes more or less breaks the connection.
        """
        self._text = String()
        self._octets = []
        self._stream = ArcPointer(BodyStream(source^, length))

    @no_inline
    def __deinit__(deinit self):
        return

    @staticmethod
    def conversing[C: UpgradedProtocol](var conversation: C) -> Self:
        """Gives a body that is a conversation, for a response with status 101.

        Parameters:
            C: The conversation's type.

        Args:
            conversation: Goes on where HTTP ends.
        """
        var body = Self()
        body._stream = ArcPointer(BodyStream.conversing(conversation^))
        return body^

    @always_inline
    def is_stream(self) -> Bool:
        """Tells whether a source makes the content; then nothing of it is in
        memory."""
        return self._stream.__bool__()

    def listens(self) -> Bool:
        """Tells whether this is a conversation, which takes what the client
        sends."""
        return self._stream.__bool__() and self._stream.held()[].listens()

    def stream(self) -> ArcPointer[BodyStream]:
        """Gives the source of a body that has one, shared with this body."""
        return self._stream.held()

    @always_inline
    def lend_stream(ref self) -> ref[self._stream.held()[]] BodyStream:
        """Lends the source of a body that has one."""
        return self._stream.held()[]

    def make_stream(mut self):
        """Lets a source make content that is in memory; its length stays known."""
        if self.is_stream():
            return
        var content = Self()
        swap(content, self)
        var length = len(content)
        self._stream = ArcPointer(BodyStream(_Kept(content^), length))

    def reuse(mut self):
        """Empties it, and keeps what little room it has."""
        self._text = String()
        self._stream = None
        if self._octets.capacity() > _KEPT_LEN_MAX:
            self._octets = []
        else:
            self._octets.clear()

    def take_octets(mut self) -> List[UInt8]:
        """Takes the octets out, to fill them and make content of them again;
        none of text, or of what a source makes."""
        var octets = List[UInt8]()
        swap(octets, self._octets)
        return octets^

    @always_inline
    def __len__(self) -> Int:
        """Counts the bytes of content that are in memory; 0 if a source makes
        them."""
        return self._text.byte_length() + len(self._octets)

    @always_inline
    def as_bytes(self) -> Span[UInt8, ImmOrigin(origin_of(self))]:
        """Lends all octets of the content."""
        # SAFETY: text or octets belong to this body, which is the span's
        # origin; one of the two is empty.
        comptime o = ImmOrigin(origin_of(self))
        if len(self._octets) == 0:
            return unsafe_lend[o](
                self._text.unsafe_ptr(), self._text.byte_length()
            )
        return unsafe_lend[o](self._octets.unsafe_ptr(), len(self._octets))

    def text(self) raises -> String:
        """Copies the content as text.

        Raises:
            Error: If it is not UTF-8.
        """
        return String(from_utf8=self.as_bytes())

    def write_to(self, mut writer: Some[Writer]):
        """Writes the content as text; octets that are not UTF-8 are replaced."""
        writer.write(String(from_utf8_lossy=self.as_bytes()))


struct _Kept(BodySource):
    """Content in memory, as a source."""

    var _body: Body
    var _offset: Int

    def __init__(out self, var body: Body):
        self._body = body^
        self._offset = 0

    def unsafe_whole(self) -> Span[UInt8, ImmUntrackedOrigin]:
        # SAFETY: the body belongs to this.
        var content = self._body.as_bytes()
        return unsafe_lend[ImmUntrackedOrigin](
            content.unsafe_ptr(), len(content)
        )

    def fill(mut self, mut out: Buffer) raises -> Poll:
        var rest = self._body.as_bytes().after(self._offset)
        var count = min(len(rest), _PIECE_LEN)
        out.append(rest.before(count))
        self._offset += count
        return Poll.DONE if count == len(rest) else Poll.READY


@fieldwise_init
struct _Whole(BodySource):
    """Content in memory that goes out at once, and what follows it."""

    var content: Buffer
    var fields: Trailers

    def unsafe_whole(self) -> Span[UInt8, ImmUntrackedOrigin]:
        # SAFETY: the content belongs to this.
        return unsafe_lend[ImmUntrackedOrigin](
            self.content.unsafe_base(), len(self.content)
        )

    def fill(mut self, mut out: Buffer) raises -> Poll:
        out.append(self.content.span())
        return Poll.DONE

    def trailers(mut self) raises -> Trailers:
        var fields = Trailers()
        swap(fields, self.fields)
        return fields^


struct SpareContent(Movable):
    """The memory of one content that goes out with trailers after it, for the
    next one when nobody has it any more: a content of each request takes none.
    """

    var _stream: Optional[ArcPointer[BodyStream]]

    def __init__(out self):
        self._stream = None

    def _is_free(self) -> Bool:
        return Bool(self._stream) and self._stream.held().count() == 1

    def _whole(mut self) -> ref[MutUntrackedOrigin] _Whole:
        # SAFETY: `body` makes all of them of this type, and they are kept here.
        return self._stream.held()[]._source.unsafe_bitcast[_Whole]()[]

    def take_room(mut self) -> Buffer:
        """Takes an empty buffer, with room if there is some."""
        var room = Buffer(0)
        if self._is_free():
            swap(room, self._whole().content)
            room.clear()
        return room^

    def body(mut self, var content: Buffer, var trailers: Trailers) -> Body:
        """Makes a body of content in memory; its length is not announced."""
        var body = Body()
        var is_kept = content.capacity() <= _SPARE_LEN_MAX
        if is_kept and self._is_free():
            ref whole = self._whole()
            swap(whole.content, content)
            whole.fields = trailers^
            self._stream.held()[].renew()
            body._stream = self._stream.held()
            return body^
        body._stream = ArcPointer(BodyStream(_Whole(content^, trailers^), None))
        if is_kept:
            self._stream = body._stream.held()
        return body^


@fieldwise_init
struct Poll(Equatable, ImplicitlyCopyable):
    """What a source of content has to say after a piece."""

    var number: UInt8
    """The case."""

    comptime READY = Poll(0)
    """There is more, and it can be had at once."""
    comptime PENDING = Poll(1)
    """There may be more; the source's waker will be rung."""
    comptime DONE = Poll(2)
    """This was all."""


trait BodySource(Deinitable, Movable):
    """Makes content piece by piece, as fast as the client takes it.

    The worker calls it on its own thread, so it must not block: a source that
    has to wait answers `Poll.PENDING` and rings its waker, from whatever
    thread, when it has something. It is destroyed as soon as all is sent or the
    client has hung up.
    """

    def begin(mut self, var waker: StreamWaker):
        """Hears how to say that there is something; called once, first.

        Args:
            waker: May be kept, copied and given to other threads.
        """
        comptime if conforms_to(Self, HoldsSource):
            self.source()[].begin(waker^)
        else:
            _ = waker^

    def fill(mut self, mut out: Buffer) raises -> Poll:
        """Appends the next piece of content, and gives what follows; about 16
        KiB are a good size.

        Called when the client has taken what came before. Octets that are
        appended beside `PENDING` or `DONE` are sent as well.

        Args:
            out: Where to append.

        Raises:
            Error: The server logs it and breaks the connection off, so that
                the client knows that the content is not complete.
        """
        ...

    def trailers(mut self) raises -> Trailers:
        """Gives the fields that follow the content, such as its digest; none,
        unless the source has some.

        Asked once, after the last piece, unless that is never sent. Over
        HTTP/1.1 they need content of unknown length, or a response with a
        `Trailer` field: that is sent in chunks, too. A client of HTTP/1.0 gets
        none.

        Raises:
            Error: As `fill` does.
        """
        comptime if conforms_to(Self, HoldsSource):
            return self.source()[].trailers()
        else:
            return Trailers()

    def unsafe_whole(self) -> Span[UInt8, ImmUntrackedOrigin]:
        """Lends all content, if it is in memory before anything was asked for;
        nothing, unless the source knows better.

        A server that can send all of it at once does so, and asks for nothing
        but the trailers then: neither `begin` nor `fill` is called. Any other
        calls both. The loan must not outlive the source.
        """
        return Span[UInt8, ImmUntrackedOrigin]()

    def region(self) -> FileRegion:
        """Tells what comes next, if that lies in a file; a region of length 0
        for what only `fill` can make.

        A server that can send it as it lies does so, and calls `advance` in
        place of `fill`. Any other calls `fill`, so that has to work, too.
        """
        return FileRegion.none()

    def advance(mut self, count: Int):
        """Goes on after octets of the region that were sent.

        Args:
            count: How many; at most the region's length.
        """
        _ = count

    def is_endless(self) -> Bool:
        """Tells whether the stream goes on until the client leaves; False,
        unless the source knows better.

        When the server drains, an endless stream is ended in good order; any
        other is waited for, up to `ServerConfig.shutdown_timeout_ms`.
        """
        comptime if conforms_to(Self, HoldsSource):
            return self.source()[].is_endless()
        else:
            return False

    def end_early(mut self, mut out: Buffer) -> Poll:
        """Ends an endless stream because the server stops, and gives DONE, or
        PENDING to wait for the other side, up to
        `ServerConfig.shutdown_timeout_ms`.

        Called in place of `fill` while the server drains.

        Args:
            out: Where to append last octets.
        """
        comptime if conforms_to(Self, HoldsSource):
            return self.source()[].end_early(out)
        else:
            return Poll.DONE

    def poll_interval_ms(self) -> Int:
        """Tells after how many milliseconds a source that answered `PENDING` is
        asked even if nobody rings its waker."""
        comptime if conforms_to(Self, HoldsSource):
            return self.source()[].poll_interval_ms()
        else:
            return 3_600_000

    def has_given_up(self) -> Bool:
        """Tells whether the stream is to be broken off, though the client has
        not yet taken what came before; False, unless the source knows better.

        Asked when the waker rings while the client is behind.
        """
        comptime if conforms_to(Self, HoldsSource):
            return self.source()[].has_given_up()
        else:
            return False


trait HoldsSource:
    """A source around another one, which is asked where this says nothing of its
    own: all but what comes next."""

    def source(self) -> ArcPointer[BodyStream]:
        """Gives the inner source."""
        ...


trait UpgradedProtocol(BodySource):
    """A protocol that goes on where HTTP ends (RFC 9110 section 7.8).

    A handler answers 101 (Switching Protocols) with one as the body. From then
    on it gets all that the client sends, and makes all that the client gets;
    when it ends, the connection does.
    """

    def receive(mut self, mut input: Buffer, mut out: Buffer) raises -> Poll:
        """Takes octets from the client.

        Called while nothing waits to be sent, and not after READY, so a client
        that does not read is not read either. A batch that takes long to
        answer is best answered in parts: keep the rest, and answer READY.

        Args:
            input: What has come; dropped afterwards.
            out: Where to append what goes to the client.

        Returns:
            READY to be asked by `fill` when the client has taken all and others
            had their turn, before anything else is received; PENDING to wait; DONE
            to close.

        Raises:
            Error: The server logs it and breaks the connection off.
        """
        ...

    def is_full(self) -> Bool:
        """Tells whether it takes nothing from the client for now: `receive` is
        not called, and the client is not read, until its waker has rung. False,
        unless the protocol knows better."""
        comptime if conforms_to(Self, HoldsSource):
            return self.source()[].is_full()
        else:
            return False

    def end_input(mut self) -> Bool:
        """Hears that the client has ended its own direction, in good order and
        after all that was received, and gives True to go on with `fill` until
        that ends; False, unless the protocol knows better, to end at once."""
        comptime if conforms_to(Self, HoldsSource):
            return self.source()[].end_input()
        else:
            return False

    def take_failure(mut self) -> String:
        """Tells what went wrong in what was received last, for the server's
        log, though the conversation goes on or ends in good order; empty if
        there is nothing to tell."""
        return String()

    def stall_timeout_ms(self) -> Int:
        """Tells for how many milliseconds the client may take nothing at all of
        what it is sent; without end, unless the conversation knows better.

        Asked while it does not take all. One that takes something, but not all,
        has `ServerConfig.write_timeout_ms` in any case.
        """
        comptime if conforms_to(Self, HoldsSource):
            return self.source()[].stall_timeout_ms()
        else:
            return NEVER


def _receive[
    T: UpgradedProtocol
](source: Erased, mut input: Buffer, mut out: Buffer) raises -> Poll:
    # SAFETY: as for `_wake`.
    return source.unsafe_bitcast[T]()[].receive(input, out)


def _is_full[T: UpgradedProtocol](source: Erased) -> Bool:
    # SAFETY: as for `_wake`.
    return source.unsafe_bitcast[T]()[].is_full()


def _end_input[T: UpgradedProtocol](source: Erased) -> Bool:
    # SAFETY: as for `_wake`.
    return source.unsafe_bitcast[T]()[].end_input()


def _take_failure[T: UpgradedProtocol](source: Erased) -> String:
    # SAFETY: as for `_wake`.
    return source.unsafe_bitcast[T]()[].take_failure()


def _stall_timeout_ms[T: UpgradedProtocol](source: Erased) -> Int:
    # SAFETY: as for `_wake`.
    return source.unsafe_bitcast[T]()[].stall_timeout_ms()


def _end_early[T: BodySource](source: Erased, mut out: Buffer) -> Poll:
    # SAFETY: as for `_wake`.
    return source.unsafe_bitcast[T]()[].end_early(out)


def _begin[T: BodySource](source: Erased, var waker: StreamWaker):
    # SAFETY: as for `_wake`.
    source.unsafe_bitcast[T]()[].begin(waker^)


def _fill[T: BodySource](source: Erased, mut out: Buffer) raises -> Poll:
    # SAFETY: as above.
    return source.unsafe_bitcast[T]()[].fill(out)


def _trailers[T: BodySource](source: Erased) raises -> Trailers:
    # SAFETY: as above.
    return source.unsafe_bitcast[T]()[].trailers()


def _whole[T: BodySource](source: Erased) -> Span[UInt8, ImmUntrackedOrigin]:
    # SAFETY: as above; `BodyStream.whole` gives the loan its owner.
    return source.unsafe_bitcast[T]()[].unsafe_whole()


def _add_all(mut trailers: Trailers, more: Trailers) raises:
    trailers.add_all(more)


def _region[T: BodySource](source: Erased) -> FileRegion:
    # SAFETY: as above.
    return source.unsafe_bitcast[T]()[].region()


def _advance[T: BodySource](source: Erased, count: Int):
    # SAFETY: as above.
    source.unsafe_bitcast[T]()[].advance(count)


def _is_endless[T: BodySource](source: Erased) -> Bool:
    # SAFETY: as above.
    return source.unsafe_bitcast[T]()[].is_endless()


def _poll_interval_ms[T: BodySource](source: Erased) -> Int:
    # SAFETY: as above.
    return source.unsafe_bitcast[T]()[].poll_interval_ms()


def _has_given_up[T: BodySource](source: Erased) -> Bool:
    # SAFETY: as above.
    return source.unsafe_bitcast[T]()[].has_given_up()


struct BodyStream(Movable):
    """A source of any type, and how much it will make; the methods named as
    those of `BodySource` and `UpgradedProtocol` do what these do."""

    var length: Optional[Int]
    """Content in bytes, if that is known before."""
    var own_trailers: Trailers
    """What follows the content beside what the source says; see
    `add_trailer`."""
    # SAFETY: this owns the source; each function below was made for its type.
    var _padding: Padding[96]
    var _source: Erased
    var _begin: def(Erased, var StreamWaker) thin -> None
    var _fill: def(Erased, mut Buffer) raises thin -> Poll
    var _trailers: def(Erased) raises thin -> Trailers
    var _whole: def(Erased) thin -> Span[UInt8, ImmUntrackedOrigin]
    # Known only where there are own trailers, so that a program without them
    # need not have it.
    var _add_all: Optional[def(mut Trailers, Trailers) raises thin -> None]
    var _region: def(Erased) thin -> FileRegion
    var _advance: def(Erased, Int) thin -> None
    var _is_endless: def(Erased) thin -> Bool
    var _end_early: def(Erased, mut Buffer) thin -> Poll
    var _receive: Optional[
        def(Erased, mut Buffer, mut Buffer) raises thin -> Poll
    ]
    var _is_full: Optional[def(Erased) thin -> Bool]
    var _end_input: Optional[def(Erased) thin -> Bool]
    var _take_failure: Optional[def(Erased) thin -> String]
    var _stall_timeout_ms: Optional[def(Erased) thin -> Int]
    var _poll_interval_ms: def(Erased) thin -> Int
    var _has_given_up: def(Erased) thin -> Bool
    var _drop: def(Erased) thin -> None

    def __init__[T: BodySource](out self, var source: T, length: Optional[Int]):
        """Takes a source of `length` bytes, if that is known."""
        self._padding = {}
        self.length = length
        self.own_trailers = Trailers()
        self._source = erase(source^)
        self._begin = _begin[T]
        self._fill = _fill[T]
        self._trailers = _trailers[T]
        self._whole = _whole[T]
        self._add_all = None
        self._region = _region[T]
        self._advance = _advance[T]
        self._is_endless = _is_endless[T]
        self._end_early = _end_early[T]
        self._receive = None
        self._stall_timeout_ms = None
        self._is_full = None
        self._end_input = None
        self._take_failure = None
        self._poll_interval_ms = _poll_interval_ms[T]
        self._has_given_up = _has_given_up[T]
        self._drop = destroy[T]

    @staticmethod
    def conversing[T: UpgradedProtocol](var conversation: T) -> Self:
        """Takes a conversation, which goes on where HTTP ends: a stream that
        listens, too."""
        var stream = Self(conversation^, None)
        stream._receive = _receive[T]
        stream._stall_timeout_ms = _stall_timeout_ms[T]
        stream._is_full = _is_full[T]
        stream._end_input = _end_input[T]
        stream._take_failure = _take_failure[T]
        return stream^

    def __deinit__(deinit self):
        self._drop(self._source)

    def renew(mut self):
        """Forgets what others have said of it than its source."""
        self.length = None
        if self._add_all:
            self.own_trailers = Trailers()
            self._add_all = None

    def begin(self, var waker: StreamWaker):
        self._begin(self._source, waker^)

    def fill(self, mut out: Buffer) raises -> Poll:
        return self._fill(self._source, out)

    def whole(self) -> Span[UInt8, ImmOrigin(origin_of(self))]:
        """Lends all content, if it is in memory and nothing was asked for; else
        nothing."""
        # SAFETY: the source owns the content, and this the source.
        var content = self._whole(self._source)
        return unsafe_lend[ImmOrigin(origin_of(self))](
            content.unsafe_ptr(), len(content)
        )

    def trailers(self) raises -> Trailers:
        """Makes the fields that follow the content: the source's, and the
        response's own."""
        var all = self._trailers(self._source)
        if self._add_all:
            self._add_all.held()(all, self.own_trailers)
        return all^

    def add_trailer(
        mut self, name: StringSpan, value: StringSpan
    ) raises HeaderError:
        """Adds a field after those that the source makes."""
        self.own_trailers.append(name, value)
        self._add_all = _add_all

    def region(self) -> FileRegion:
        return self._region(self._source)

    def advance(self, count: Int):
        self._advance(self._source, count)

    def is_endless(self) -> Bool:
        return self._is_endless(self._source)

    def poll_interval_ms(self) -> Int:
        return self._poll_interval_ms(self._source)

    def has_given_up(self) -> Bool:
        return self._has_given_up(self._source)

    def listens(self) -> Bool:
        """Tells whether this is a conversation, and takes what the client
        sends."""
        return self._receive.__bool__()

    def receive(self, mut input: Buffer, mut out: Buffer) raises -> Poll:
        return self._receive.held()(self._source, input, out)

    def is_full(self) -> Bool:
        return self._is_full.held()(self._source)

    def end_input(self) -> Bool:
        return self._end_input.held()(self._source)

    def take_failure(self) -> String:
        return self._take_failure.held()(self._source)

    def stall_timeout_ms(self) -> Int:
        """Tells how long the client of a conversation may take nothing at all;
        without end for any other source."""
        if not self._stall_timeout_ms:
            return NEVER
        return self._stall_timeout_ms.held()(self._source)

    def end_early(self, mut out: Buffer) -> Poll:
        return self._end_early(self._source, out)


@fieldwise_init
struct FileRegion(TrivialRegisterPassable):
    """Octets that lie in an open file, for a server that can send them from
    there."""

    var number: Int32
    """The file's descriptor, good while the source of the content lives."""
    var offset: Int
    """Where the octets begin, in bytes from the file's start."""
    var length: Int
    """How many they are in bytes; 0 if what comes next is in no file."""

    @staticmethod
    def none() -> Self:
        return Self(-1, 0, 0)

    def first(self, count: Int) -> Self:
        """Makes a region of the first octets, at most `count`."""
        return Self(self.number, self.offset, min(self.length, count))

    def after(self, count: Int) -> Self:
        """Makes a region of what is left behind octets that are gone, at most
        all."""
        return Self(self.number, self.offset + count, self.length - count)


trait WakeTarget(Deinitable, Movable):
    """What a waker rings at."""

    def wake(self, token: UInt64):
        """Sees to it that the source of a connection is asked again."""
        ...


def _wake[T: WakeTarget](target: Erased, token: UInt64):
    # SAFETY: the pointer was made from a `T` by the struct that calls this.
    target.unsafe_bitcast[T]()[].wake(token)


struct _AnyTarget(Movable):

    # SAFETY: the function was made for the type of the target.
    var _target: ErasedBox
    var _wake: def(Erased, UInt64) thin -> None

    def __init__[T: WakeTarget](out self, var target: T):
        self._target = ErasedBox(target^)
        self._wake = _wake[T]

    def wake(self, token: UInt64):
        self._wake(self._target.at, token)


struct StreamWaker(Copyable, Movable):
    """Rings when a source that answered `Poll.PENDING` has something.

    `wake` may be called from any thread, any number of times, and after the
    connection has ended. Copies ring for the same connection.
    """

    var _target: ArcPointer[_AnyTarget]
    var _token: UInt64
    var _stream_id: Int

    def __init__[
        T: WakeTarget
    ](out self, var target: T, token: UInt64, stream_id: Int = 0):
        """Makes a waker.

        Parameters:
            T: The target's type.

        Args:
            target: What is rung at; safe to be used by several threads.
            token: The connection's.
            stream_id: The stream's over HTTP/2.
        """
        self._target = ArcPointer(_AnyTarget(target^))
        self._token = token
        self._stream_id = stream_id

    def wake(self):
        """Has the source asked again, soon."""
        self._target[].wake(self._token)

    def token(self) -> UInt64:
        """Tells what the worker knows the connection by; good for the worker's
        own thread alone."""
        return self._token

    def place(self) -> Tuple[UInt64, Int]:
        """Tells what the worker knows the source by: the connection's token,
        and the stream's number over HTTP/2, else 0; good for the worker's own
        thread alone."""
        return (self._token, self._stream_id)
