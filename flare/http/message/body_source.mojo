"""Content of a response that is made while it is sent."""

from flare.bytes.buffer import Buffer
from std.memory import Allocation, ArcPointer, Layout, alloc, dealloc


struct Supply(Equatable, ImplicitlyCopyable):
    """What a source of content has to say after a piece."""

    var number: UInt8
    """The case."""

    comptime MORE = Supply(0)
    """There is more, and it can be had at once."""
    comptime LATER = Supply(1)
    """There may be more; the source's waker will be rung."""
    comptime END = Supply(2)
    """This was all."""

    @always_inline
    def __init__(out self, number: UInt8):
        """Makes a case.

        Args:
            number: The case.
        """
        self.number = number

    @always_inline
    def __eq__(self, other: Self) -> Bool:
        """Compares two cases.

        Args:
            other: A case.

        Returns:
            True if they are the same.
        """
        return self.number == other.number


trait WakeTarget(Deinitable, Movable):
    """What a waker rings at."""

    def wake(self, token: UInt64):
        """Sees to it that the source of a connection is asked again.

        Args:
            token: The connection's.
        """
        ...


comptime _Erased = OpaquePointer[MutUntrackedOrigin]


def _wake[T: WakeTarget](target: _Erased, token: UInt64):
    # SAFETY: the pointer was made from a `T` by the struct that calls this.
    target.unsafe_bitcast[T]()[].wake(token)


def _drop[T: Deinitable & Movable](value: _Erased):
    # SAFETY: the pointer was made from a `T` that is owned, and this is its end.
    var typed = value.unsafe_bitcast[T]()
    typed.unsafe_deinit_pointee()
    dealloc(Allocation(unsafe_owned_ptr=typed, layout=Layout[T](count=1)))


def _erase[T: Deinitable & Movable](var value: T) -> _Erased:
    # SAFETY: the memory belongs to the caller, who gives it to `_drop`.
    var typed = alloc(Layout[T](count=1)).unsafe_leak()
    typed.unsafe_write(value^)
    return typed.unsafe_bitcast[NoneType]()


struct _AnyTarget(Movable):
    """A wake target of any type."""

    var _target: _Erased
    var _wake: def(_Erased, UInt64) thin -> None
    var _drop: def(_Erased) thin -> None

    def __init__[T: WakeTarget](out self, var target: T):
        self._target = _erase(target^)
        self._wake = _wake[T]
        self._drop = _drop[T]

    def __deinit__(deinit self):
        self._drop(self._target)

    def wake(self, token: UInt64):
        self._wake(self._target, token)


struct StreamWaker(Copyable, Movable):
    """Rings when a source that answered `Supply.LATER` has something.

    `wake` may be called from any thread, any number of times, and after the
    connection has ended. Copies ring for the same connection.
    """

    var _target: ArcPointer[_AnyTarget]
    var _token: UInt64

    def __init__[T: WakeTarget](out self, var target: T, token: UInt64):
        """Makes a waker.

        Parameters:
            T: The target's type.

        Args:
            target: What is rung at; safe to be used by several threads.
            token: The connection's.
        """
        self._target = ArcPointer(_AnyTarget(target^))
        self._token = token

    def wake(self):
        """Has the source asked again, soon."""
        self._target[].wake(self._token)


