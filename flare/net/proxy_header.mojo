"""The header by which a proxy announces whom a connection comes from.

Source: "The PROXY protocol, versions 1 & 2" by HAProxy's authors
(proxy-protocol.txt). The header is the first thing on a connection, before
everything else, TLS included. Which version it has is seen at its first octet.
"""

from flare.bytes.checked import *
from flare.bytes.hash import Crc32c
from flare.net.ip import IpAddr
from flare.net.socket_addr import SocketAddr, parse_port


comptime PROXY_HEADER_LEN_MAX = 4_096
"""Longest header that is taken, in bytes.

Version 1 ends at 107. Version 2 could say 65,551, but what proxies send fits
into one segment; the rest leaves room for a client certificate's names.
"""


@fieldwise_init
struct ProxyHeader(ImplicitlyCopyable, Movable):
    """What a proxy tells at the begin of a connection."""

    var header_len: Int
    """How many octets the header has; what follows is the client's."""
    var client: Optional[SocketAddr]
    """Whom the connection comes from. Nothing if that is the proxy itself, or
    the proxy cannot say."""


def find_proxy_header(
    octets: Span[UInt8, _]
) raises ProxyHeaderError -> Optional[ProxyHeader]:
    """Reads the header that stands before everything else; nothing while it is
    incomplete. More may stand after it.

    More octets never change an answer: ask again with all of them as long as
    there is none. Raises if the header breaks a rule, or there is no such one.
    """
    var is_v2 = len(octets) > 0 and octets.at(0) == 13
    _check_signature(octets, V2_SIGNATURE if is_v2 else V1_SIGNATURE)
    var header_len = v2_header_len(
        octets, PROXY_HEADER_LEN_MAX
    ) if is_v2 else v1_header_len(octets)
    if header_len == 0 or len(octets) < header_len:
        return None
    var header = octets.before(header_len)
    var client = announced_by_v2(header) if is_v2 else announced_by_v1(header)
    return ProxyHeader(header_len, client)


def _check_signature(
    octets: Span[UInt8, _], signature: StaticString
) raises ProxyHeaderError:
    var expected = signature.as_bytes()
    for index in range(min(len(octets), len(expected))):
        if octets.at(index) != expected.at(index):
            raise ProxyHeaderError(ProxyHeaderError.NO_SIGNATURE, index)


# The PROXY header of version 1, a line of text.
#
#     PROXY TCP4 192.0.2.1 198.51.100.2 56324 443<CR><LF>
#     PROXY UNKNOWN<CR><LF>

comptime V1_LEN_MAX = 107
"""Longest line in bytes, CRLF included (section 2.1)."""

comptime V1_SIGNATURE = StaticString("PROXY ")
"""What a line begins with (section 2.1)."""

comptime _WORD_COUNT = 6


def v1_header_len(octets: Span[UInt8, _]) raises ProxyHeaderError -> Int:
    """Looks for the end of the line. Returns its length with CRLF; 0 while the
    end has not come. Raises if a CR or LF stands alone, or the line is too
    long."""
    var end = min(len(octets), V1_LEN_MAX)
    for index in range(end):
        if octets.at(index) == 10:
            raise ProxyHeaderError(ProxyHeaderError.LINE_END, index)
        if octets.at(index) == 13 and index + 1 < end:
            if octets.at(index + 1) != 10:
                raise ProxyHeaderError(ProxyHeaderError.LINE_END, index + 1)
            return index + 2
    if end == V1_LEN_MAX:
        raise ProxyHeaderError(ProxyHeaderError.LINE_LEN, V1_LEN_MAX)
    return 0


def announced_by_v1(
    header: Span[UInt8, _]
) raises ProxyHeaderError -> Optional[SocketAddr]:
    """Reads the client's address from a line with signature and CRLF; nothing
    for `UNKNOWN`, whatever follows it."""
    var line = header.before(len(header) - 2)
    var words = _Words(line)
    var protocol = words.of(line, 1)
    if _is(protocol, "UNKNOWN"):
        return None
    var is_v4 = _is(protocol, "TCP4")
    if not is_v4 and not _is(protocol, "TCP6"):
        raise ProxyHeaderError(ProxyHeaderError.PROTOCOL, words.starts.at(1))
    if len(words.starts) < _WORD_COUNT:
        raise ProxyHeaderError(ProxyHeaderError.WORD_COUNT, len(line))
    if len(words.starts) > _WORD_COUNT:
        var offset = words.starts.at(_WORD_COUNT)
        raise ProxyHeaderError(ProxyHeaderError.WORD_COUNT, offset)
    var ip = _address(words.of(line, 2), words.starts.at(2), is_v4)
    _ = _address(words.of(line, 3), words.starts.at(3), is_v4)
    var port = _port(words.of(line, 4), words.starts.at(4))
    _ = _port(words.of(line, 5), words.starts.at(5))
    return SocketAddr(ip, port)


