"""Content of a response that is made while it is sent."""

from flare.bytes.buffer import Buffer
from flare.http.message.file_region import FileRegion
from flare.http.message.stream_waker import StreamWaker


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

    def region(self) -> FileRegion:
        """Tells what comes next, if that lies in a file.

        A server that can send it as it lies does so, and calls `advance` in
        place of `fill`. Any other calls `fill`, so that has to work, too.

        Returns:
            The region; of length 0 for what only `fill` can make.
        """
        return FileRegion.none()

    def advance(mut self, count: Int):
        """Goes on behind octets of the region that were sent.

        Args:
            count: How many; at most the region's length.
        """
        _ = count

    def is_endless(self) -> Bool:
        """Tells whether the stream goes on until the client leaves.

        When the server drains, an endless stream is ended in good order; any
        other is waited for, up to `ServerConfig.shutdown_timeout_ms`.

        Returns:
            False, unless the source knows better.
        """
        return False

    def end_early(mut self, mut out: Buffer) -> Supply:
        """Ends an endless stream because the server stops.

        Called in place of `fill` while the server drains.

        Args:
            out: Where to append last octets.

        Returns:
            END, or LATER to wait for the other side, up to
            `ServerConfig.shutdown_timeout_ms`.
        """
        return Supply.END

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


trait Conversation(BodySource):
    """A protocol that goes on where HTTP ends (RFC 9110 section 7.8).

    A handler answers 101 (Switching Protocols) with one as the body. From then
    on it gets all that the client sends, and makes all that the client gets;
    when it ends, the connection does.
    """

    def receive(mut self, mut input: Buffer, mut out: Buffer) raises -> Supply:
        """Takes octets from the client.

        Called while nothing waits to be sent, and not behind MORE, so a client
        that does not read is not read either. A batch that takes long to
        answer is best answered in parts: keep the rest, and answer MORE.

        Args:
            input: What has come; dropped afterwards.
            out: Where to append what goes to the client.

        Returns:
            MORE to be asked by `fill` when the client has taken all and others
            had their turn, before anything else is received; LATER to wait; END
            to close.

        Raises:
            Error: The server logs it and breaks the connection off.
        """
        ...

    def take_failure(mut self) -> String:
        """Tells what went wrong in what was received last, though the
        conversation goes on or ends in good order.

        Returns:
            A text for the server's log; empty if there is nothing to tell.
        """
        return String()

    def stall_timeout_ms(self) -> Int:
        """Tells how long the client may take nothing at all of what it is sent.

        Asked while it does not take all. One that takes something, but not all,
        has `ServerConfig.write_timeout_ms` in any case.

        Returns:
            Milliseconds; without end, unless the conversation knows better.
        """
        return Int.MAX
