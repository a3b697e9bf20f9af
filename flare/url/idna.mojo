"""Host names of all scripts: IDNA (UTS 46) and Punycode (RFC 3492)."""

from flare.bytes.checked import *
from flare.bytes.utf8 import decode_utf8
from flare.url.idna_data import (
    BIDI_AL,
    BIDI_AN,
    BIDI_EN,
    BIDI_L,
    BIDI_NSM,
    BIDI_OTHER,
    BIDI_R,
    COMBINING_CLASS_VIRAMA,
    IGNORED,
    JOINING_D,
    JOINING_L,
    JOINING_R,
    JOINING_T,
    MAPPED,
    SPELLED,
    VALID,
    append_spelling,
    idna_entry,
    normalize,
)

comptime _DOT = 46
comptime _NON_JOINER = 0x200C
comptime _JOINER = 0x200D
comptime _PREFIX_LEN = 4


@fieldwise_init
struct IdnaError(Copyable, Movable, Writable):
    """Why a domain has no ASCII form."""

    var reason: StaticString

    def write_to(self, mut writer: Some[Writer]):
        writer.write(self.reason)


def domain_to_ascii(domain: Span[UInt8, _]) raises IdnaError -> List[UInt8]:
    """Turns a domain of UTF-8 into lower-case ASCII labels; it may be empty,
    and so may they. Raises if the domain has no valid form.

    Source: UTS 46 sections 4 and 4.2.
    """
    var text = normalize(_map(domain))
    var labels = List[List[Int]]()
    var is_bidi = False
    var start = 0
    for end in range(len(text) + 1):
        if end < len(text) and text.at(end) != _DOT:
            continue
        labels.append(_checked_label(text[start:end]))
        is_bidi = is_bidi or _has_right_to_left(labels.at(len(labels) - 1))
        start = end + 1
    var ascii = List[UInt8](capacity=len(domain) + 8)
    for index in range(len(labels)):
        if index > 0:
            ascii.append(_DOT)
        if is_bidi:
            _check_direction(labels.at(index))
        _append_label(labels.at(index), ascii)
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
        elif entry.kind != IGNORED:
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
    for code_point in label.after(_PREFIX_LEN):
        if code_point >= 128:
            raise IdnaError("a label that starts with xn-- has to be ASCII")
        encoded.append(UInt8(code_point))
    var decoded = punycode_decode(encoded)
    if not decoded:
        raise IdnaError("a label that starts with xn-- is not Punycode")
    ref plain = decoded.held()
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
    return (
        label.at(0) == 120 and label.at(1) == 110 and label.at(2) == 45
    ) and label.at(3) == 45


def _is_ascii(label: Span[Int, _]) -> Bool:
    for code_point in label:
        if code_point >= 128:
            return False
    return True


def _check_label(label: Span[Int, _]) raises IdnaError:
    """Checks each code point, and where marks and joiners stand."""
    if len(label) > 0 and idna_entry(label.at(0)).is_mark():
        raise IdnaError("a label of the host starts with a combining mark")
    for index in range(len(label)):
        var code_point = label.at(index)
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
    var before = idna_entry(label.at(index - 1))
    if before.combining_class() == COMBINING_CLASS_VIRAMA:
        return True
    if label.at(index) == _JOINER:
        return False
    var at = index - 1
    while at >= 0 and idna_entry(label.at(at)).joining_type() == JOINING_T:
        at -= 1
    if at < 0:
        return False
    var left = idna_entry(label.at(at)).joining_type()
    at = index + 1
    while (
        at < len(label) and idna_entry(label.at(at)).joining_type() == JOINING_T
    ):
        at += 1
    if at == len(label):
        return False
    var right = idna_entry(label.at(at)).joining_type()
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
    var first = idna_entry(label.at(0)).bidi_class()
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


comptime _BASE = 36
comptime _T_MIN = 1
comptime _T_MAX = 26
comptime _SKEW = 38
comptime _DAMP = 700
comptime _INITIAL_BIAS = 72
comptime _INITIAL_N = 128
# RFC 3492 section 5.
comptime _CODE_POINT_MAX = 0x10FFFF
comptime _HYPHEN: UInt8 = 45


