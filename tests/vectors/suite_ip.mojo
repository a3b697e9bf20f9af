"""IP addresses: HEX(text) to `ERR` or `OK canonical`.

Both sources of the vectors accept zones behind IPv6 addresses, so this asks the
type that has them; what it refuses, `IpAddr` refuses too.
"""

from flare.net.ip import ZonedIpAddr
from tests.vectors.hex_text import octets_of


def run_ip(line: StringSpan) raises -> String:
    """Runs one case."""
    var text = String(from_utf8_lossy=octets_of(line))
    try:
        return String("OK ", ZonedIpAddr.parse(text))
    except:
        return "ERR"
