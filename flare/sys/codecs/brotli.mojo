"""The functions of brotli that flare calls, and the streams that they work on."""

from flare.bytes.checked import *
from flare.sys.dynamic_library import (
    DynamicLibrary,
    LibraryError,
    LibraryFunctions,
    functions_of,
)
from flare.sys.platform import IS_MACOS
from flare.sys.codecs.zlib import CodecStatus, CodecStep
from std.sys import size_of

comptime PROCESS: Int32 = 0
"""Keep what makes for better compression (`BROTLI_OPERATION_PROCESS`)."""
comptime FLUSH: Int32 = 1
"""Give out all there is, so that it can be decoded (`BROTLI_OPERATION_FLUSH`)."""
comptime FINISH: Int32 = 2
"""End the stream (`BROTLI_OPERATION_FINISH`)."""

comptime _DECODER_SUCCESS: Int32 = 1
comptime _DECODER_NEEDS_INPUT: Int32 = 2
comptime _DECODER_NEEDS_ROOM: Int32 = 3
# Error codes of the decoder from here down to -31 are about memory.
comptime _ERROR_ALLOC_FIRST: Int32 = -21
comptime _ERROR_ALLOC_LAST: Int32 = -31
comptime _PARAMETER_QUALITY: Int32 = 1

# Types of C functions: the result, then the arguments. P is a pointer, I an
# int, U 32 bits without a sign, V nothing.
comptime _P_PPP = def(Int, Int, Int) thin abi("C") -> Int
comptime _V_P = def(Int) thin abi("C") -> None
comptime _I_P = def(Int) thin abi("C") -> Int32
comptime _I_PIU = def(Int, Int32, UInt32) thin abi("C") -> Int32
comptime _I_PPPPPP = def(Int, Int, Int, Int, Int, Int) thin abi("C") -> Int32
comptime _I_PIPPPPP = def(Int, Int32, Int, Int, Int, Int, Int) thin abi(
    "C"
) -> Int32


struct BrotliDecoderFunctions(LibraryFunctions):
    comptime KEY: StaticString = "flare.sys.codecs.brotli.decoder"

    var create: _P_PPP
    var decompress: _I_PPPPPP
    var error_code: _I_P
    var destroy: _V_P

    @staticmethod
    def names() -> List[String]:
        comptime if IS_MACOS:
            return [
                "libbrotlidec.1.dylib",
                "/opt/homebrew/lib/libbrotlidec.1.dylib",
                "/usr/local/lib/libbrotlidec.1.dylib",
            ]
        else:
            return ["libbrotlidec.so.1"]

    def __init__(out self, library: DynamicLibrary) raises LibraryError:
        self.create = library.symbol[_P_PPP]("BrotliDecoderCreateInstance")
        self.decompress = library.symbol[_I_PPPPPP](
            "BrotliDecoderDecompressStream"
        )
        self.error_code = library.symbol[_I_P]("BrotliDecoderGetErrorCode")
        self.destroy = library.symbol[_V_P]("BrotliDecoderDestroyInstance")


struct BrotliEncoderFunctions(LibraryFunctions):
    comptime KEY: StaticString = "flare.sys.codecs.brotli.encoder"

    var create: _P_PPP
    var set: _I_PIU
    var compress: _I_PIPPPPP
    var is_finished: _I_P
    var destroy: _V_P

    @staticmethod
    def names() -> List[String]:
        comptime if IS_MACOS:
            return [
                "libbrotlienc.1.dylib",
                "/opt/homebrew/lib/libbrotlienc.1.dylib",
                "/usr/local/lib/libbrotlienc.1.dylib",
            ]
        else:
            return ["libbrotlienc.so.1"]

    def __init__(out self, library: DynamicLibrary) raises LibraryError:
        self.create = library.symbol[_P_PPP]("BrotliEncoderCreateInstance")
        self.set = library.symbol[_I_PIU]("BrotliEncoderSetParameter")
        self.compress = library.symbol[_I_PIPPPPP](
            "BrotliEncoderCompressStream"
        )
        self.is_finished = library.symbol[_I_P]("BrotliEncoderIsFinished")
        self.destroy = library.symbol[_V_P]("BrotliEncoderDestroyInstance")


