"""What the conda package is tested with."""

from flare import version
from flare.net import SocketAddr


def main() raises:
    print(version(), SocketAddr.parse("[::1]:8080"))
