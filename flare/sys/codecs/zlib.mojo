"""The functions of zlib that flare calls, and the streams that they work on."""

from flare.bytes.checked import *
from flare.bytes.text import Text
from flare.sys.dynamic_library import (
    DynamicLibrary,
    LibraryError,
    LibraryFunctions,
    functions_of,
)
from flare.sys.idle import IdleContext, keep_idle, take_idle
from flare.sys.platform import IS_MACOS
from std.memory import OwnedPointer
from std.sys import size_of


comptime ZLIB_WRAPPED = 15
"""Window bits of a stream in the wrapping of RFC 1950, with a 32 KiB window."""
comptime RAW_DEFLATE = -15
"""Window bits of a bare RFC 1951 stream."""
comptime GZIP_WRAPPED = 31
"""Window bits of a stream in the wrapping of RFC 1952."""

comptime NO_FLUSH: Int32 = 0
"""Keep what makes for better compression (`Z_NO_FLUSH`)."""
comptime SYNC_FLUSH: Int32 = 2
"""Give out all there is, so that it can be decoded (`Z_SYNC_FLUSH`)."""
comptime FINISH: Int32 = 4
"""End the stream (`Z_FINISH`)."""

comptime _OK: Int32 = 0
comptime _STREAM_END: Int32 = 1
comptime _NEED_DICT: Int32 = 2
comptime _MEM_ERROR: Int32 = -4
comptime _BUF_ERROR: Int32 = -5
comptime _DEFLATED: Int32 = 8
comptime _DEFAULT_STRATEGY: Int32 = 0
# The longest window, which is the longest dictionary.
comptime _WINDOW_LEN_MAX = 32_768
# zlib counts in unsigned int.
comptime _PIECE_LEN_MAX = 1 << 30

# Types of C functions: the result, then the arguments. P is a pointer, I an int.
comptime _I_P = def(Int) thin abi("C") -> Int32
comptime _I_PI = def(Int, Int32) thin abi("C") -> Int32
comptime _I_PIPI = def(Int, Int32, Int, Int32) thin abi("C") -> Int32
comptime _I_PIIIIIPI = def(
    Int, Int32, Int32, Int32, Int32, Int32, Int, Int32
) thin abi("C") -> Int32
comptime _I_PPI = def(Int, Int, UInt32) thin abi("C") -> Int32
comptime _I_PPP = def(Int, Int, Int) thin abi("C") -> Int32
comptime _P_0 = def() thin abi("C") -> Int


struct InflateFunctions(LibraryFunctions):
    comptime KEY: StaticString = "flare.sys.codecs.zlib.inflate"

    var version: _P_0
    var start: _I_PIPI
    var inflate: _I_PI
    var reset: _I_PI
    var window: _I_PPP
    var set_window: _I_PPI
    var end: _I_P

    @staticmethod
    def names() -> List[String]:
        return _names()

    def __init__(out self, library: DynamicLibrary) raises LibraryError:
        self.version = library.symbol[_P_0]("zlibVersion")
        self.start = library.symbol[_I_PIPI]("inflateInit2_")
        self.inflate = library.symbol[_I_PI]("inflate")
        self.reset = library.symbol[_I_PI]("inflateReset2")
        self.window = library.symbol[_I_PPP]("inflateGetDictionary")
        self.set_window = library.symbol[_I_PPI]("inflateSetDictionary")
        self.end = library.symbol[_I_P]("inflateEnd")


struct DeflateFunctions(LibraryFunctions):
    comptime KEY: StaticString = "flare.sys.codecs.zlib.deflate"

    var version: _P_0
    var start: _I_PIIIIIPI
    var deflate: _I_PI
    var reset: _I_P
    var end: _I_P

    @staticmethod
    def names() -> List[String]:
        return _names()

    def __init__(out self, library: DynamicLibrary) raises LibraryError:
        self.version = library.symbol[_P_0]("zlibVersion")
        self.start = library.symbol[_I_PIIIIIPI]("deflateInit2_")
        self.deflate = library.symbol[_I_PI]("deflate")
        self.reset = library.symbol[_I_P]("deflateReset")
        self.end = library.symbol[_I_P]("deflateEnd")


def _names() -> List[String]:
    comptime if IS_MACOS:
        return ["libz.1.dylib", "/usr/lib/libz.1.dylib"]
    else:
        return ["libz.so.1"]


