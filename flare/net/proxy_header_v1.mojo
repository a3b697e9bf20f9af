"""The PROXY header of version 1, a line of text.

    PROXY TCP4 192.0.2.1 198.51.100.2 56324 443<CR><LF>
    PROXY UNKNOWN<CR><LF>
"""

from flare.net.address_parse_error import AddressParseError
from flare.net.ip import IpAddr
from flare.net.proxy_header_error import ProxyHeaderError
from flare.net.socket_addr import SocketAddr, parse_port

comptime V1_LEN_MAX = 107
"""Longest line in bytes, CRLF included (section 2.1)."""

comptime V1_SIGNATURE = StaticString("PROXY ")
"""What a line begins with (section 2.1)."""

comptime _WORD_COUNT = 6


def v1_header_len(octets: Span[UInt8, _]) raises ProxyHeaderError -> Int:
    """Looks for the end of the line.

    Args:
        octets: What has come so far.

    Returns:
        The length with CRLF in bytes; 0 while the end has not come.

    Raises:
        ProxyHeaderError: If a CR or LF stands alone, or the line is too long.
    """
    var end = min(len(octets), V1_LEN_MAX)
    for index in range(end):
        if octets[index] == 10:
            raise ProxyHeaderError(ProxyHeaderError.LINE_END, index)
        if octets[index] == 13 and index + 1 < end:
            if octets[index + 1] != 10:
                raise ProxyHeaderError(ProxyHeaderError.LINE_END, index + 1)
            return index + 2
    if end == V1_LEN_MAX:
        raise ProxyHeaderError(ProxyHeaderError.LINE_LEN, V1_LEN_MAX)
    return 0


def announced_by_v1(
    header: Span[UInt8, _]
) raises ProxyHeaderError -> Optional[SocketAddr]:
    """Reads a line.

    Args:
        header: The line, with signature and CRLF.

    Returns:
        The client's address; nothing for `UNKNOWN`, whatever follows it.

    Raises:
        ProxyHeaderError: If the line has another form.
    """
    var line = header[0 : len(header) - 2]
    var words = _Words(line)
    var protocol = words.of(line, 1)
    if _is(protocol, "UNKNOWN"):
        return None
    var is_v4 = _is(protocol, "TCP4")
    if not is_v4 and not _is(protocol, "TCP6"):
        raise ProxyHeaderError(ProxyHeaderError.PROTOCOL, words.starts[1])
    if len(words.starts) < _WORD_COUNT:
        raise ProxyHeaderError(ProxyHeaderError.WORD_COUNT, len(line))
    if len(words.starts) > _WORD_COUNT:
        var offset = words.starts[_WORD_COUNT]
        raise ProxyHeaderError(ProxyHeaderError.WORD_COUNT, offset)
    var ip = _address(words.of(line, 2), words.starts[2], is_v4)
    _ = _address(words.of(line, 3), words.starts[3], is_v4)
    var port = _port(words.of(line, 4), words.starts[4])
    _ = _port(words.of(line, 5), words.starts[5])
    return SocketAddr(ip, port)


struct _Words(Movable):
    """Where the words of a line begin; one space stands between two."""

    var starts: List[Int]

    def __init__(out self, line: Span[UInt8, _]):
        self.starts = [0]
        for index in range(len(line)):
            if line[index] == 32:
                self.starts.append(index + 1)

    def of[
        o: ImmOrigin
    ](self, line: Span[UInt8, o], word: Int) -> Span[UInt8, o]:
        """Gives a word that the line has."""
        var end = len(line)
        if word + 1 < len(self.starts):
            end = self.starts[word + 1] - 1
        return line[self.starts[word] : end]


def _is(word: Span[UInt8, _], text: StaticString) -> Bool:
    return StringSpan(unsafe_from_utf8=word) == text


def _address(
    word: Span[UInt8, _], start: Int, is_v4: Bool
) raises ProxyHeaderError -> IpAddr:
    try:
        var ip = IpAddr.parse(word)
        if ip.is_v4() == is_v4:
            return ip
    except error:
        raise ProxyHeaderError(ProxyHeaderError.ADDRESS, start + error.offset)
    raise ProxyHeaderError(ProxyHeaderError.ADDRESS, start)


def _port(word: Span[UInt8, _], start: Int) raises ProxyHeaderError -> UInt16:
    try:
        return parse_port(StringSpan(unsafe_from_utf8=word), 0)
    except error:
        raise ProxyHeaderError(ProxyHeaderError.PORT, start + error.offset)
