"""Tests of loading OpenSSL and of reading certificates."""

from flare.sys.dynamic_library import DynamicLibrary
from flare.sys.openssl.certificate import CertificateFacts, readable_time
from flare.sys.openssl.library import OpenSsl, c_octets, c_text
from tests.support.assertions import assert_equal, assert_raises, assert_true


def test_openssl_missing_library_is_named() raises:
    var none: List[String] = ["libno-such-thing.so.3"]
    with assert_raises(contains="libno-such-thing.so.3"):
        _ = OpenSsl(none, none)


def test_openssl_missing_symbol_is_named() raises:
    var library = DynamicLibrary(
        ["libno-such-thing.so.3", "libcrypto.so.3", "libcrypto.3.dylib"]
    )
    comptime Function = def() thin abi("C") -> Int
    var version = library.symbol[Function]("OPENSSL_version_major")
    assert_equal(version() & 0xFFFFFFFF, 3)
    with assert_raises(contains="no_such_function"):
        _ = library.symbol[Function]("no_such_function")


def test_openssl_error_queue_is_emptied() raises:
    var library = OpenSsl()
    var error = library.take_error("test")
    assert_equal(error.library, 0)
    # Text that holds no certificate leaves an error behind.
    var text = String("no PEM")
    var bio = library.memory.bio_new_mem_buf(
        Int(text.unsafe_ptr()), Int32(text.byte_length())
    )
    assert_equal(library.certificate.pem_read_bio_x509(bio, 0, 0, 0), 0)
    _ = text^
    _ = library.memory.bio_free(bio)
    error = library.take_error("test")
    assert_equal(error.library, 9)
    assert_true(error.text.byte_length() > 0)
    assert_equal(library.memory.peek_error(), 0)


def test_openssl_nothing_is_read_from_nowhere() raises:
    assert_equal(c_text(0), "")
    assert_equal(len(c_octets(0, 0)), 0)
    assert_equal(len(c_octets(0, -1)), 0)
    var library = OpenSsl()
    assert_equal(CertificateFacts(library, 0).subject, "")


def test_openssl_times_of_certificates() raises:
    var rows: List[Tuple[String, String]] = [
        # RFC 5280 section 4.1.2.5.1: from 50 on it is the last century.
        ("260131120005Z", "2026-01-31 12:00:05 UTC"),
        ("500131120005Z", "1950-01-31 12:00:05 UTC"),
        ("491231235959Z", "2049-12-31 23:59:59 UTC"),
        # Section 4.1.2.5.2.
        ("20500131120005Z", "2050-01-31 12:00:05 UTC"),
        ("99991231235959Z", "9999-12-31 23:59:59 UTC"),
        ("", "an unreadable time"),
        ("2050013112000Z", "an unreadable time"),
        ("2O500131120005Z", "an unreadable time"),
        ("20500131120005+0100", "an unreadable time"),
    ]
    for row in rows:
        assert_equal(readable_time(row[0].as_bytes()), row[1])
