"""Measures addresses: parsing IPv4, IPv6, socket addresses and URLs."""

from flare.url.url import Url
from flare.net.ip import IpAddr
from flare.net.socket_addr import SocketAddr
from flare.sys.clock import thread_cpu_ns
from std.benchmark import keep

comptime ROUNDS = 9
comptime ROUND_NS = 40_000_000
comptime INPUT_COUNT = 64


def _report(name: StaticString, var times: List[Float64]):
    sort(times)
    print('{"name": "', name, '", "ns": ', times[len(times) // 2], "}", sep="")


def _measure[
    parse: def(StringSpan[_]) raises thin -> Int
](name: StaticString, inputs: List[String]) raises:
    """Parses all inputs in turn, round after round."""
    var times = List[Float64]()
    for _ in range(ROUNDS):
        var count = 0
        var sum = 0
        var start = thread_cpu_ns()
        var elapsed = 0
        while elapsed < ROUND_NS:
            for ref input in inputs:
                sum += parse(input)
            count += len(inputs)
            elapsed = thread_cpu_ns() - start
        keep(sum)
        times.append(Float64(elapsed) / Float64(count))
    _report(name, times^)


def _ip(text: StringSpan[_]) raises -> Int:
    return Int(IpAddr.parse(text).bits_low())


def _socket_addr(text: StringSpan[_]) raises -> Int:
    return Int(SocketAddr.parse(text).port)


def _url(text: StringSpan[_]) raises -> Int:
    return Url.parse(text).href().byte_length()


def main() raises:
    """Prints one JSON line a measurement, in CPU time of this thread."""
    var v4 = List[String]()
    var v6 = List[String]()
    var socket_addrs = List[String]()
    var urls = List[String]()
    for index in range(INPUT_COUNT):
        var octet = (index * 37) % 256
        v4.append(String("192.168.", index, ".", octet))
        v6.append(String("2001:db8:", index, "::8:", octet, ":200c:417a"))
        socket_addrs.append(String("[2001:db8::", index, "]:", 8000 + octet))
        urls.append(
            String("https://host", index, ".example.com/items/", octet, "?q=1")
        )
    _measure[_ip]("ip_v4_parse", v4)
    _measure[_ip]("ip_v6_parse", v6)
    _measure[_socket_addr]("socket_addr_parse", socket_addrs)
    _measure[_url]("url_parse", urls)