struct _Stream(Movable):
    """`z_stream`. The library keeps its address, so it must not move."""

    var next_in: Int
    var avail_in: UInt32
    var total_in: UInt64
    var next_out: Int
    var avail_out: UInt32
    var total_out: UInt64
    var message: Int
    var state: Int
    var allocate: Int
    var free: Int
    var argument: Int
    var data_type: Int32
    var checksum: UInt64
    var reserved: UInt64

    def __init__(out self):
        comptime assert size_of[Self]() == 112, "z_stream has 112 bytes"
        self.next_in = 0
        self.avail_in = 0
        self.total_in = 0
        self.next_out = 0
        self.avail_out = 0
        self.total_out = 0
        self.message = 0
        self.state = 0
        self.allocate = 0
        self.free = 0
        self.argument = 0
        self.data_type = 0
        self.checksum = 0
        self.reserved = 0

    def offer(
        mut self, input: Span[UInt8, _], room: MutSpan[UInt8, _]
    ) -> Tuple[Int, Int]:
        """Points the library at both; gives how much of each it may use."""
        var input_len = min(len(input), _PIECE_LEN_MAX)
        var room_len = min(len(room), _PIECE_LEN_MAX)
        self.next_in = Int(input.unsafe_ptr())
        self.avail_in = UInt32(input_len)
        self.next_out = Int(room.unsafe_ptr())
        self.avail_out = UInt32(room_len)
        return (input_len, room_len)


def _step(
    stream: _Stream, offered: Tuple[Int, Int], result: Int32
) -> CodecStep:
    var status = CodecStatus.CORRUPT
    if result == _OK or result == _BUF_ERROR:
        status = CodecStatus.GOES_ON
    elif result == _STREAM_END:
        status = CodecStatus.ENDED
    elif result == _NEED_DICT:
        status = CodecStatus.NEEDS_DICTIONARY
    elif result == _MEM_ERROR:
        status = CodecStatus.NO_MEMORY
    return CodecStep(
        status,
        offered[0] - Int(stream.avail_in),
        offered[1] - Int(stream.avail_out),
    )


struct InflateStream(Movable):

    var _stream: OwnedPointer[_Stream]
    var _functions: InflateFunctions

    def __init__(out self, window_bits: Int) raises LibraryError:
        """Starts a stream: `ZLIB_WRAPPED`, `RAW_DEFLATE` or `GZIP_WRAPPED`; -8
        to -15 for a bare stream with a window of that power of two. Raises if
        the library is missing or has no memory."""
        self._functions = functions_of[InflateFunctions]()
        self._stream = OwnedPointer(_Stream())
        var result = self._functions.start(
            Int(self._stream.ptr()),
            Int32(window_bits),
            self._functions.version(),
            Int32(size_of[_Stream]()),
        )
        if result != _OK:
            raise LibraryError(
                "zlib",
                Text().add("inflateInit2 failed with ").add(result).end(),
            )

    def __deinit__(deinit self):
        """Gives the library its memory back."""
        # The stream has to outlive the call, which knows only its address.
        var stream = self._stream^
        _ = self._functions.end(Int(stream.ptr()))
        _ = stream^

    def step(
        mut self, input: Span[UInt8, _], room: MutSpan[UInt8, _]
    ) -> CodecStep:
        """Decompresses into room that is not empty. If it is full afterwards
        there may be more."""
        var offered = self._stream[].offer(input, room)
        var result = self._functions.inflate(Int(self._stream.ptr()), NO_FLUSH)
        return _step(self._stream[], offered, result)

    def restart(mut self, window_bits: Int):
        """Begins another stream, with the bits as when this was made."""
        _ = self._functions.reset(Int(self._stream.ptr()), Int32(window_bits))

    def is_between_blocks(self) -> Bool:
        """Tells whether the octets so far make whole blocks."""
        # inflate notes it there; zlib.h says so of inflate().
        return (self._stream[].data_type & 128) != 0

    def begin_next(mut self, window_bits: Int) -> Bool:
        """Begins another bare stream that may refer to the one before; False if
        the library has failed."""
        # On the heap, so that no store before a call can be left out; see
        # docs/mojo-notes.md.
        var window = List[UInt8](length=_WINDOW_LEN_MAX, fill=0)
        var length = OwnedPointer(UInt32(0))
        var result = self._functions.window(
            Int(self._stream.ptr()),
            Int(window.unsafe_ptr()),
            Int(length.ptr()),
        )
        if result != _OK:
            return False
        result = self._functions.reset(
            Int(self._stream.ptr()), Int32(window_bits)
        )
        if result != _OK:
            return False
        result = self._functions.set_window(
            Int(self._stream.ptr()), Int(window.unsafe_ptr()), length[]
        )
        _ = window^
        return result == _OK


