"""Addresses of Unix sockets, and who owns a socket file."""

from flare.bytes.ascii import write_escaped
from flare.bytes.checked import *
from flare.bytes.copy import text_of
from flare.bytes.utf8 import lossy_text
from flare.net.error import AddressInUse, AddressParseError, NetworkError
from flare.net.raw_socket import RawSocket
from flare.sys.clock import Deadline
from flare.sys.errno import (
    EADDRINUSE,
    EAGAIN,
    ECONNREFUSED,
    ENOENT,
    OsError,
)
from flare.sys.file import File, folder_of
from flare.sys.platform import IS_MACOS
from flare.sys.poll import pause
from flare.sys.sockets.sock_addr import AF_UNIX, SockAddr, UNIX_NAME_LEN_MAX
from flare.sys.sockets.socket import (
    SOCK_STREAM,
    bind_socket,
    connect_socket,
    listen_socket,
    open_socket,
)
from flare.sys.socket_file import SocketFile

comptime _EXPECTED = StaticString(
    "a Unix socket address such as /run/app.sock or @app"
)
comptime _AT = UInt8(64)


struct UnixAddr(Copyable, Equatable, Movable, Writable):
    """Where a Unix socket is.

    Text with a leading `@` is an abstract name, which Linux keeps apart from
    the file system: it needs no file, and ends with its socket. All other text
    is a path; a file whose name starts with `@` is reached as `./@name`.

    Text converts by itself: `UnixStream.connect("/run/app.sock")`.
    """

    # As the kernel has it: a path, or a NUL and an abstract name, or nothing.
    var _name: List[UInt8]

    def __init__(out self):
        """Makes the address of a socket that has none."""
        self._name = []

    @implicit
    def __init__(out self, text: StringSpan) raises NetworkError:
        """Reads an address as `parse` does.

        Args:
            text: A path, or `@` and an abstract name.

        Raises:
            NetworkError: With the kind `BadAddress`, so that a call which takes
                text raises one type of error.
        """
        self = Self.parse(text)

    @implicit
    def __init__(out self, text: String) raises NetworkError:
        """Reads an address as `parse` does.

        Raises:
            NetworkError: With the kind `BadAddress`.
        """
        self = Self.parse(text)

    @implicit
    def __init__(out self, text: StringLiteral) raises NetworkError:
        """Reads an address as `parse` does."""
        self = Self.parse(text)

    @no_inline
    def __deinit__(deinit self):
        return

    @staticmethod
    def parse(text: StringSpan) raises AddressParseError -> Self:
        """Reads an address.

        Raises:
            AddressParseError: If the text is empty, too long or has a NUL, or
                is an abstract name and the system has none.
        """
        var octets = text.as_bytes()
        if len(octets) > 0 and octets.at(0) == _AT:
            return Self.abstract(octets.after(1))
        return Self.path(octets)

    @staticmethod
    def path(octets: Span[UInt8, _]) raises AddressParseError -> Self:
        """Names a socket by its file.

        Args:
            octets: The path; a leading `@` means nothing special here.

        Raises:
            AddressParseError: If it is empty, longer than 107 bytes (103 on
                macOS) or has a NUL.
        """
        _check_name(octets)
        var address = Self()
        address._name.extend(octets)
        return address^

    @staticmethod
    def abstract(octets: Span[UInt8, _]) raises AddressParseError -> Self:
        """Names a socket without a file; Linux only.

        Args:
            octets: The name, without an `@`.

        Raises:
            AddressParseError: If it is empty, longer than 107 bytes or has a
                NUL, or the system has no abstract names.
        """
        comptime if IS_MACOS:
            raise _error(octets, 0, "abstract names exist on Linux only")
        _check_name(octets)
        var address = Self()
        address._name.append(0)
        address._name.extend(octets)
        return address^

    @staticmethod
    def from_kernel(address: SockAddr) -> Self:
        """Gives an address of the kernel.

        Args:
            address: An `AF_UNIX` address.
        """
        var own = Self()
        own._name = address.unix_name()
        return own^

    def to_kernel(self) -> SockAddr:
        """Gives the address as the kernel has it."""
        if self.is_abstract():
            return SockAddr.unix(Span(self._name).after(1), is_abstract=True)
        return SockAddr.unix(self._name)

    def is_unnamed(self) -> Bool:
        """Tells whether the socket has no address, as most clients have none."""
        return len(self._name) == 0

    def is_abstract(self) -> Bool:
        """Tells whether the address is a name without a file."""
        return len(self._name) > 0 and self._name.at(0) == 0

    def is_path(self) -> Bool:
        """Tells whether the address is that of a file."""
        return len(self._name) > 0 and self._name.at(0) != 0

    def octets(ref self) -> Span[UInt8, origin_of(self._name[0])]:
        """Lends the path, or a NUL and the abstract name; nothing for a socket
        without an address."""
        return self._name[0:]

    def write_to(self, mut writer: Some[Writer]):
        """Writes the path, `@` and the abstract name, or "unnamed".

        Octets that are not printable are escaped."""
        if self.is_unnamed():
            writer.write("unnamed")
        elif self.is_abstract():
            writer.write("@")
            write_escaped(Span(self._name).after(1), writer)
        else:
            write_escaped(self._name, writer)


