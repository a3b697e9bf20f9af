"""The header by which a proxy announces whom a connection comes from.

Source: "The PROXY protocol, versions 1 & 2" by HAProxy's authors
(proxy-protocol.txt). The header is the first thing on a connection, before
everything else, TLS included. Which version it has is seen at its first octet.
"""

from flare.net.proxy_header_error import ProxyHeaderError
from flare.net.proxy_header_v1 import (
    V1_SIGNATURE,
    announced_by_v1,
    v1_header_len,
)
from flare.net.proxy_header_v2 import (
    V2_SIGNATURE,
    announced_by_v2,
    v2_header_len,
)
from flare.net.socket_addr import SocketAddr

comptime PROXY_HEADER_LEN_MAX = 4_096
"""Longest header that is taken, in bytes.

Version 1 ends at 107. Version 2 could say 65,551, but what proxies send fits
into one segment; the rest leaves room for a client certificate's names.
"""


@fieldwise_init
struct ProxyHeader(ImplicitlyCopyable, Movable):
    """What a proxy tells at the begin of a connection."""

    var header_len: Int
    """How many octets the header has; what is behind is the client's."""
    var client: Optional[SocketAddr]
    """Whom the connection comes from. Nothing if that is the proxy itself, or
    the proxy cannot say."""


def find_proxy_header(
    octets: Span[UInt8, _]
) raises ProxyHeaderError -> Optional[ProxyHeader]:
    """Reads the header that stands before everything else.

    More octets never change an answer: ask again with all of them as long as
    there is none.

    Args:
        octets: What has come so far; more may stand behind the header.

    Returns:
        The header; nothing while it is incomplete.

    Raises:
        ProxyHeaderError: If it breaks a rule, or there is no such header.
    """
    var is_v2 = len(octets) > 0 and octets[0] == 13
    _check_signature(octets, V2_SIGNATURE if is_v2 else V1_SIGNATURE)
    var header_len = v2_header_len(
        octets, PROXY_HEADER_LEN_MAX
    ) if is_v2 else v1_header_len(octets)
    if header_len == 0 or len(octets) < header_len:
        return None
    var header = octets[0:header_len]
    var client = announced_by_v2(header) if is_v2 else announced_by_v1(header)
    return ProxyHeader(header_len, client)


def _check_signature(
    octets: Span[UInt8, _], signature: StaticString
) raises ProxyHeaderError:
    var expected = signature.as_bytes()
    for index in range(min(len(octets), len(expected))):
        if octets[index] != expected[index]:
            raise ProxyHeaderError(ProxyHeaderError.NO_SIGNATURE, index)
