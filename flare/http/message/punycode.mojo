"""Punycode, the ASCII form of labels with other letters (RFC 3492)."""

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

    Args:
        code_points: The label.
        encoded: Where to.
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
    """Decodes a label.

    Source: RFC 3492 section 6.2.

    Args:
        encoded: The label without its `xn--`.

    Returns:
        The code points, or nothing if no label has this encoding.
    """
    var code_points = List[Int]()
    var position = len(encoded)
    while position > 0 and encoded[position - 1] != _HYPHEN:
        position -= 1
    # A hyphen that leads parts nothing: no encoder writes it (section 3.1).
    if position == 1:
        return None
    for index in range(position - 1):
        code_points.append(Int(encoded[index]))
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
            var digit = _digit_value(encoded[position])
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
