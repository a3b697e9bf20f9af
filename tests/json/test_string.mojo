"""Tests the scan for the end of a string against its scalar twin."""

from flare.bytes.buffer import Buffer
from flare.json.string import scan_plain, scan_plain_scalar
from tests.support.assertions import assert_equal


def test_scan_stops_where_the_scalar_twin_does() raises:
    # RFC 8259 section 7: what must be escaped, and neighbours that need not.
    var stops: List[UInt8] = [0x22, 0x5C, 0x00, 0x1F]
    var passed: List[UInt8] = [0x20, 0x21, 0x23, 0x5B, 0x5D, 0x7F, 0x80, 0xFF]
    for length in range(100):
        for stop in stops:
            var buffer = Buffer(128)
            for index in range(length):
                buffer.append_octet(passed[index % len(passed)])
            buffer.append_octet(stop)
            buffer.append_octet(0x22)
            _ = buffer.terminate()
            for start in range(min(length + 1, 40)):
                assert_equal(scan_plain(buffer.unsafe_base(), start), length)
                assert_equal(
                    scan_plain_scalar(buffer.unsafe_base(), start), length
                )
