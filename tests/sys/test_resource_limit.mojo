"""Tests of the limit on descriptors, and of what happens at it."""

from flare.sys.descriptor import Descriptor, duplicate_from
from flare.sys.epoll import create_epoll
from flare.sys.errno import EMFILE, OsError
from flare.sys.pipe import Pipe
from flare.sys.resource_limit import descriptor_limit, set_descriptor_limit
from flare.sys.sock_addr import AF_INET
from flare.sys.socket import SOCK_STREAM, open_socket
from std.testing import assert_equal, assert_true


def _errno_of_pipe() -> Int:
    try:
        var pipe = Pipe()
        return 0 if pipe.reading_fd() >= 0 else -1
    except error:
        return error.number


def _errno_of_socket() -> Int:
    try:
        var socket = open_socket(AF_INET, SOCK_STREAM)
        return 0 if socket.is_open() else -1
    except error:
        return error.number


def _errno_of_epoll() -> Int:
    try:
        var epoll = create_epoll()
        return 0 if epoll.is_open() else -1
    except error:
        return error.number


def test_limit_reached_surfaces_as_emfile() raises:
    var limit = descriptor_limit()
    var pipe = Pipe()
    var held = List[Descriptor]()
    set_descriptor_limit(300)
    while True:
        var copy = duplicate_from(pipe.reading_fd(), 0)
        if not copy.is_open():
            break
        held.append(copy^)
    var of_pipe = _errno_of_pipe()
    var of_socket = _errno_of_socket()
    var of_epoll = _errno_of_epoll()
    _ = held^
    _ = pipe^
    set_descriptor_limit(limit)
    assert_equal(of_pipe, EMFILE)
    assert_equal(of_socket, EMFILE)
    assert_equal(of_epoll, EMFILE)
    assert_equal(_errno_of_pipe(), 0)


def test_limit_over_the_hard_one_is_refused() raises:
    var limit = descriptor_limit()
    var is_refused = False
    try:
        set_descriptor_limit(Int(1) << 40)
    except:
        is_refused = True
    assert_true(is_refused)
    assert_equal(descriptor_limit(), limit)
