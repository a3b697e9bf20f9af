# A port that no socket can have.
#
# The build fails with:
#   SocketAddr: a port is 0 to 65535

from flare.net.socket_addr import SocketAddr


def main() raises:
    print(SocketAddr.localhost(80809))