struct _Places(Movable):
    """The four numbers that the library reads and moves on.

    They live on the heap: the library is given their addresses as integers, and
    the compiler would take locals for unused.
    """

    var _numbers: List[Int]

    def __init__(out self):
        self._numbers = List[Int](length=4, fill=0)

    def offer(mut self, input: Span[UInt8, _], room: MutSpan[UInt8, _]):
        self._numbers.at(0) = len(input)
        self._numbers.at(1) = Int(input.unsafe_ptr())
        self._numbers.at(2) = len(room)
        self._numbers.at(3) = Int(room.unsafe_ptr())

    def address(mut self, index: Int) -> Int:
        return Int(self._numbers.unsafe_ptr()) + index * size_of[Int]()

    def step(
        self, status: CodecStatus, input_len: Int, room_len: Int
    ) -> CodecStep:
        """Reads what was taken and given."""
        return CodecStep(
            status,
            input_len - self._numbers.at(0),
            room_len - self._numbers.at(2),
        )


struct BrotliDecoder(Movable):
    """A stream that is being decompressed."""

    var _state: Int
    var _places: _Places
    var _functions: BrotliDecoderFunctions

    def __init__(out self) raises LibraryError:
        """Starts a stream. Raises if the library is missing or has no memory."""
        self._functions = functions_of[BrotliDecoderFunctions]()
        self._places = _Places()
        self._state = self._functions.create(0, 0, 0)
        if self._state == 0:
            raise LibraryError("brotli", "the decoder has no memory")

    def __deinit__(deinit self):
        """Gives the library its memory back."""
        self._functions.destroy(self._state)

    def step(
        mut self, input: Span[UInt8, _], room: MutSpan[UInt8, _]
    ) -> CodecStep:
        """Decompresses into room that is not empty. If it is full afterwards
        there may be more."""
        self._places.offer(input, room)
        var result = self._functions.decompress(
            self._state,
            self._places.address(0),
            self._places.address(1),
            self._places.address(2),
            self._places.address(3),
            0,
        )
        var status = CodecStatus.GOES_ON
        if result == _DECODER_SUCCESS:
            status = CodecStatus.ENDED
        elif result != _DECODER_NEEDS_INPUT and result != _DECODER_NEEDS_ROOM:
            var code = self._functions.error_code(self._state)
            var of_memory = (
                code <= _ERROR_ALLOC_FIRST and code >= _ERROR_ALLOC_LAST
            )
            status = CodecStatus.NO_MEMORY if of_memory else CodecStatus.CORRUPT
        return self._places.step(status, len(input), len(room))


struct BrotliEncoder(Movable):
    """A stream that is being compressed."""

    var _state: Int
    var _places: _Places
    var _functions: BrotliEncoderFunctions

    def __init__(out self, quality: Int) raises LibraryError:
        """Starts a stream of a quality of 0 (quickest) to 11 (smallest). Raises
        if the library is missing or has no memory."""
        self._functions = functions_of[BrotliEncoderFunctions]()
        self._places = _Places()
        self._state = self._functions.create(0, 0, 0)
        if self._state == 0:
            raise LibraryError("brotli", "the encoder has no memory")
        _ = self._functions.set(
            self._state, _PARAMETER_QUALITY, UInt32(quality)
        )

    def __deinit__(deinit self):
        """Gives the library its memory back."""
        self._functions.destroy(self._state)

    def step(
        mut self,
        input: Span[UInt8, _],
        room: MutSpan[UInt8, _],
        operation: Int32,
    ) -> CodecStep:
        """Compresses into room that is not empty. If it is full afterwards
        there may be more. The operation is `PROCESS`, `FLUSH` or `FINISH`; the
        latter two until the input is taken and the room is not full."""
        self._places.offer(input, room)
        var result = self._functions.compress(
            self._state,
            operation,
            self._places.address(0),
            self._places.address(1),
            self._places.address(2),
            self._places.address(3),
            0,
        )
        var status = CodecStatus.GOES_ON
        if result == 0:
            status = CodecStatus.NO_MEMORY
        elif self._functions.is_finished(self._state) != 0:
            status = CodecStatus.ENDED
        return self._places.step(status, len(input), len(room))
