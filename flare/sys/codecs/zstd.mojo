"""The functions of zstd that flare calls, and the streams that they work on."""

from flare.bytes.checked import *
from flare.sys.dynamic_library import (
    DynamicLibrary,
    LibraryError,
    LibraryFunctions,
    functions_of,
)
from flare.sys.idle import IdleContext, keep_idle, take_idle
from flare.sys.platform import IS_MACOS
from flare.sys.codecs.zlib import CodecStatus, CodecStep
from std.sys import size_of

comptime CONTINUE: Int32 = 0
"""Keep what makes for better compression (`ZSTD_e_continue`)."""
comptime FLUSH: Int32 = 1
"""Give out all there is, so that it can be decoded (`ZSTD_e_flush`)."""
comptime END: Int32 = 2
"""End the frame (`ZSTD_e_end`)."""

comptime WINDOW_LOG_MAX: Int32 = 23
"""Windows are of 8 MiB at most (RFC 9659 section 3), as a power of 2."""

comptime _LEVEL: Int32 = 100
comptime _WINDOW_LOG_MAX_OF_DECODER: Int32 = 100

# Everything: what was under way, and all that was set.
comptime _RESET_ALL: Int32 = 3
comptime _KEPT_LEN_MAX = 2 * 1024 * 1024
# Of a context, in bytes; what needs more, such as one of a high level, goes.

comptime _ERROR_WINDOW: Int32 = 16
comptime _ERROR_DICTIONARY: Int32 = 32
comptime _ERROR_MEMORY: Int32 = 64

# Types of C functions: the result, then the arguments. P is a pointer or a
# size_t, I an int.
comptime _P_0 = def() thin abi("C") -> Int
comptime _P_P = def(Int) thin abi("C") -> Int
comptime _I_P = def(Int) thin abi("C") -> Int32
comptime _P_PI = def(Int, Int32) thin abi("C") -> Int
comptime _P_PII = def(Int, Int32, Int32) thin abi("C") -> Int
comptime _P_PPP = def(Int, Int, Int) thin abi("C") -> Int
comptime _P_PPPI = def(Int, Int, Int, Int32) thin abi("C") -> Int


struct ZstdDecoderFunctions(LibraryFunctions):
    comptime KEY: StaticString = "flare.sys.codecs.zstd.decoder"

    var create: _P_0
    var set: _P_PII
    var decompress: _P_PPP
    var is_error: _I_P
    var error_code: _I_P
    var reset: _P_PI
    var size: _P_P
    var free: _P_P

    @staticmethod
    def names() -> List[String]:
        return _names()

    def __init__(out self, library: DynamicLibrary) raises LibraryError:
        self.create = library.symbol[_P_0]("ZSTD_createDCtx")
        self.set = library.symbol[_P_PII]("ZSTD_DCtx_setParameter")
        self.decompress = library.symbol[_P_PPP]("ZSTD_decompressStream")
        self.is_error = library.symbol[_I_P]("ZSTD_isError")
        self.error_code = library.symbol[_I_P]("ZSTD_getErrorCode")
        self.reset = library.symbol[_P_PI]("ZSTD_DCtx_reset")
        self.size = library.symbol[_P_P]("ZSTD_sizeof_DCtx")
        self.free = library.symbol[_P_P]("ZSTD_freeDCtx")


struct ZstdEncoderFunctions(LibraryFunctions):
    comptime KEY: StaticString = "flare.sys.codecs.zstd.encoder"

    var create: _P_0
    var set: _P_PII
    var compress: _P_PPPI
    var is_error: _I_P
    var reset: _P_PI
    var size: _P_P
    var free: _P_P

    @staticmethod
    def names() -> List[String]:
        return _names()

    def __init__(out self, library: DynamicLibrary) raises LibraryError:
        self.create = library.symbol[_P_0]("ZSTD_createCCtx")
        self.set = library.symbol[_P_PII]("ZSTD_CCtx_setParameter")
        self.compress = library.symbol[_P_PPPI]("ZSTD_compressStream2")
        self.is_error = library.symbol[_I_P]("ZSTD_isError")
        self.reset = library.symbol[_P_PI]("ZSTD_CCtx_reset")
        self.size = library.symbol[_P_P]("ZSTD_sizeof_CCtx")
        self.free = library.symbol[_P_P]("ZSTD_freeCCtx")


def _names() -> List[String]:
    comptime if IS_MACOS:
        return [
            "libzstd.1.dylib",
            "/opt/homebrew/lib/libzstd.1.dylib",
            "/usr/local/lib/libzstd.1.dylib",
        ]
    else:
        return ["libzstd.so.1"]


@fieldwise_init
struct _IdleState[key: StaticString](IdleContext):
    """A context of either kind. All of its settings can be changed."""

    comptime KEY: StaticString = Self.key
    comptime Settings = Bool

    var state: Int
    var free: _P_P

    def __deinit__(deinit self):
        """Gives the library its memory back."""
        _ = self.free(self.state)

    def settings(self) -> Bool:
        return True

    def into_state(deinit self) -> Int:
        return self.state


comptime _IdleDecoder = _IdleState["flare.sys.codecs.zstd.idle_decoder"]
comptime _IdleEncoder = _IdleState["flare.sys.codecs.zstd.idle_encoder"]


