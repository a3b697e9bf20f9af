"""Addresses there and back."""

from flare.net.kernel_addr import from_kernel, to_kernel
from flare.net.socket_addr import SocketAddr
from flare.sys.sock_addr import SockAddr
from std.testing import assert_true


def test_addresses_survive_the_kernel_layout() raises:
    for text in [
        "0.0.0.0:0",
        "127.0.0.1:8080",
        "255.255.255.255:65535",
        "[::]:0",
        "[::1]:443",
        "[2001:db8::ff00:42:8329]:80",
        "[::ffff:1.2.3.4]:1",
    ]:
        var address = SocketAddr.parse(text)
        assert_true(from_kernel(to_kernel(address)) == address, text)
    # No IP family: nothing to show, and no crash.
    assert_true(from_kernel(SockAddr()) == SocketAddr.any(0))
