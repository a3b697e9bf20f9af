# 02 DNS: from host names to addresses, and what is refused before anyone asks.
#
# Expected output:
#   127.0.0.1
#   ::1
#   localhost is this machine: True
#   DnsError NameNotFound: resolve ::1: the address is of the other family
#   DnsError NameRefused: resolve user@host: only letters, digits, '-' and '_' may stand here (byte 4)
#   DnsError NameRefused: resolve 127.1: the last label is a number (byte 4)

from flare.dns import resolve, resolve_v4
from flare.net import NetworkError


def show(error: NetworkError):
    print(error.kind, " ", error.detail, ": ", error, sep="")


def main() raises:
    # An address in text form stands for itself.
    print(resolve("127.0.0.1")[0])
    print(resolve("::1")[0])

    # A name has one address or several, in the order in which to try them.
    var is_here = True
    for address in resolve("localhost", timeout_ms=5_000):
        is_here = is_here and address.is_loopback()
    print("localhost is this machine:", is_here)

    try:
        _ = resolve_v4("::1")
    except error:
        show(error)

    # What can be no host name never reaches the system's resolver, which would
    # read the second one as an address.
    for text in ["user@host", "127.1"]:
        try:
            _ = resolve(text)
        except error:
            show(error)