def _check_name(octets: Span[UInt8, _]) raises AddressParseError:
    comptime TOO_LONG = StaticString(
        "a path has at most 103 bytes"
    ) if IS_MACOS else StaticString("a path or name has at most 107 bytes")
    if len(octets) == 0:
        raise _error(octets, 0, "it is empty")
    if len(octets) > UNIX_NAME_LEN_MAX:
        raise _error(octets, UNIX_NAME_LEN_MAX, TOO_LONG)
    for index in range(len(octets)):
        if octets.at(index) == 0:
            raise _error(octets, index, "a NUL would end it early")


def _error(
    octets: Span[UInt8, _], offset: Int, reason: StaticString
) -> AddressParseError:
    return AddressParseError(_EXPECTED, lossy_text(octets), offset, reason)


comptime _TURN_TIMEOUT_MS = 1_000
# Between binding and listening there are a few calls of the kernel.
comptime _TURN_LOOK_MS = 5

comptime UNIX_BACKLOG = 4_096
"""Most connections that wait to be accepted; the system may allow fewer."""


struct BoundSocket(Movable):

    var socket: RawSocket
    var file: SocketFile
    """The file, removed when this goes; none for an abstract name."""

    def __init__(out self, var socket: RawSocket):
        """Takes a socket that has no file."""
        self.socket = socket^
        self.file = SocketFile()

    def take_socket(mut self) -> RawSocket:
        var socket = RawSocket(owned=-1)
        swap(socket, self.socket)
        return socket^

    def take_file(mut self) -> SocketFile:
        var file = SocketFile()
        swap(file, self.file)
        return file^


def open_unix(kind: Int) raises NetworkError -> RawSocket:
    """Makes a Unix socket of a `SOCK_` kind."""
    var socket = open_socket(AF_UNIX, kind)
    return RawSocket(owned=socket.release())


def bind_unix(
    kind: Int, address: UnixAddr, replace_stale: Bool
) raises NetworkError -> BoundSocket:
    """Makes a Unix socket of a `SOCK_` kind with an address; `replace_stale`
    removes a socket file that nobody listens at. The error names the address.
    """
    var bound = BoundSocket(open_unix(kind))
    var result = _bind(bound.socket, address)
    if result == EADDRINUSE and replace_stale and _is_stale(kind, address):
        var stale = SocketFile.at(_path_text(address))
        stale.remove()
        result = _bind(bound.socket, address)
    if result != 0:
        raise _binding_error(result, address, replace_stale)
    if address.is_path():
        bound.file = SocketFile.at(_path_text(address))
    return bound^


def listen_unix(
    address: UnixAddr, replace_stale: Bool, backlog: Int
) raises NetworkError -> BoundSocket:
    """Makes a Unix socket on which at most `backlog` connections wait;
    `replace_stale` removes a socket file that nobody listens at. The error
    names the address."""
    # Between the two calls the file looks as one that nobody listens at.
    var turn = StartingTurn(address)
    var bound = bind_unix(SOCK_STREAM, address, replace_stale)
    listen_socket(bound.socket.fd(), backlog)
    _ = turn^
    return bound^


struct StartingTurn(Movable):
    """The turn of one program among those that begin to listen in a folder.

    It is a lock on the folder itself (flock), so nothing is left behind, and it
    ends with this value or its process.
    """

    var _folder: Optional[File]

    def __init__(out self, address: UnixAddr):
        """Waits for it, for a moment: a folder that may not be read, and one
        that somebody else has locked for another reason, are no hindrance. An
        abstract name needs no turn."""
        self._folder = None
        if not address.is_path():
            return
        var deadline = Deadline(_TURN_TIMEOUT_MS)
        while True:
            try:
                var folder = File.folder(folder_of(_path_text(address)))
                folder.lock()
                self._folder = folder^
                return
            except error:
                if error.number != EAGAIN or deadline.left_ms() == 0:
                    return
            pause(_TURN_LOOK_MS)


def _bind(socket: RawSocket, address: UnixAddr) -> Int:
    try:
        bind_socket(socket.fd(), address.to_kernel())
        return 0
    except error:
        return error.number


def _is_stale(kind: Int, address: UnixAddr) raises NetworkError -> Bool:
    """Tells whether a socket file is there that nobody listens at."""
    if not address.is_path() or not SocketFile.exists(_path_text(address)):
        return False
    var probe = open_unix(kind)
    var result = connect_socket(probe.fd(), address.to_kernel())
    probe.close()
    return result == -ECONNREFUSED


def _path_text(address: UnixAddr) -> String:
    return text_of(address.octets())


def _binding_error(
    number: Int, address: UnixAddr, replace_stale: Bool
) -> NetworkError:
    # Not "bind": the advice for that speaks of ports.
    var error = NetworkError(OsError("bind socket", number), String(address))
    if number == ENOENT and address.is_path():
        error.reason += "; the folder of a socket has to be there"
    if error.kind != AddressInUse:
        return error^
    if address.is_path() and not SocketFile.exists(_path_text(address)):
        error.reason += (
            "; what stands there is no socket, and is kept: choose another path"
        )
    elif address.is_path() and not replace_stale:
        error.reason += (
            "; if no program listens there any more, remove the file or pass"
            " replace_stale=True"
        )
    else:
        error.reason += "; stop the other program or choose another name"
    return error^
