"""Tests of error numbers."""

from flare.sys.errno import (
    EAGAIN,
    EFBIG,
    EMFILE,
    EPIPE,
    OsError,
    errno_text,
    keep_errno,
    last_errno,
)
from tests.support.assertions import assert_equal, assert_true


def _fail() raises OsError:
    raise OsError("accept", EMFILE)


def test_errno_error_names_the_call_and_the_way_out() raises:
    var text = String()
    try:
        _fail()
    except error:
        assert_equal(error.number, EMFILE)
        text = String(error)
    assert_equal(
        text,
        (
            "accept: the process has no more descriptors (raise its limit)"
            " (errno 24)"
        ),
    )


def test_errno_text_of_unknown_numbers_has_the_number() raises:
    assert_equal(errno_text(4_711), "failed (errno 4711)")
    assert_true("no longer reads" in errno_text(EPIPE))
    assert_true("RLIMIT_FSIZE" in errno_text(EFBIG))


def test_errno_is_kept() raises:
    keep_errno(EAGAIN)
    assert_equal(last_errno(), EAGAIN)
    keep_errno(0)
    assert_equal(last_errno(), 0)
