"""Scans against their scalar twins, at every offset and for every octet."""

from flare.bytes.buffer import Buffer
from flare.bytes.scan import (
    REG_NAME,
    TCHAR,
    find_octet_within,
    scan_class,
    scan_class_scalar,
    scan_field_value,
    scan_field_value_scalar,
    scan_target,
    scan_target_scalar,
)
from tests.support.assertions import assert_equal, assert_false, assert_true


def _filled(length: Int, octet: UInt8) -> Buffer:
    var buffer = Buffer(length)
    for _ in range(length):
        buffer.append_octet(octet)
    _ = buffer.terminate()
    return buffer^


def test_scans_agree_with_their_twins_for_every_octet() raises:
    for octet in range(256):
        for position in [0, 1, 15, 16, 31, 32, 33, 63, 64, 90]:
            var buffer = _filled(position, 97)
            buffer.append_octet(UInt8(octet))
            for _ in range(40):
                buffer.append_octet(98)
            _ = buffer.terminate()
            var base = buffer.unsafe_base()
            var name = String("octet ", octet, " at ", position)
            assert_equal(
                scan_class[TCHAR](base, 0),
                scan_class_scalar[TCHAR](base, 0),
                name,
            )
            assert_equal(
                scan_class[REG_NAME](base, 0),
                scan_class_scalar[REG_NAME](base, 0),
                name,
            )
            assert_equal(
                scan_field_value(base, 0).offset,
                scan_field_value_scalar(base, 0),
                name,
            )
            assert_equal(
                scan_target(base, 0), scan_target_scalar(base, 0), name
            )
            _ = buffer^


def test_token_octets_are_those_of_rfc_9110_5_6_2() raises:
    var members = String()
    var table = materialize[TCHAR]()
    for octet in range(256):
        if table.contains(UInt8(octet)):
            members += chr(octet)
    assert_equal(
        members,
        "!#$%&'*+-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ^_`"
        "abcdefghijklmnopqrstuvwxyz|~",
    )


def test_field_value_scan_sees_high_octets() raises:
    var plain = _filled(70, 97)
    plain.append_octet(13)
    # What the last vector holds behind the stop counts, so it is filled, too.
    for _ in range(64):
        plain.append_octet(97)
    _ = plain.terminate()
    assert_false(scan_field_value(plain.unsafe_base(), 0).has_high_octets)
    var high = _filled(70, 97)
    high.append_octet(0xE4)
    _ = high.terminate()
    assert_true(scan_field_value(high.unsafe_base(), 0).has_high_octets)
    _ = plain^
    _ = high^


def test_find_octet_within_stays_in_its_range() raises:
    var buffer = _filled(100, 97)
    buffer.append_octet(63)
    _ = buffer.terminate()
    for end in range(0, 101):
        assert_equal(find_octet_within(buffer.unsafe_base(), 0, end, 63), end)
    assert_equal(find_octet_within(buffer.unsafe_base(), 0, 101, 63), 100)
    assert_equal(find_octet_within(buffer.unsafe_base(), 7, 90, 97), 7)
    _ = buffer^