@fieldwise_init
struct _DeflateSettings(Equatable, TrivialRegisterPassable):
    var window_bits: Int
    var level: Int
    var memory_level: Int


@fieldwise_init
struct _IdleStream(IdleContext):
    comptime KEY: StaticString = "flare.sys.codecs.zlib.idle"
    comptime Settings = _DeflateSettings

    var made_with: _DeflateSettings
    var stream: OwnedPointer[_Stream]
    var end: _I_P

    def __deinit__(deinit self):
        """Gives the library its memory back."""
        # The stream has to outlive the call, which knows only its address.
        var stream = self.stream^
        _ = self.end(Int(stream.ptr()))
        _ = stream^

    def settings(self) -> _DeflateSettings:
        return self.made_with

    def into_stream(deinit self) -> OwnedPointer[_Stream]:
        return self.stream^


def _new_kept_stream(
    functions: DeflateFunctions, settings: _DeflateSettings
) raises LibraryError -> OwnedPointer[_Stream]:
    """Makes a stream that may be kept to the end of the process."""
    var stream = OwnedPointer(_Stream())
    var result = functions.start(
        Int(stream.ptr()),
        Int32(settings.level),
        _DEFLATED,
        Int32(settings.window_bits),
        Int32(settings.memory_level),
        _DEFAULT_STRATEGY,
        functions.version(),
        Int32(size_of[_Stream]()),
    )
    if result != _OK:
        raise LibraryError(
            "zlib",
            Text().add("deflateInit2 failed with ").add(result).end(),
        )
    return stream^


struct DeflateStream(Movable):

    var _stream: OwnedPointer[_Stream]
    var _functions: DeflateFunctions
    var _settings: _DeflateSettings

    def __init__(
        out self,
        window_bits: Int,
        level: Int,
        memory_level: Int = 8,
    ) raises LibraryError:
        """Starts a stream: `ZLIB_WRAPPED`, `RAW_DEFLATE` or `GZIP_WRAPPED`. The
        level is 0 (stored) to 9 (smallest), that of memory 1 (least memory) to
        9 (best compression). Raises if the library is missing or has no memory.
        """
        self._functions = functions_of[DeflateFunctions]()
        self._settings = _DeflateSettings(window_bits, level, memory_level)
        var idle = take_idle[_IdleStream](self._settings)
        if idle:
            self._stream = idle.take().into_stream()
            _ = self._functions.reset(Int(self._stream.ptr()))
            return
        self._stream = _new_kept_stream(self._functions, self._settings)

    def __deinit__(deinit self):
        """Keeps the stream for others, or gives the library its memory back."""
        keep_idle(
            _IdleStream(self._settings, self._stream^, self._functions.end)
        )

    def step(
        mut self,
        input: Span[UInt8, _],
        room: MutSpan[UInt8, _],
        flush: Int32,
    ) -> CodecStep:
        """Compresses into room that is not empty, with `NO_FLUSH`, `SYNC_FLUSH`
        or `FINISH`. If it is full afterwards there may be more."""
        var offered = self._stream[].offer(input, room)
        var result = self._functions.deflate(Int(self._stream.ptr()), flush)
        return _step(self._stream[], offered, result)

    def restart(mut self):
        """Begins another stream with the same settings."""
        _ = self._functions.reset(Int(self._stream.ptr()))


@fieldwise_init
struct CodecStatus(Equatable, TrivialRegisterPassable):
    """How a call of a compression library ended."""

    var code: UInt8
    """A small number, distinct for each status."""

    comptime GOES_ON = CodecStatus(0)
    """It wants more octets, or more room."""
    comptime ENDED = CodecStatus(1)
    """The stream is complete."""
    comptime CORRUPT = CodecStatus(2)
    """The octets are no such stream."""
    comptime NEEDS_DICTIONARY = CodecStatus(3)
    """The stream was made with a dictionary that nobody gave us."""
    comptime NO_MEMORY = CodecStatus(4)
    """The library could not get memory."""
    comptime WINDOW_TOO_LARGE = CodecStatus(5)
    """The stream wants more memory than is allowed."""


@fieldwise_init
struct CodecStep(TrivialRegisterPassable):
    """What one call of a compression library took and gave."""

    var status: CodecStatus
    var consumed: Int
    """How many octets of the input were taken."""
    var produced: Int
    """How many octets of the room were filled."""
