"""A pipe by which any thread and any signal handler wakes who waits for it."""

from flare.bytes.checked import *
from flare.sys.descriptor import (
    Descriptor,
    close_on_exec,
    make_nonblocking,
    read_into,
    write_from,
)
from flare.sys.errno import OsError, last_errno
from std.ffi import external_call


struct Pipe(Movable):
    """A non-blocking pipe; both ends are closed on exec."""

    var _reading: Descriptor
    var _writing: Descriptor

    def __init__(out self) raises OsError:
        """Makes a pipe.

        Raises:
            OsError: If the kernel refuses.
        """
        var ends = Array[Int32, 2](fill=-1)
        if external_call["pipe", Int32](ends.unsafe_ptr()) != 0:
            raise OsError("pipe", last_errno())
        self._reading = Descriptor(owned=ends[0])
        self._writing = Descriptor(owned=ends[1])
        for index in range(2):
            make_nonblocking(ends.at(index))
            close_on_exec(ends.at(index))

    def reading_fd(self) -> Int32:
        """Lends the end that is read.

        Returns:
            A descriptor, good while the pipe lives.
        """
        return self._reading.fd()

    def writing_fd(self) -> Int32:
        """Lends the end that is written.

        Returns:
            A descriptor, good while the pipe lives.
        """
        return self._writing.fd()

    def take_reading(mut self) -> Descriptor:
        """Takes the end that is read out of the pipe.

        Returns:
            The descriptor; not open at a second call.
        """
        return Descriptor(owned=self._reading.release())

    def take_writing(mut self) -> Descriptor:
        """Takes the end that is written out of the pipe.

        Returns:
            The descriptor; not open at a second call.
        """
        return Descriptor(owned=self._writing.release())

    def notify(self):
        """Makes the reading end ready; a full pipe is ready already."""
        notify_pipe(self._writing.fd())

    def drain(mut self) -> Int:
        """Reads all that was written.

        Returns:
            How many octets there were: how often `notify` was called.
        """
        return len(self.take())

    def take(mut self) -> List[UInt8]:
        """Reads all that was written.

        Returns:
            The octets, in order.
        """
        var taken = List[UInt8]()
        var room = Array[UInt8, 64](fill=0)
        while True:
            var count = read_into(self._reading.fd(), Span(room))
            if count <= 0:
                return taken^
            for index in range(count):
                taken.append(room.at(index))


def notify_pipe(writing_fd: Int32, octet: UInt8 = 1):
    """Writes one octet into a pipe; safe in a signal handler.

    Args:
        writing_fd: The writing end of a `Pipe`.
        octet: What to write.
    """
    var octets = Array[UInt8, 1](fill=octet)
    _ = write_from(writing_fd, Span(octets))