struct _Places(Movable):
    """Two structs of the library: address, length and position, each of the
    input and of the room.

    They live on the heap: the library is given their addresses as integers, and
    the compiler would take locals for unused.
    """

    var _numbers: List[Int]

    def __init__(out self):
        self._numbers = List[Int](length=6, fill=0)

    def offer(mut self, input: Span[UInt8, _], room: MutSpan[UInt8, _]):
        self._numbers.at(0) = Int(input.unsafe_ptr())
        self._numbers.at(1) = len(input)
        self._numbers.at(2) = 0
        self._numbers.at(3) = Int(room.unsafe_ptr())
        self._numbers.at(4) = len(room)
        self._numbers.at(5) = 0

    def input(mut self) -> Int:
        """Gives the address of the first struct."""
        return Int(self._numbers.unsafe_ptr())

    def room(mut self) -> Int:
        """Gives the address of the second struct."""
        return Int(self._numbers.unsafe_ptr()) + 3 * size_of[Int]()

    def step(self, status: CodecStatus) -> CodecStep:
        """Reads what was taken and given."""
        return CodecStep(status, self._numbers.at(2), self._numbers.at(5))


struct ZstdDecoder(Movable):
    """A stream that is being decompressed: frames, one after the other."""

    var _state: Int
    var _places: _Places
    var _functions: ZstdDecoderFunctions

    def __init__(out self) raises LibraryError:
        """Starts a stream. Raises if the library is missing, too old or has no
        memory."""
        self._functions = functions_of[ZstdDecoderFunctions]()
        self._places = _Places()
        var idle = take_idle[_IdleDecoder](True)
        if idle:
            self._state = idle.take().into_state()
            _ = self._functions.reset(self._state, _RESET_ALL)
        else:
            self._state = self._functions.create()
        if self._state == 0:
            raise LibraryError("zstd", "the decoder has no memory")
        var result = self._functions.set(
            self._state, _WINDOW_LOG_MAX_OF_DECODER, WINDOW_LOG_MAX
        )
        if self._functions.is_error(result) != 0:
            _ = self._functions.free(self._state)
            raise LibraryError("zstd", "the window cannot be bounded")

    def __deinit__(deinit self):
        """Keeps the context for others, or gives the library its memory back."""
        var idle = _IdleDecoder(self._state, self._functions.free)
        if self._functions.size(self._state) <= _KEPT_LEN_MAX:
            keep_idle(idle^)

    def step(
        mut self, input: Span[UInt8, _], room: MutSpan[UInt8, _]
    ) -> CodecStep:
        """Decompresses into room that is not empty, and says `ENDED` after a
        frame. If the room is full afterwards there may be more."""
        self._places.offer(input, room)
        var result = self._functions.decompress(
            self._state, self._places.room(), self._places.input()
        )
        var status = CodecStatus.GOES_ON
        if result == 0:
            status = CodecStatus.ENDED
        elif self._functions.is_error(result) != 0:
            var code = self._functions.error_code(result)
            status = CodecStatus.CORRUPT
            if code == _ERROR_MEMORY:
                status = CodecStatus.NO_MEMORY
            elif code == _ERROR_DICTIONARY:
                status = CodecStatus.NEEDS_DICTIONARY
            elif code == _ERROR_WINDOW:
                status = CodecStatus.WINDOW_TOO_LARGE
        return self._places.step(status)


struct ZstdEncoder(Movable):
    """A frame that is being compressed."""

    var _state: Int
    var _places: _Places
    var _functions: ZstdEncoderFunctions

    def __init__(out self, level: Int) raises LibraryError:
        """Starts a frame of a level of 1 (quickest) to 19 (smallest). Raises if
        the library is missing, too old or has no memory."""
        self._functions = functions_of[ZstdEncoderFunctions]()
        self._places = _Places()
        var idle = take_idle[_IdleEncoder](True)
        if idle:
            self._state = idle.take().into_state()
            _ = self._functions.reset(self._state, _RESET_ALL)
        else:
            self._state = self._functions.create()
        if self._state == 0:
            raise LibraryError("zstd", "the encoder has no memory")
        var result = self._functions.set(self._state, _LEVEL, Int32(level))
        if self._functions.is_error(result) != 0:
            _ = self._functions.free(self._state)
            raise LibraryError("zstd", "the level cannot be set")

    def __deinit__(deinit self):
        """Keeps the context for others, or gives the library its memory back."""
        var idle = _IdleEncoder(self._state, self._functions.free)
        if self._functions.size(self._state) <= _KEPT_LEN_MAX:
            keep_idle(idle^)

    def step(
        mut self,
        input: Span[UInt8, _],
        room: MutSpan[UInt8, _],
        operation: Int32,
    ) -> CodecStep:
        """Compresses into room that is not empty. If it is full afterwards
        there may be more. The operation is `CONTINUE`, `FLUSH` or `END`; the
        latter two until the input is taken and the room is not full."""
        self._places.offer(input, room)
        var result = self._functions.compress(
            self._state, self._places.room(), self._places.input(), operation
        )
        var status = CodecStatus.GOES_ON
        if self._functions.is_error(result) != 0:
            status = CodecStatus.NO_MEMORY
        elif operation == END and result == 0:
            status = CodecStatus.ENDED
        return self._places.step(status)
