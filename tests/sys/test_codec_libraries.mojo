"""Compression libraries that are missing, and what their streams keep."""

from flare.sys.codecs.brotli import (
    BrotliDecoderFunctions,
    BrotliEncoderFunctions,
)
from flare.sys.dynamic_library import (
    DynamicLibrary,
    LibraryError,
    LibraryFunctions,
    functions_of,
)
from flare.sys.process import resident_len
from flare.sys.signal import process_id
from flare.sys.codecs.zlib import (
    CodecStatus,
    DeflateFunctions,
    DeflateStream,
    InflateFunctions,
    RAW_DEFLATE,
)
from flare.sys.codecs.zstd import (
    END,
    FLUSH,
    ZstdDecoder,
    ZstdDecoderFunctions,
    ZstdEncoder,
    ZstdEncoderFunctions,
)
from tests.support.assertions import assert_true


def _look_up[F: LibraryFunctions](names: List[String]) -> String:
    """Gives what is said of libraries of these names."""
    try:
        _ = F(DynamicLibrary(names))
    except error:
        return String(error)
    return String()


def test_a_missing_library_is_named() raises:
    var message = _look_up[InflateFunctions](["libno-such-thing.so.1"])
    assert_true("libno-such-thing.so.1" in message, message)


def test_another_library_lacks_the_functions() raises:
    # The C library is there on every machine, and is none of these.
    var names: List[String] = ["libc.so.6", "libSystem.B.dylib"]
    for message in [
        _look_up[InflateFunctions](names),
        _look_up[DeflateFunctions](names),
        _look_up[BrotliDecoderFunctions](names),
        _look_up[BrotliEncoderFunctions](names),
        _look_up[ZstdDecoderFunctions](names),
        _look_up[ZstdEncoderFunctions](names),
    ]:
        assert_true("it has no" in message, message)


struct _Absent(LibraryFunctions):
    comptime KEY: StaticString = "tests.sys.absent"

    var address: def() thin abi("C") -> Int

    @staticmethod
    def names() -> List[String]:
        return ["libabsent.so.1"]

    def __init__(out self, library: DynamicLibrary) raises LibraryError:
        self.address = library.symbol[def() thin abi("C") -> Int]("absent")


def test_what_is_missing_is_said_each_time() raises:
    for _ in range(2):
        var message = String()
        try:
            _ = functions_of[_Absent]()
        except error:
            message = String(error)
        assert_true("libabsent.so.1" in message, message)


def _use_streams(level: Int) raises LibraryError:
    var streams = List[DeflateStream]()
    for _ in range(100):
        streams.append(DeflateStream(RAW_DEFLATE, level))


def _use_zstd(level: Int) raises -> List[UInt8]:
    """Compresses with a hundred encoders at once, and reads one stream back."""
    var text = String("all work and no play ") * 500
    var encoders = List[ZstdEncoder]()
    for _ in range(100):
        encoders.append(ZstdEncoder(level))
    var octets = List[UInt8]()
    for index in range(len(encoders)):
        var room = List[UInt8](length=4_096, fill=0)
        var step = encoders[index].step(text.as_bytes(), Span(room), END)
        assert_true(step.status == CodecStatus.ENDED)
        room.shrink(step.produced)
        octets = room^
    for _ in range(3):
        var decoder = ZstdDecoder()
        var room = List[UInt8](length=16_384, fill=0)
        var step = decoder.step(Span(octets), Span(room))
        assert_true(step.status == CodecStatus.ENDED)
        assert_true(Span(room)[: step.produced] == text.as_bytes())
        # One that is left in the midst of a stream is as good for the next.
        _ = decoder.step(Span(octets)[:20], Span(room))
    return octets^


def test_contexts_of_zstd_are_used_again() raises:
    """RFC 8878 section 3: what a stream is does not depend on those before."""
    var quick = _use_zstd(1)
    var usual = _use_zstd(3)
    assert_true(_use_zstd(1) == quick)
    assert_true(_use_zstd(3) == usual)


def test_large_contexts_of_zstd_are_not_kept() raises:
    var room = List[UInt8](length=65_536, fill=0)
    var before = resident_len(process_id())
    for _ in range(8):
        # How much will come is not said, so there is room for 8 MiB of it.
        var encoder = ZstdEncoder(19)
        for _ in range(100):
            _ = encoder.step(
                "all work and no play".as_bytes(), Span(room), FLUSH
            )
    assert_true(resident_len(process_id()) - before < 16 << 20)


def test_few_streams_of_deflate_are_kept() raises:
    _use_streams(1)
    var before = resident_len(process_id())
    # Those of another level are of no use to the next, so all would stay.
    for level in range(2, 10):
        _use_streams(level)
    # 800 take 80 MiB and more.
    assert_true(resident_len(process_id()) - before < 16 << 20)
