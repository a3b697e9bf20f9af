"""The ASCII form of host names with other letters.

Source: Unicode Technical Standard 46 (revision 33), with the settings of the
URL Standard, section 3.3, for what is not strict: non-transitional, joiners
and directions are checked, hyphens, lengths and ASCII signs are not. Forbidden
octets and lengths are the host parser's to check.
"""

from flare.bytes.utf8 import decode_utf8
from flare.http.message.idna_data import (
    BIDI_AL,
    BIDI_AN,
    BIDI_EN,
    BIDI_L,
    BIDI_NSM,
    BIDI_OTHER,
    BIDI_R,
    COMBINING_CLASS_VIRAMA,
    DISALLOWED,
    JOINING_D,
    JOINING_L,
    JOINING_R,
    JOINING_T,
    MAPPED,
    SPELLED,
    VALID,
    append_spelling,
    idna_entry,
)
from flare.http.message.normal_form import normalize
from flare.http.message.punycode import punycode_decode, punycode_encode

comptime _DOT = 46
comptime _NON_JOINER = 0x200C
comptime _JOINER = 0x200D
comptime _PREFIX_LEN = 4


@fieldwise_init
struct IdnaError(Copyable, Movable, Writable):
    """Why a domain has no ASCII form."""

    var reason: StaticString
    """What is wrong with it."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes the reason.

        Args:
            writer: Where to.
        """
        writer.write(self.reason)


def domain_to_ascii(domain: Span[UInt8, _]) raises IdnaError -> List[UInt8]:
    """Turns a domain into lower-case ASCII labels.

    Source: UTS 46 sections 4 and 4.2.

    Args:
        domain: UTF-8 text.

    Returns:
        The ASCII form; it may be empty, and so may its labels.

    Raises:
        IdnaError: If the domain has no valid one.
    """
    var text = normalize(_map(domain))
    var labels = List[List[Int]]()
    var is_bidi = False
    var start = 0
    for end in range(len(text) + 1):
        if end < len(text) and text[end] != _DOT:
            continue
        labels.append(_checked_label(text[start:end]))
        is_bidi = is_bidi or _has_right_to_left(labels[len(labels) - 1])
        start = end + 1
    var ascii = List[UInt8](capacity=len(domain) + 8)
    for index in range(len(labels)):
        if index > 0:
            ascii.append(_DOT)
        if is_bidi:
            _check_direction(labels[index])
        _append_label(labels[index], ascii)
    return ascii^


def _map(domain: Span[UInt8, _]) raises IdnaError -> List[Int]:
    """Reads UTF-8 and replaces each code point as UTS 46 section 5 says."""
    var text = List[Int](capacity=len(domain))
    var index = 0
    while index < len(domain):
        var read = decode_utf8(domain, index)
        if read.value < 0:
            raise IdnaError("the host is not UTF-8")
        index += read.octet_count
        var entry = idna_entry(read.value)
        if entry.kind == VALID:
            text.append(read.value)
        elif entry.kind == MAPPED:
            text.append(entry.value)
        elif entry.kind == SPELLED:
            append_spelling(entry, text)
        elif entry.kind == DISALLOWED:
            raise IdnaError("the host has a character that no name may have")
    return text^


def _checked_label(label: Span[Int, _]) raises IdnaError -> List[Int]:
    """Decodes a label if it is encoded, and checks that it is valid.

    Source: UTS 46 section 4 step 4, and section 4.1.
    """
    if not _is_encoded(label):
        _check_label(label)
        return List[Int](label)
    var encoded = List[UInt8](capacity=len(label))
    for code_point in label[_PREFIX_LEN:]:
        if code_point >= 128:
            raise IdnaError("a label that starts with xn-- has to be ASCII")
        encoded.append(UInt8(code_point))
    var decoded = punycode_decode(encoded)
    if not decoded:
        raise IdnaError("a label that starts with xn-- is not Punycode")
    ref plain = decoded.value()
    if _is_ascii(plain):
        raise IdnaError("a label that starts with xn-- encodes only ASCII")
    if _is_encoded(plain):
        raise IdnaError("a label is encoded twice")
    _check_label(plain)
    if normalize(plain) != plain:
        raise IdnaError("an encoded label is not in Normalization Form C")
    return plain.copy()


