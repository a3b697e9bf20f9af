"""Descriptors that go from one end of a pair to the other."""

from flare.sys.descriptor import Descriptor, Pipe, write_from
from flare.sys.sockets.descriptor_passing import (
    SocketPair,
    receive_with_descriptor,
    send_with_descriptor,
)
from flare.sys.errno import EAGAIN, EPIPE
from tests.support.assertions import assert_equal, assert_false, assert_true


def test_descriptor_arrives_with_its_octets() raises:
    var pair = SocketPair()
    var here = pair.take_first()
    var there = pair.take_second()
    var pipe = Pipe()
    var octets: Array[UInt8, 4] = [1, 2, 3, 4]
    assert_equal(
        send_with_descriptor(here.fd(), Span(octets), pipe.writing_fd()),
        4,
    )
    octets[0] = 9
    assert_equal(send_with_descriptor(here.fd(), Span(octets), -1), 4)
    var room = Array[UInt8, 4](fill=0)
    var passed = Descriptor(owned=-1)
    assert_equal(receive_with_descriptor(there.fd(), Span(room), passed), 4)
    assert_equal(Int(room[0]), 1)
    assert_true(passed.is_open())
    assert_true(passed.fd() != pipe.writing_fd())
    # It is the same pipe.
    assert_equal(write_from(passed.fd(), Span(octets)), 4)
    # A descriptor that nothing uses any more is closed.
    _ = passed^
    assert_equal(pipe.drain(), 4)
    var nothing = Descriptor(owned=-1)
    assert_equal(receive_with_descriptor(there.fd(), Span(room), nothing), 4)
    assert_equal(Int(room[0]), 9)
    assert_false(nothing.is_open())
    assert_equal(
        receive_with_descriptor(there.fd(), Span(room), nothing), -EAGAIN
    )
    _ = here^
    _ = there^


def test_end_of_the_pair_is_seen() raises:
    var pair = SocketPair()
    var here = pair.take_first()
    var there = pair.take_second()
    there.close()
    var octets: Array[UInt8, 1] = [1]
    assert_equal(send_with_descriptor(here.fd(), Span(octets), -1), -EPIPE)
    var passed = Descriptor(owned=-1)
    assert_equal(receive_with_descriptor(here.fd(), Span(octets), passed), 0)
    _ = here^
