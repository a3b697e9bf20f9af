"""Which texts may be host names; asked before the resolver sees them."""

from flare.bytes.ascii import write_escaped
from flare.bytes.checked import *
from flare.bytes.utf8 import lossy_text

comptime HOST_NAME_LEN_MAX = 253
"""Longest host name in bytes, a dot at its end not counted (RFC 1035 section
2.3.4: 255 octets on the wire, where each label has a length before it)."""

comptime LABEL_LEN_MAX = 63
"""Longest label in bytes (RFC 1035 section 2.3.4)."""

comptime _DOT = UInt8(46)
comptime _HYPHEN = UInt8(45)
comptime _UNDERSCORE = UInt8(95)


@fieldwise_init
struct HostNameError(Copyable, Movable, Writable):
    """A text can be no host name."""

    var text: String
    """The text, as found."""
    var offset: Int
    """Where it stops being one, in bytes."""
    var reason: StaticString
    """Which rule it breaks there."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes the message, with octets that are not printable escaped."""
        writer.write("'")
        write_escaped(self.text.as_bytes(), writer)
        writer.write("' is no host name: ", self.reason)
        writer.write(" (byte ", self.offset, ")")


def check_host_name(text: Span[UInt8, _]) raises HostNameError:
    """Refuses what is no host name, before a resolver guesses what it is.

    Source: RFC 1123 section 2.1 and RFC 1035 section 2.3.4: labels of letters,
    digits and inner hyphens, joined by dots. Underscores pass, because names
    with them exist. A last label that is a number does not: resolvers read
    `127.1` and `0x7f000001` as addresses, which `IpAddr.parse` refuses. Names
    in other scripts pass in their ASCII form only (RFC 5891 section 4.4).

    Args:
        text: The name; one dot may end it.

    Raises:
        HostNameError: If the text is none.
    """
    var end = len(text)
    if end > 0 and text.at(end - 1) == _DOT:
        end -= 1
    if end == 0:
        raise _error(text, 0, "it is empty")
    if end > HOST_NAME_LEN_MAX:
        raise _error(text, HOST_NAME_LEN_MAX, "it is longer than 253 bytes")
    var start = 0
    for index in range(end + 1):
        if index == end or text.at(index) == _DOT:
            _check_label(text, start, index)
            if index == end and _is_number(text.between(start, end)):
                raise _error(text, start, "the last label is a number")
            start = index + 1
        elif not is_name_octet(text.at(index)):
            raise _error(
                text, index, "only letters, digits, '-' and '_' may stand here"
            )


def _check_label(
    text: Span[UInt8, _], start: Int, end: Int
) raises HostNameError:
    if end == start:
        raise _error(text, start, "a label is empty")
    if end - start > LABEL_LEN_MAX:
        raise _error(
            text, start + LABEL_LEN_MAX, "a label is longer than 63 bytes"
        )
    if text.at(start) == _HYPHEN:
        raise _error(text, start, "a label starts with '-'")
    if text.at(end - 1) == _HYPHEN:
        raise _error(text, end - 1, "a label ends with '-'")


def is_name_octet(octet: UInt8) -> Bool:
    """Tells whether an octet may stand in a label of a host name: letters,
    digits, `-` and `_`."""
    var folded = octet | 0x20
    if (folded >= 97 and folded <= 122) or (octet >= 48 and octet <= 57):
        return True
    return octet == _HYPHEN or octet == _UNDERSCORE


def _is_number(label: Span[UInt8, _]) -> Bool:
    """Tells whether C reads a label as a number: decimal, octal or hex."""
    var is_hex = (
        len(label) > 1 and label.at(0) == 48 and label.at(1) | 0x20 == 120
    )
    for index in range(2 if is_hex else 0, len(label)):
        var octet = label.at(index)
        var folded = octet | 0x20
        var is_digit = octet >= 48 and octet <= 57
        if not is_digit and not (is_hex and folded >= 97 and folded <= 102):
            return False
    return True


def _error(
    text: Span[UInt8, _], offset: Int, reason: StaticString
) -> HostNameError:
    return HostNameError(lossy_text(text), offset, reason)
