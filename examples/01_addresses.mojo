# 01 Addresses: parse, ask, print. Nothing here touches the network.
#
# Expected output:
#   192.168.1.100 private: True
#   2001:db8::1 is version 6: True
#   [::1]:8080 has port 8080
#   127.0.0.1:8080 0.0.0.0:9000
#   10.0.0.0/8 holds 10.1.2.3: True, 11.0.0.1: False
#   fe80::1 on eth0
#   https://example.com/b%20c goes to example.com port 443
#   https://example.com/d?e=1

from flare.url.url import Url
from flare.net import IpAddr, IpNetwork, SocketAddr, ZonedIpAddr


def main() raises:
    var ip = IpAddr.parse("192.168.1.100")
    print(ip, "private:", ip.is_private())

    # Every spelling prints in the one canonical form of RFC 5952.
    var v6 = IpAddr.parse("2001:0DB8:0:0:0:0:0:1")
    print(v6, "is version 6:", v6.is_v6())

    var addr = SocketAddr.parse("[::1]:8080")
    print(addr, "has port", addr.port)
    print(SocketAddr.localhost(8080), SocketAddr.any(9000))

    var network = IpNetwork.parse("10.0.0.0/8")
    var inside = network.contains(IpAddr.parse("10.1.2.3"))
    var outside = network.contains(IpAddr.parse("11.0.0.1"))
    print(network, " holds 10.1.2.3: ", inside, ", 11.0.0.1: ", outside, sep="")

    # Zones are asked for by name: IpAddr.parse refuses them.
    var zoned = ZonedIpAddr.parse("fe80::1%eth0")
    print(zoned.ip, "on", zoned.zone)

    var url = Url.parse("HTTPS://Example.com:443/a/../b c")
    print(url, "goes to", url.hostname(), "port", url.port_number())
    print(Url.parse("d?e=1", url))
