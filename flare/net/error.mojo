"""Errors of the network, and of addresses in text."""

from flare.bytes.text import Text
from flare.sys.errno import (
    EACCES,
    EADDRINUSE,
    EADDRNOTAVAIL,
    EAGAIN,
    EBADF,
    ECONNREFUSED,
    ECONNRESET,
    EDESTADDRREQ,
    EHOSTDOWN,
    EHOSTUNREACH,
    EMFILE,
    EMSGSIZE,
    ENETDOWN,
    ENETUNREACH,
    ENFILE,
    ENOENT,
    ENOTCONN,
    ENOTDIR,
    EPERM,
    EPIPE,
    ETIMEDOUT,
    OsError,
    errno_text,
)


@fieldwise_init
struct NetworkErrorKind(Equatable, TrivialRegisterPassable, Writable):
    """What went wrong, for programs: `if error.kind == AddressInUse`."""

    var name: StaticString
    """The kind's name."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes the name."""
        writer.write(self.name)


comptime ConnectionRefused = NetworkErrorKind("ConnectionRefused")
"""Nothing listens at the address."""
comptime ConnectionReset = NetworkErrorKind("ConnectionReset")
"""The peer gave the connection up."""
comptime ConnectionTimeout = NetworkErrorKind("ConnectionTimeout")
"""The peer did not answer: not to connect within the caller's time, or not at
all for so long that the system gave the connection up."""
comptime AddressInUse = NetworkErrorKind("AddressInUse")
"""Another socket has the address."""
comptime AddressNotAvailable = NetworkErrorKind("AddressNotAvailable")
"""The address is not one of this machine's."""
comptime BrokenPipe = NetworkErrorKind("BrokenPipe")
"""The peer no longer reads."""
comptime PermissionDenied = NetworkErrorKind("PermissionDenied")
"""The system does not allow it, for instance a port below 1024."""
comptime TooManyOpenFiles = NetworkErrorKind("TooManyOpenFiles")
"""The process or the system has no more descriptors."""
comptime Unreachable = NetworkErrorKind("Unreachable")
"""There is no route to the address."""
comptime WouldBlock = NetworkErrorKind("WouldBlock")
"""A non-blocking call has nothing to do right now."""
comptime Timeout = NetworkErrorKind("Timeout")
"""The time that the caller allowed for a read, a write, an accept or (as the
detail of `DnsError`) a lookup is over."""
comptime DnsError = NetworkErrorKind("DnsError")
"""A host name has no address, or no server answered."""
comptime NameNotFound = NetworkErrorKind("NameNotFound")
"""Detail of `DnsError`: the name does not exist, or has no such address."""
comptime NameLookupFailed = NetworkErrorKind("NameLookupFailed")
"""Detail of `DnsError`: no name server answered, or it refused; a later try
may succeed."""
comptime NameRefused = NetworkErrorKind("NameRefused")
"""Detail of `DnsError`: the text can be no host name, and nobody was asked."""
comptime NotConnected = NetworkErrorKind("NotConnected")
"""The socket is not connected, or closed already."""
comptime DatagramTooLarge = NetworkErrorKind("DatagramTooLarge")
"""A datagram is larger than the room for it, or than the network takes."""
comptime PathNotFound = NetworkErrorKind("PathNotFound")
"""There is no socket file, or no folder for it."""
comptime BadAddress = NetworkErrorKind("BadAddress")
"""A text is no address."""
comptime OtherError = NetworkErrorKind("OtherError")
"""Anything else; `NetworkError.number` has the errno."""


