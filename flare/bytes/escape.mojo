"""Escaping of peer octets for messages that people read."""

from flare.bytes.hex import write_hex_octet

comptime ESCAPED_LEN_MAX = 200
"""Longest run of peer octets that a message repeats, in bytes.

A log line is for finding the request, not for keeping a copy of it.
"""


def write_escaped(octets: Span[UInt8, _], mut writer: Some[Writer]):
    """Writes octets so that they can neither end a log line nor forge one.

    Visible ASCII stands for itself, everything else as `\\xHH`; what is longer
    than `ESCAPED_LEN_MAX` is cut, with a note.

    Args:
        octets: Any octets.
        writer: Where to.
    """
    for index in range(min(len(octets), ESCAPED_LEN_MAX)):
        var octet = octets[index]
        if octet >= 32 and octet < 127 and octet != 92:
            writer.write(StringSpan(unsafe_from_utf8=octets[index : index + 1]))
        else:
            writer.write("\\x")
            write_hex_octet(octet, writer)
    if len(octets) > ESCAPED_LEN_MAX:
        writer.write("... (", len(octets), " bytes)")


def write_visible(octets: Span[UInt8, _], mut writer: Some[Writer]):
    """Writes octets so that they stay within one line.

    Visible ASCII and spaces stand for themselves, everything else as `\\xHH`.
    Unlike `write_escaped` it leaves what was escaped before as it is, and cuts
    nothing: it is for whole lines.

    Args:
        octets: Any octets.
        writer: Where to.
    """
    var start = 0
    for index in range(len(octets)):
        var octet = octets[index]
        if octet >= 32 and octet < 127:
            continue
        writer.write(StringSpan(unsafe_from_utf8=octets[start:index]), "\\x")
        write_hex_octet(octet, writer)
        start = index + 1
    writer.write(StringSpan(unsafe_from_utf8=octets[start:]))
