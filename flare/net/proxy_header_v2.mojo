"""The PROXY header of version 2, in binary.

    12 octets  signature
     1 octet   version (2) in the upper half, command in the lower
     1 octet   family in the upper half, transport in the lower
     2 octets  length of all that follows
               source address, destination address, source port, destination
               port; fields (TLVs): type, two octets of length, value
"""

from flare.bytes.crc32c import Crc32c
from flare.net.ip import IpAddr
from flare.net.proxy_header_error import ProxyHeaderError
from flare.net.socket_addr import SocketAddr

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
    """Checks the part of fixed length.

    Args:
        octets: What has come so far, from the signature on.
        len_max: Longest header that is taken, in bytes.

    Returns:
        The length of the whole header in bytes; 0 while that part is not here.

    Raises:
        ProxyHeaderError: If it breaks a rule.
    """
    if len(octets) < _FIXED_LEN:
        return 0
    var command = octets[_COMMAND_OFFSET]
    if command != _LOCAL and command != _PROXY:
        raise ProxyHeaderError(ProxyHeaderError.COMMAND, _COMMAND_OFFSET)
    var rest_len = _word16(octets, _LENGTH_OFFSET)
    if _FIXED_LEN + rest_len > len_max:
        raise ProxyHeaderError(ProxyHeaderError.HEADER_LEN, _LENGTH_OFFSET)
    if command == _PROXY:
        var needed = _addresses_len(octets[_FAMILY_OFFSET])
        if needed < 0:
            raise ProxyHeaderError(ProxyHeaderError.FAMILY, _FAMILY_OFFSET)
        if rest_len < needed:
            raise ProxyHeaderError(ProxyHeaderError.ADDRESS_LEN, _LENGTH_OFFSET)
    return _FIXED_LEN + rest_len


def announced_by_v2(
    header: Span[UInt8, _]
) raises ProxyHeaderError -> Optional[SocketAddr]:
    """Reads a header whose fixed part is sound.

    Args:
        header: The whole header.

    Returns:
        The client's address; nothing if the proxy speaks for itself, or the
        client has no IP address.

    Raises:
        ProxyHeaderError: If the fields do not fill the header, or the checksum
            that one of them holds is wrong.
    """
    var family = header[_FAMILY_OFFSET]
    if header[_COMMAND_OFFSET] == _LOCAL or family == _UNSPEC:
        # All that follows is to be ignored, whatever it is (section 2.2).
        return None
    var fields_offset = _FIXED_LEN + _addresses_len(family)
    var checksum_offset = _checksum_offset(header, fields_offset)
    if checksum_offset > 0:
        _verify(header, checksum_offset)
    if family >> 4 == 1:
        return SocketAddr(
            IpAddr.v4(header[16], header[17], header[18], header[19]),
            UInt16(_word16(header, 24)),
        )
    if family >> 4 == 2:
        var octets = Array[UInt8, 16](fill=0)
        for index in range(16):
            octets[index] = header[_FIXED_LEN + index]
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
        if header[at] == _CHECKSUM_TYPE:
            if value_len != _CHECKSUM_LEN or found > 0:
                raise ProxyHeaderError(ProxyHeaderError.CHECKSUM_LEN, at)
            found = value_offset
        at = value_offset + value_len
    return found


def _verify(header: Span[UInt8, _], offset: Int) raises ProxyHeaderError:
    """Compares the checksum, which counts as zero itself (section 2.2.3)."""
    var zeros = Array[UInt8, _CHECKSUM_LEN](fill=0)
    var checksum = Crc32c()
    checksum.update(header[0:offset])
    checksum.update(zeros)
    checksum.update(header[offset + _CHECKSUM_LEN :])
    var told = UInt32(_word16(header, offset)) << 16
    told |= UInt32(_word16(header, offset + 2))
    if checksum.value() != told:
        raise ProxyHeaderError(ProxyHeaderError.CHECKSUM, offset)


def _word16(octets: Span[UInt8, _], offset: Int) -> Int:
    return Int(octets[offset]) << 8 | Int(octets[offset + 1])