struct _Words(Movable):
    """Where the words of a line begin; one space stands between two."""

    var starts: List[Int]

    def __init__(out self, line: Span[UInt8, _]):
        self.starts = [0]
        for index in range(len(line)):
            if line.at(index) == 32:
                self.starts.append(index + 1)

    def of[
        o: ImmOrigin
    ](self, line: Span[UInt8, o], word: Int) -> Span[UInt8, o]:
        var end = len(line)
        if word + 1 < len(self.starts):
            end = self.starts.at(word + 1) - 1
        return line.between(self.starts.at(word), end)


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


# The PROXY header of version 2, in binary.
#
#     12 octets  signature
#      1 octet   version (2) in the upper half, command in the lower
#      1 octet   family in the upper half, transport in the lower
#      2 octets  length of all that follows
#                source address, destination address, source port, destination
#                port; fields (TLVs): type, two octets of length, value

comptime V2_SIGNATURE = StaticString("\r\n\r\n\x00\r\nQUIT\n")
"""What a header begins with (section 2.2)."""

comptime _COMMAND_OFFSET = 12
comptime _FAMILY_OFFSET = 13
comptime _LENGTH_OFFSET = 14
comptime _FIXED_LEN = 16

comptime _LOCAL: UInt8 = 0x20
# Version 2, and the proxy speaks for itself: the rest is to be ignored.
comptime _PROXY: UInt8 = 0x21

comptime _UNSPEC: UInt8 = 0x00
comptime _FIELD_HEAD_LEN = 3
comptime _CHECKSUM_TYPE: UInt8 = 0x03
# PP2_TYPE_CRC32C (section 2.2.3).
comptime _CHECKSUM_LEN = 4


def v2_header_len(
    octets: Span[UInt8, _], len_max: Int
) raises ProxyHeaderError -> Int:
    """Checks the part of fixed length, from the signature on. Returns the
    length of the whole header, at most `len_max`; 0 while that part is not
    here."""
    if len(octets) < _FIXED_LEN:
        return 0
    var command = octets.at(_COMMAND_OFFSET)
    if command != _LOCAL and command != _PROXY:
        raise ProxyHeaderError(ProxyHeaderError.COMMAND, _COMMAND_OFFSET)
    var rest_len = _word16(octets, _LENGTH_OFFSET)
    if _FIXED_LEN + rest_len > len_max:
        raise ProxyHeaderError(ProxyHeaderError.HEADER_LEN, _LENGTH_OFFSET)
    if command == _PROXY:
        var needed = _addresses_len(octets.at(_FAMILY_OFFSET))
        if needed < 0:
            raise ProxyHeaderError(ProxyHeaderError.FAMILY, _FAMILY_OFFSET)
        if rest_len < needed:
            raise ProxyHeaderError(ProxyHeaderError.ADDRESS_LEN, _LENGTH_OFFSET)
    return _FIXED_LEN + rest_len


def announced_by_v2(
    header: Span[UInt8, _]
) raises ProxyHeaderError -> Optional[SocketAddr]:
    """Reads the client's address from a header whose fixed part is sound;
    nothing if the proxy speaks for itself, or the client has no IP address.
    Raises if the fields do not fill the header, or the checksum that one of
    them holds is wrong."""
    var family = header.at(_FAMILY_OFFSET)
    if header.at(_COMMAND_OFFSET) == _LOCAL or family == _UNSPEC:
        # All that follows is to be ignored, whatever it is (section 2.2).
        return None
    var fields_offset = _FIXED_LEN + _addresses_len(family)
    var checksum_offset = _checksum_offset(header, fields_offset)
    if checksum_offset > 0:
        _verify(header, checksum_offset)
    if family >> 4 == 1:
        return SocketAddr(
            IpAddr.v4(
                header.at(16), header.at(17), header.at(18), header.at(19)
            ),
            UInt16(_word16(header, 24)),
        )
    if family >> 4 == 2:
        var octets = Array[UInt8, 16](fill=0)
        for index in range(16):
            octets.at(index) = header.at(_FIXED_LEN + index)
        return SocketAddr(
            IpAddr.from_v6_octets(octets), UInt16(_word16(header, 48))
        )
    return None