struct NetworkError(Copyable, Movable, Writable):
    """A network operation failed.

    Its text names the operation, the address and the cause.
    """

    var kind: NetworkErrorKind
    """What went wrong."""
    var detail: NetworkErrorKind
    """The same more finely, where there is more to say; else the kind."""
    var operation: StaticString
    """What was tried, such as "bind"."""
    var address: String
    """With which address; empty if with none."""
    var number: Int
    """The errno; 0 if the kernel was not asked."""
    var reason: String
    """The cause in words."""

    def __init__(
        out self,
        kind: NetworkErrorKind,
        operation: StaticString,
        var address: String,
        var reason: String,
    ):
        """Makes an error that no system call gave."""
        self.kind = kind
        self.detail = kind
        self.operation = operation
        self.address = address^
        self.number = 0
        self.reason = reason^

    @staticmethod
    def of_name(
        detail: NetworkErrorKind, var host: String, var reason: String
    ) -> Self:
        """Gives a `DnsError`.

        Args:
            detail: What went wrong, more finely.
            host: The host name, fit to print.
            reason: The cause in words.
        """
        var error = Self(materialize[DnsError](), "resolve", host^, reason^)
        error.detail = detail
        return error^

    @implicit
    def __init__(out self, error: OsError):
        """Translates a failed system call.

        Args:
            error: What the kernel said.
        """
        self = Self(error, String())

    @implicit
    def __init__(out self, error: AddressParseError):
        """Takes over an address that could not be read.

        Args:
            error: What the parser said.
        """
        self = Self(
            materialize[BadAddress](), "parse address", String(), String(error)
        )

    def __init__(out self, error: OsError, var address: String):
        """Translates a failed system call.

        Args:
            address: The address that was used.
        """
        self.kind = _kind(error.number)
        self.detail = self.kind
        self.operation = error.operation
        self.address = address^
        self.number = error.number
        self.reason = errno_text(error.number)

    def write_to(self, mut writer: Some[Writer]):
        """Writes operation, address and cause."""
        writer.write_string(self._message())

    @no_inline
    def _message(self) -> String:
        # Not generic: it would be generated for each kind of writer.
        var message = Text()
        message = message^.add(self.operation)
        if self.address.byte_length() > 0:
            message = message^.add(" ").add(self.address)
        message = message^.add(": ").add(self.reason)
        # Unix sockets have no ports; they say "bind socket", with advice.
        var has_port = self.operation == "bind" or self.operation == "listen"
        if self.kind == AddressInUse and has_port:
            message = message^.add(
                "; stop the other program or choose another port"
            )
        elif self.kind == ConnectionRefused:
            message = message^.add("; is a server listening there?")
        elif self.kind == PermissionDenied and has_port:
            message = message^.add("; ports below 1024 need privileges")
        return message^.end()


def _kind(number: Int) -> NetworkErrorKind:
    if number == ECONNREFUSED:
        return materialize[ConnectionRefused]()
    if number == ECONNRESET:
        return materialize[ConnectionReset]()
    if number == ETIMEDOUT:
        return materialize[ConnectionTimeout]()
    if number == EADDRINUSE:
        return materialize[AddressInUse]()
    if number == EADDRNOTAVAIL:
        return materialize[AddressNotAvailable]()
    if number == EPIPE:
        return materialize[BrokenPipe]()
    if number == EACCES or number == EPERM:
        return materialize[PermissionDenied]()
    if number == EMFILE or number == ENFILE:
        return materialize[TooManyOpenFiles]()
    if number == ENETUNREACH or number == EHOSTUNREACH:
        return materialize[Unreachable]()
    if number == ENETDOWN or number == EHOSTDOWN:
        return materialize[Unreachable]()
    if number == EAGAIN:
        return materialize[WouldBlock]()
    if number == ENOTCONN or number == EBADF or number == EDESTADDRREQ:
        return materialize[NotConnected]()
    if number == EMSGSIZE:
        return materialize[DatagramTooLarge]()
    if number == ENOENT or number == ENOTDIR:
        return materialize[PathNotFound]()
    return materialize[OtherError]()


def send_failure(number: Int, var peer: String, length: Int) -> NetworkError:
    """Explains why a datagram was not sent."""
    var error = NetworkError(OsError("send", number), peer^)
    if error.kind == DatagramTooLarge:
        error.reason = String(
            length, " bytes are more than one datagram takes; send less at once"
        )
    return error^


def truncation(var name: String, length: Int, room_len: Int) -> NetworkError:
    """Explains that a datagram was longer, as far as is known, than the room
    for it; the name is the socket's own, or the peer's."""
    var reason = Text()
    if length > room_len:
        reason = reason^.add("a datagram of ").add(length).add(" bytes")
    else:
        # Only Linux tells how long it was.
        reason = reason^.add("a longer datagram")
    reason = reason^.add(" was cut to ").add(room_len).add(
        " bytes; pass more room"
    )
    return NetworkError(
        materialize[DatagramTooLarge](), "receive", name^, reason^.end()
    )


@fieldwise_init
struct AddressParseError(Copyable, Movable, Writable):
    """A text is not the address it should be."""

    var expected: StaticString
    """What was asked for, such as "an IPv4 or IPv6 address"."""
    var text: String
    """The text, as found."""
    var offset: Int
    """Where it stops being one, in bytes."""
    var reason: StaticString
    """Which rule it breaks there."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes the message, with octets that are not printable escaped."""
        writer.write_string(self._message())

    @no_inline
    def _message(self) -> String:
        # Not generic: it would be generated for each kind of writer.
        var message = Text()
        message = message^.add("'")
        message = message^.add_escaped(self.text.as_bytes())
        message = message^.add("' is not ").add(self.expected).add(": ").add(
            self.reason
        )
        message = message^.add(" (byte ").add(self.offset).add(")")
        return message^.end()