def _is_encoded(label: Span[Int, _]) -> Bool:
    """Tells whether a label starts with `xn--`."""
    if len(label) < _PREFIX_LEN:
        return False
    return (label[0] == 120 and label[1] == 110 and label[2] == 45) and label[
        3
    ] == 45


def _is_ascii(label: Span[Int, _]) -> Bool:
    for code_point in label:
        if code_point >= 128:
            return False
    return True


def _check_label(label: Span[Int, _]) raises IdnaError:
    """Checks each code point, and where marks and joiners stand."""
    if len(label) > 0 and idna_entry(label[0]).is_mark():
        raise IdnaError("a label of the host starts with a combining mark")
    for index in range(len(label)):
        var code_point = label[index]
        if idna_entry(code_point).kind != VALID:
            raise IdnaError("the host has a character that no name may have")
        if code_point == _NON_JOINER or code_point == _JOINER:
            if not _may_join(label, index):
                raise IdnaError("the host has a joiner where none belongs")


def _may_join(label: Span[Int, _], index: Int) -> Bool:
    """Tells whether a joiner or non-joiner may stand where it does.

    Source: RFC 5892 appendix A.1 and A.2.
    """
    if index == 0:
        return False
    var before = idna_entry(label[index - 1])
    if before.combining_class() == COMBINING_CLASS_VIRAMA:
        return True
    if label[index] == _JOINER:
        return False
    var at = index - 1
    while at >= 0 and idna_entry(label[at]).joining_type() == JOINING_T:
        at -= 1
    if at < 0:
        return False
    var left = idna_entry(label[at]).joining_type()
    at = index + 1
    while at < len(label) and idna_entry(label[at]).joining_type() == JOINING_T:
        at += 1
    if at == len(label):
        return False
    var right = idna_entry(label[at]).joining_type()
    return (left == JOINING_L or left == JOINING_D) and (
        right == JOINING_R or right == JOINING_D
    )


def _has_right_to_left(label: Span[Int, _]) -> Bool:
    """Tells whether a label makes its domain a bidi one (RFC 5893 section 2)."""
    for code_point in label:
        var bidi_class = idna_entry(code_point).bidi_class()
        if bidi_class >= BIDI_R and bidi_class <= BIDI_AN:
            return True
    return False


def _check_direction(label: Span[Int, _]) raises IdnaError:
    """Checks one label of a domain with right-to-left letters.

    Source: RFC 5893 section 2, conditions 1 to 6.
    """
    if len(label) == 0:
        return
    comptime MIXED = StaticString(
        "a label of the host mixes right-to-left and left-to-right letters"
    )
    comptime EDGE = StaticString(
        "a label beside right-to-left ones starts or ends with no letter"
    )
    var first = idna_entry(label[0]).bidi_class()
    if first > BIDI_AL:
        raise IdnaError(EDGE)
    var last = BIDI_NSM
    var has_arabic = False
    var has_european = False
    for code_point in label:
        var bidi_class = idna_entry(code_point).bidi_class()
        has_arabic = has_arabic or bidi_class == BIDI_AN
        has_european = has_european or bidi_class == BIDI_EN
        var is_other_way = bidi_class == BIDI_L
        if first == BIDI_L:
            is_other_way = bidi_class >= BIDI_R and bidi_class <= BIDI_AN
        if is_other_way or bidi_class == BIDI_OTHER:
            raise IdnaError(MIXED)
        if bidi_class != BIDI_NSM:
            last = bidi_class
    if last > BIDI_EN:
        raise IdnaError(EDGE)
    if first != BIDI_L and has_arabic and has_european:
        raise IdnaError("a label of the host mixes two kinds of digits")


def _append_label(label: Span[Int, _], mut ascii: List[UInt8]):
    """Appends a checked label, in Punycode if it needs it."""
    if not _is_ascii(label):
        ascii.extend("xn--".as_bytes())
        punycode_encode(label, ascii)
        return
    for code_point in label:
        ascii.append(UInt8(code_point))
