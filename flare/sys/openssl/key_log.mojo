"""Secrets of TLS sessions, written to files for those who look at what was on
the wire."""

from flare.sys.dynamic_library import DynamicLibrary
from flare.sys.file import File
from flare.sys.openssl.library import c_text, library_names
from std.ffi import _Global
from std.utils import BlockingScopedLock, BlockingSpinLock

comptime _MODE = 0o600
"""Of a new file: who reads it can read the connections."""

# `SSL_CTX_set_app_data` is the place of this number.
comptime _APP_DATA = Int32(0)

comptime _KeyLogCallback = def(Int, Int) thin abi("C") -> None
comptime _SetCallback = def(Int, _KeyLogCallback) thin abi("C") -> None
comptime _SetData = def(Int, Int32, Int) thin abi("C") -> Int32
comptime _GetData = def(Int, Int32) thin abi("C") -> Int
comptime _GetContext = def(Int) thin abi("C") -> Int


struct _KeyLogs(Movable):
    """The files, each open until the process ends: sessions outlive contexts,
    and their secrets must not go to what has the descriptor's number then."""

    var lock: BlockingSpinLock
    var paths: List[String]
    var files: List[File]

    def __init__(out self):
        self.lock = BlockingSpinLock()
        self.paths = []
        self.files = []


def _no_logs() -> _KeyLogs:
    return _KeyLogs()


comptime _LOGS = _Global["flare.tls.key_logs", _no_logs]


def start_key_log(context: Int, path: String) -> String:
    """Appends the secrets of all sessions of an `SSL_CTX`, which has none yet,
    to a file from now on. Returns what went wrong; empty if nothing."""
    try:
        var number = _number_of(path)
        var library = DynamicLibrary(library_names("libssl"))
        var set_data = library.symbol[_SetData]("SSL_CTX_set_ex_data")
        var set_callback = library.symbol[_SetCallback](
            "SSL_CTX_set_keylog_callback"
        )
        if set_data(context, _APP_DATA, number) != 1:
            return "OpenSSL has no memory"
        set_callback(context, _write_line)
        return String()
    except error:
        return String(error)


def _number_of(path: String) raises -> Int:
    """Finds or opens a file; the first has the number 1."""
    var logs = _LOGS.get_or_create_ptr()
    with BlockingScopedLock(logs[].lock):
        for index in range(len(logs[].paths)):
            if logs[].paths[index] == path:
                return index + 1
        logs[].files.append(File.appending(path, _MODE))
        logs[].paths.append(path)
        return len(logs[].paths)


def _write_line(session: Int, line: Int) abi("C"):
    """OpenSSL calls it with each secret of a handshake."""
    try:
        _write(session, line)
    except:
        # A disk that is full ends no connection.
        pass


def _write(session: Int, line: Int) raises:
    # Looked up anew: there is nowhere to keep it, and this is for those
    # who search for a fault.
    var library = DynamicLibrary(library_names("libssl"))
    var context_of = library.symbol[_GetContext]("SSL_get_SSL_CTX")
    var data_of = library.symbol[_GetData]("SSL_CTX_get_ex_data")
    var number = data_of(context_of(session), _APP_DATA)
    _append(number, c_text(line) + "\n")


def _append(number: Int, line: String) raises:
    var logs = _LOGS.get_or_create_ptr()
    with BlockingScopedLock(logs[].lock):
        if number > 0 and number <= len(logs[].files):
            logs[].files[number - 1].append(line.as_bytes())
