"""Tests of removing socket files, and of leaving other files alone."""

from flare.sys.sockets.sock_addr import AF_UNIX, SockAddr
from flare.sys.sockets.socket import SOCK_STREAM, bind_socket, open_socket
from flare.sys.socket_file import SocketFile
from std.os import link, remove
from std.os.path import exists
from std.tempfile import TemporaryDirectory
from tests.support.assertions import assert_false, assert_true


def _bind(path: String) raises:
    """Leaves a socket file behind."""
    var socket = open_socket(AF_UNIX, SOCK_STREAM)
    bind_socket(socket.fd(), SockAddr.unix(path.as_bytes()))
    _ = socket^


def test_socket_file_is_removed_once() raises:
    var folder = TemporaryDirectory()
    var path = folder.name + "/a.sock"
    _bind(path)
    var file = SocketFile.at(path)
    assert_true(file.is_there() and SocketFile.exists(path))
    file.remove()
    assert_false(exists(path) or file.is_there())
    _bind(path)
    file.remove()
    assert_true(exists(path))
    _ = folder^


def test_socket_file_goes_with_its_owner() raises:
    var folder = TemporaryDirectory()
    var path = folder.name + "/a.sock"
    _bind(path)
    var file = SocketFile.at(path)
    assert_true(file.is_there())
    _ = file^
    assert_false(exists(path))
    _ = folder^


def test_socket_file_of_a_successor_is_left_alone() raises:
    var folder = TemporaryDirectory()
    var path = folder.name + "/a.sock"
    _bind(path)
    var file = SocketFile.at(path)
    # While the first file has another link, its inode is not given away again.
    link(path, folder.name + "/kept.sock")
    remove(path)
    _bind(path)
    file.remove()
    assert_true(exists(path))
    _ = folder^


def test_socket_file_is_no_other_kind_of_file() raises:
    var folder = TemporaryDirectory()
    var path = folder.name + "/a.txt"
    with open(path, "w") as text:
        text.write("mine")
    assert_false(SocketFile.exists(path))
    var file = SocketFile.at(path)
    assert_false(file.is_there())
    file.remove()
    assert_true(exists(path))
    assert_false(SocketFile.at(folder.name + "/none").is_there())
    _ = folder^