trait BodySource(Deinitable, Movable):
    """Makes content piece by piece, as fast as the client takes it.

    The worker calls it on its own thread, so it must not block: a source that
    has to wait answers `Supply.LATER` and rings its waker, from whatever
    thread, when it has something. It is destroyed as soon as all is sent or the
    client has hung up.
    """

    def begin(mut self, var waker: StreamWaker):
        """Hears how to say that there is something; called once, first.

        Args:
            waker: May be kept, copied and given to other threads.
        """
        _ = waker^

    def fill(mut self, mut out: Buffer) raises -> Supply:
        """Appends the next piece of content; about 16 KiB are a good size.

        Called when the client has taken what came before. Octets that are
        appended beside `LATER` or `END` are sent as well.

        Args:
            out: Where to append.

        Returns:
            What follows.

        Raises:
            Error: The server logs it and breaks the connection off, so that
                the client knows that the content is not complete.
        """
        ...

    def is_endless(self) -> Bool:
        """Tells whether the stream goes on until the client leaves.

        When the server drains, an endless stream is ended in good order; any
        other is waited for, up to `ServerConfig.shutdown_timeout_ms`.

        Returns:
            False, unless the source knows better.
        """
        return False

    def patience_ms(self) -> Int:
        """Tells how long a source that answered `LATER` may be left alone.

        Returns:
            Milliseconds after which it is asked even if nobody rings its
            waker.
        """
        return 3_600_000

    def has_given_up(self) -> Bool:
        """Tells whether the stream is to be broken off, though the client has
        not yet taken what came before.

        Asked when the waker rings while the client is behind.

        Returns:
            False, unless the source knows better.
        """
        return False


def _begin[T: BodySource](source: _Erased, var waker: StreamWaker):
    # SAFETY: as for `_wake`.
    source.unsafe_bitcast[T]()[].begin(waker^)


def _fill[T: BodySource](source: _Erased, mut out: Buffer) raises -> Supply:
    # SAFETY: as above.
    return source.unsafe_bitcast[T]()[].fill(out)


def _is_endless[T: BodySource](source: _Erased) -> Bool:
    # SAFETY: as above.
    return source.unsafe_bitcast[T]()[].is_endless()


def _patience_ms[T: BodySource](source: _Erased) -> Int:
    # SAFETY: as above.
    return source.unsafe_bitcast[T]()[].patience_ms()


def _has_given_up[T: BodySource](source: _Erased) -> Bool:
    # SAFETY: as above.
    return source.unsafe_bitcast[T]()[].has_given_up()


struct BodyStream(Movable):
    """A source of any type, and how much it will make."""

    var length: Optional[Int]
    """Content in bytes, if that is known before."""
    var _source: _Erased
    var _begin: def(_Erased, var StreamWaker) thin -> None
    var _fill: def(_Erased, mut Buffer) raises thin -> Supply
    var _is_endless: def(_Erased) thin -> Bool
    var _patience_ms: def(_Erased) thin -> Int
    var _has_given_up: def(_Erased) thin -> Bool
    var _drop: def(_Erased) thin -> None

    def __init__[T: BodySource](out self, var source: T, length: Optional[Int]):
        """Takes a source.

        Parameters:
            T: Its type.

        Args:
            source: Makes the content.
            length: How much that will be in bytes, if it is known.
        """
        self.length = length
        self._source = _erase(source^)
        self._begin = _begin[T]
        self._fill = _fill[T]
        self._is_endless = _is_endless[T]
        self._patience_ms = _patience_ms[T]
        self._has_given_up = _has_given_up[T]
        self._drop = _drop[T]

    def __deinit__(deinit self):
        """Destroys the source."""
        self._drop(self._source)

    def begin(mut self, var waker: StreamWaker):
        """Hands the waker on.

        Args:
            waker: Rings for the connection.
        """
        self._begin(self._source, waker^)

    def fill(mut self, mut out: Buffer) raises -> Supply:
        """Appends the next piece.

        Args:
            out: Where to append.

        Returns:
            What follows.

        Raises:
            Error: If the source cannot go on.
        """
        return self._fill(self._source, out)

    def is_endless(self) -> Bool:
        """Tells whether the stream goes on until the client leaves.

        Returns:
            What the source says.
        """
        return self._is_endless(self._source)

    def patience_ms(self) -> Int:
        """Tells how long the source may be left alone.

        Returns:
            What the source says.
        """
        return self._patience_ms(self._source)

    def has_given_up(self) -> Bool:
        """Tells whether the stream is to be broken off.

        Returns:
            What the source says.
        """
        return self._has_given_up(self._source)