def _addresses_len(family: UInt8) -> Int:
    """Tells how long the addresses of a family and transport are in bytes, or
    -1 if the combination is none (section 2.2)."""
    if family == _UNSPEC:
        return 0
    if family & 0x0F != 1 and family & 0x0F != 2:
        return -1
    match Int(family >> 4):
        case 1:
            return 12
        case 2:
            return 36
        case 3:
            return 216
        case _:
            return -1


def _checksum_offset(
    header: Span[UInt8, _], fields_offset: Int
) raises ProxyHeaderError -> Int:
    """Goes over all fields; tells where the value of the checksum is, or 0."""
    var found = 0
    var at = fields_offset
    while at < len(header):
        var value_offset = at + _FIELD_HEAD_LEN
        if value_offset > len(header):
            raise ProxyHeaderError(ProxyHeaderError.FIELD_LEN, at)
        var value_len = _word16(header, at + 1)
        if value_offset + value_len > len(header):
            raise ProxyHeaderError(ProxyHeaderError.FIELD_LEN, at)
        if header.at(at) == _CHECKSUM_TYPE:
            if value_len != _CHECKSUM_LEN or found > 0:
                raise ProxyHeaderError(ProxyHeaderError.CHECKSUM_LEN, at)
            found = value_offset
        at = value_offset + value_len
    return found


def _verify(header: Span[UInt8, _], offset: Int) raises ProxyHeaderError:
    """Compares the checksum, which counts as zero itself (section 2.2.3)."""
    var zeros = Array[UInt8, _CHECKSUM_LEN](fill=0)
    var checksum = Crc32c()
    checksum.update(header.before(offset))
    checksum.update(zeros)
    checksum.update(header.after(offset + _CHECKSUM_LEN))
    var told = UInt32(_word16(header, offset)) << 16
    told |= UInt32(_word16(header, offset + 2))
    if checksum.value() != told:
        raise ProxyHeaderError(ProxyHeaderError.CHECKSUM, offset)


def _word16(octets: Span[UInt8, _], offset: Int) -> Int:
    return Int(octets.at(offset)) << 8 | Int(octets.at(offset + 1))


@fieldwise_init
struct ProxyHeaderError(Copyable, Movable, Writable):
    """A PROXY header is missing, or breaks a rule."""

    var reason: StaticString
    var offset: Int
    """Where, in bytes from the begin of the connection."""

    comptime NO_SIGNATURE = StaticString(
        "a connection from a proxy begins with 'PROXY ' or the signature of"
        " version 2; is the proxy told to send it?"
    )
    """There is no header at all."""
    comptime LINE_LEN = StaticString("a line has at most 107 octets with CRLF")
    """A line of version 1 does not end in time."""
    comptime LINE_END = StaticString("CR and LF stand together, at the end")
    """A line of version 1 has one of them alone."""
    comptime PROTOCOL = StaticString("'TCP4', 'TCP6' or 'UNKNOWN' is due")
    """A line of version 1 names another protocol."""
    comptime WORD_COUNT = StaticString(
        "two addresses and two ports follow, each behind one space"
    )
    """A line of version 1 has too many words or too few."""
    comptime ADDRESS = StaticString("an address of the announced family is due")
    """A line of version 1 has no such address."""
    comptime PORT = StaticString("a port is 0 to 65535 without leading zeros")
    """A line of version 1 has no such port."""
    comptime COMMAND = StaticString("version 2 with LOCAL or PROXY is due")
    """A header has another version or command."""
    comptime FAMILY = StaticString("the family and transport are not defined")
    """A header of version 2 has a combination that must be refused."""
    comptime ADDRESS_LEN = StaticString(
        "the length has no room for the addresses of the family"
    )
    """A header of version 2 is shorter than its addresses."""
    comptime HEADER_LEN = StaticString(
        "a header has at most 4096 octets; let the proxy send fewer fields"
    )
    """A header of version 2 is longer than is taken."""
    comptime FIELD_LEN = StaticString(
        "a field (TLV) must end within the header"
    )
    """The fields of a header of version 2 do not fill it exactly."""
    comptime CHECKSUM_LEN = StaticString("one checksum has four octets")
    """A checksum has another length, or there are two."""
    comptime CHECKSUM = StaticString("the CRC-32C is not that of the header")
    """A header was changed on its way."""

    def write_to(self, mut writer: Some[Writer]):
        writer.write_string("PROXY header: ")
        writer.write_string(self.reason)
        writer.write_string(" (byte ")
        self.offset.write_to(writer)
        writer.write_string(")")
