"""Compression libraries that are missing."""

from flare.sys.brotli import BrotliDecoder, BrotliEncoder
from flare.sys.dynamic_library import LibraryError
from flare.sys.zlib import DeflateStream, GZIP_WRAPPED, InflateStream
from tests.support.assertions import assert_true


def _open(which: Int, names: List[String]) raises LibraryError:
    if which == 0:
        _ = InflateStream(GZIP_WRAPPED, names)
    elif which == 1:
        _ = DeflateStream(GZIP_WRAPPED, 6, names)
    elif which == 2:
        _ = BrotliDecoder(names)
    else:
        _ = BrotliEncoder(5, names)


def test_a_missing_library_is_named() raises:
    for which in range(4):
        var message = String()
        try:
            _open(which, ["libno-such-thing.so.1"])
        except error:
            message = String(error)
        assert_true("libno-such-thing.so.1" in message, message)


def test_another_library_lacks_the_functions() raises:
    # The C library is there on every machine, and is none of these.
    for which in range(4):
        var message = String()
        try:
            _open(which, ["libc.so.6", "libSystem.B.dylib"])
        except error:
            message = String(error)
        assert_true("it has no" in message, message)
