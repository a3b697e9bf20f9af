"""OpenSSL 3, loaded when a program first needs it."""

from flare.bytes.text import Text
from flare.bytes.utf8 import lossy_text
from flare.sys.dynamic_library import DynamicLibrary, LibraryError
from flare.sys.openssl.crypto_symbols import CertificateSymbols, MemorySymbols
from flare.sys.openssl.ssl_symbols import ContextSymbols, SessionSymbols
from flare.sys.platform import IS_MACOS


# `SSL_R_CA_KEY_TOO_SMALL`, `SSL_R_CA_MD_TOO_WEAK`, `SSL_R_EE_KEY_TOO_SMALL`.
comptime _WEAK_FIRST = 397
comptime _WEAK_LAST = 399

comptime SSL_LIBRARY = 20
"""Errors of TLS itself, among those of OpenSSL's parts (`ERR_LIB_SSL`)."""

# `ERR_GET_LIB` and `ERR_GET_REASON` of OpenSSL 3.
comptime _SYSTEM_ERROR = 0x80000000
comptime _SYSTEM_LIBRARY = 2
comptime _LIBRARY_SHIFT = 23
comptime _LIBRARY_MASK = 0xFF
comptime _REASON_MASK = 0x7FFFFF

# `OPENSSL_INIT_NO_ATEXIT`.
comptime _NO_ATEXIT: UInt64 = 0x00080000

# The queue of a thread has 16 places.
comptime _ERROR_COUNT_MAX = 16


@fieldwise_init
struct OpenSslError(Copyable, Movable, Writable):

    var operation: StaticString
    var library: Int
    """Which part of OpenSSL says so, such as `SSL_LIBRARY`; 0 for none."""
    var reason: Int
    """The reason's number within that part."""
    var text: String
    """The reason in OpenSSL's words."""

    def is_reason(self, library: Int, reason: Int) -> Bool:
        return self.library == library and self.reason == reason

    def is_too_weak(self) -> Bool:
        """Tells whether a certificate was read, but has a key that is too short,
        or a signature by a digest that is too weak."""
        return self.library == SSL_LIBRARY and (
            _WEAK_FIRST <= self.reason <= _WEAK_LAST
        )

    def write_to(self, mut writer: Some[Writer]):
        writer.write_string(self.operation)
        writer.write_string(": ")
        writer.write_string(self.text)


struct OpenSsl(Movable):
    """The library's functions.

    Errors wait in a queue of the calling thread. Whoever calls a function that
    fails takes them out with `take_error`, and whoever may have left some on
    the way to success calls `clear_errors`, so that the queue is empty between
    calls: then reads and writes need not look at it.
    """

    # The functions are good while the libraries are loaded.
    var _crypto_library: DynamicLibrary
    var _ssl_library: DynamicLibrary
    var memory: MemorySymbols
    """Errors and memory BIOs."""
    var certificate: CertificateSymbols
    """Certificates, keys and stores."""
    var context: ContextSymbols
    """What many sessions share."""
    var session: SessionSymbols

    def __init__(out self) raises LibraryError:
        """Loads OpenSSL 3 from where the system has it; raises if it is not
        there."""
        self = Self(library_names("libcrypto"), library_names("libssl"))

    def __init__(
        out self, crypto_names: List[String], ssl_names: List[String]
    ) raises LibraryError:
        """Loads OpenSSL 3 by the names of files to try; raises if it is not
        there."""
        self._crypto_library = DynamicLibrary(crypto_names)
        self._ssl_library = DynamicLibrary(ssl_names)
        # Otherwise it takes itself down when the program's main ends, under
        # threads that still speak TLS.
        comptime Init = def(UInt64, Int) thin abi("C") -> Int32
        _ = self._crypto_library.symbol[Init]("OPENSSL_init_crypto")(
            _NO_ATEXIT, 0
        )
        self.memory = MemorySymbols(self._crypto_library)
        self.certificate = CertificateSymbols(self._crypto_library)
        self.context = ContextSymbols(self._ssl_library)
        self.session = SessionSymbols(self._ssl_library)

    def clear_errors(self):
        """Empties the calling thread's error queue."""
        self.memory.clear_error()

    def take_error(self, operation: StaticString) -> OpenSslError:
        """Empties the calling thread's error queue and tells the first error of
        TLS itself, or else the first of all: those after it tell how it went
        on its way up."""
        var found = OpenSslError(operation, 0, 0, "no reason given")
        for _ in range(_ERROR_COUNT_MAX):
            var packed = self.memory.get_error()
            if packed == 0:
                break
            var error = self._unpack(operation, packed)
            var is_better = error.library == SSL_LIBRARY
            if found.library == 0 or (
                is_better and found.library != SSL_LIBRARY
            ):
                found = error^
        return found^

    def _unpack(self, operation: StaticString, packed: Int) -> OpenSslError:
        var text = c_text(self.memory.reason_error_string(packed))
        if packed & _SYSTEM_ERROR != 0:
            var number = packed & ~_SYSTEM_ERROR
            if text.byte_length() == 0:
                text = Text().add("errno ").add(number).end()
            return OpenSslError(operation, _SYSTEM_LIBRARY, number, text^)
        var library = (packed >> _LIBRARY_SHIFT) & _LIBRARY_MASK
        var reason = packed & _REASON_MASK
        if text.byte_length() == 0:
            text = (
                Text()
                .add("reason ")
                .add(reason)
                .add(" of part ")
                .add(library)
                .end()
            )
        return OpenSslError(operation, library, reason, text^)


def library_names(name: String) -> List[String]:
    """Lists the file names of a library of OpenSSL 3."""
    comptime if IS_MACOS:
        var file = Text().add(name).add(".3.dylib").end()
        # Homebrew keeps its libraries out of the default search path: the
        # first on Apple's own processors, the second on Intel's.
        return [
            file,
            Text().add("/opt/homebrew/opt/openssl@3/lib/").add(file).end(),
            Text().add("/usr/local/opt/openssl@3/lib/").add(file).end(),
        ]
    else:
        return [Text().add(name).add(".so.3").end()]


def c_text(address: Int) -> String:
    """Copies text of OpenSSL that a NUL ends, with what is no UTF-8 replaced;
    empty for 0."""
    if address == 0:
        return String()
    var start = Pointer[UInt8, ImmUntrackedOrigin](unsafe_from_address=address)
    var length = 0
    while start[unsafe_offset=length] != 0:
        length += 1
    return lossy_text(Span(unsafe_ptr=start, length=length))


def c_octets(address: Int, length: Int) -> Span[UInt8, ImmUntrackedOrigin]:
    """Lends octets of OpenSSL, good while it keeps them."""
    if length <= 0:
        return Span[UInt8, ImmUntrackedOrigin]()
    return {
        unsafe_ptr = Pointer[UInt8, ImmUntrackedOrigin](
            unsafe_from_address=address
        ),
        length = length,
    }