def punycode_encode(code_points: Span[Int, _], mut encoded: List[UInt8]):
    """Appends the encoded form of a label, without its `xn--`.

    Source: RFC 3492 section 6.3.
    """
    var done = 0
    for code_point in code_points:
        if code_point < _INITIAL_N:
            encoded.append(UInt8(code_point))
            done += 1
    var basic = done
    if basic > 0:
        encoded.append(_HYPHEN)
    var n = _INITIAL_N
    var delta = 0
    var bias = _INITIAL_BIAS
    while done < len(code_points):
        var next = _CODE_POINT_MAX
        for code_point in code_points:
            if code_point >= n and code_point < next:
                next = code_point
        delta += (next - n) * (done + 1)
        n = next
        for code_point in code_points:
            if code_point < n:
                delta += 1
            elif code_point == n:
                _encode_delta(delta, bias, encoded)
                bias = _adapt(delta, done + 1, done == basic)
                delta = 0
                done += 1
        delta += 1
        n += 1


def punycode_decode(encoded: Span[UInt8, _]) -> Optional[List[Int]]:
    """Decodes a label without its `xn--` to code points; nothing if no label
    has this encoding.

    Source: RFC 3492 section 6.2.
    """
    var code_points = List[Int]()
    var position = len(encoded)
    while position > 0 and encoded.at(position - 1) != _HYPHEN:
        position -= 1
    # A hyphen that leads parts nothing: no encoder writes it (section 3.1).
    if position == 1:
        return None
    for index in range(position - 1):
        code_points.append(Int(encoded.at(index)))
    var n = _INITIAL_N
    var i = 0
    var bias = _INITIAL_BIAS
    while position < len(encoded):
        var old_i = i
        var weight = 1
        var k = _BASE
        while True:
            if position >= len(encoded):
                return None
            var digit = _digit_value(encoded.at(position))
            position += 1
            if digit < 0:
                return None
            i += digit * weight
            var threshold = _threshold(k, bias)
            if digit < threshold:
                break
            weight *= _BASE - threshold
            # Far above what a code point and a length can make, and far below
            # what an Int holds.
            if weight > 1 << 40 or i > 1 << 40:
                return None
            k += _BASE
        var length = len(code_points) + 1
        bias = _adapt(i - old_i, length, old_i == 0)
        n += i // length
        i %= length
        if n > _CODE_POINT_MAX or (n >= 0xD800 and n < 0xE000):
            return None
        code_points.insert(i, n)
        i += 1
    return code_points^


def _encode_delta(delta: Int, bias: Int, mut encoded: List[UInt8]):
    var q = delta
    var k = _BASE
    while True:
        var threshold = _threshold(k, bias)
        if q < threshold:
            break
        encoded.append(
            _digit(threshold + (q - threshold) % (_BASE - threshold))
        )
        q = (q - threshold) // (_BASE - threshold)
        k += _BASE
    encoded.append(_digit(q))


def _threshold(k: Int, bias: Int) -> Int:
    return min(max(k - bias, _T_MIN), _T_MAX)


def _adapt(delta: Int, length: Int, is_first: Bool) -> Int:
    """Adapts the bias (RFC 3492 section 6.1)."""
    var rest = delta // _DAMP if is_first else delta // 2
    rest += rest // length
    var k = 0
    while rest > (_BASE - _T_MIN) * _T_MAX // 2:
        rest //= _BASE - _T_MIN
        k += _BASE
    return k + (_BASE - _T_MIN + 1) * rest // (rest + _SKEW)


def _digit(value: Int) -> UInt8:
    return UInt8(97 + value) if value < 26 else UInt8(22 + value)


def _digit_value(octet: UInt8) -> Int:
    if octet >= 48 and octet <= 57:
        return Int(octet) - 22
    var folded = octet | 0x20
    if folded >= 97 and folded <= 122:
        return Int(folded) - 97
    return -1
