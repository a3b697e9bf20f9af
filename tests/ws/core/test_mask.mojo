"""Masking: the vectors and their scalar twin agree at every place."""

from flare.ws.core.mask import (
    MaskingKey,
    apply_mask,
    apply_mask_scalar,
    copy_masked,
)
from std.testing import assert_equal, assert_true
from tests.support.guard_page import GuardedBytes

comptime _KEY = MaskingKey(0x3D21FA37)


def _octets(length: Int) -> List[UInt8]:
    var octets = List[UInt8](capacity=length)
    for index in range(length):
        octets.append(UInt8((index * 31 + 7) & 0xFF))
    return octets^


def test_the_example_of_the_standard() raises:
    # RFC 6455 section 5.7: "Hello" under the key 37 FA 21 3D.
    var octets: List[UInt8] = [0x7F, 0x9F, 0x4D, 0x51, 0x58]
    apply_mask(Span(octets), materialize[_KEY]())
    assert_equal(String(from_utf8=octets), "Hello")


def test_every_length_at_every_alignment() raises:
    var key = materialize[_KEY]()
    for start in range(64):
        for length in range(0, 300, 1 if start < 4 else 7):
            var octets = _octets(start + length + 64)
            var twin = octets.copy()
            apply_mask(Span(octets)[start : start + length], key)
            apply_mask_scalar(Span(twin)[start : start + length], key)
            assert_true(octets == twin)
            var copied = List[UInt8](length=length, fill=0)
            apply_mask_scalar(Span(twin)[start : start + length], key)
            copy_masked(twin[start : start + length], Span(copied), key)
            assert_true(
                copied == List[UInt8](octets[start : start + length])
            )


def test_pieces_go_on_where_the_last_one_ended() raises:
    var key = materialize[_KEY]()
    var whole = _octets(300)
    apply_mask_scalar(Span(whole), key)
    for step in range(1, 40):
        var octets = _octets(300)
        for start in range(0, 300, step):
            var end = min(start + step, 300)
            apply_mask(Span(octets)[start:end], key.rotated(start))
        assert_true(octets == whole)


def test_no_octet_beyond_is_touched() raises:
    for length in range(200):
        var memory = GuardedBytes(Span(_octets(length)))
        apply_mask(
            Span[UInt8, MutUntrackedOrigin](
                unsafe_ptr=memory.span()
                .unsafe_ptr()
                .unsafe_mut_cast[True]()
                .unsafe_origin_cast[MutUntrackedOrigin](),
                length=length,
            ),
            materialize[_KEY](),
        )
        var twin = _octets(length)
        apply_mask_scalar(Span(twin), materialize[_KEY]())
        assert_true(List[UInt8](memory.span()) == twin)
        _ = memory^
