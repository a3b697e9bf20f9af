"""Temporary."""


def find_invalid_utf8(octets: Span[UInt8, _]) -> Int:
    var i = 0
    var n = len(octets)
    while i < n:
        var b = octets[i]
        if b < 0x80:
            i += 1
            continue
        var k = 0
        var lo = UInt8(0x80)
        var hi = UInt8(0xBF)
        if b >= 0xC2 and b <= 0xDF:
            k = 1
        elif b >= 0xE0 and b <= 0xEF:
            k = 2
            if b == 0xE0:
                lo = 0xA0
            if b == 0xED:
                hi = 0x9F
        elif b >= 0xF0 and b <= 0xF4:
            k = 3
            if b == 0xF0:
                lo = 0x90
            if b == 0xF4:
                hi = 0x8F
        else:
            return i
        if i + k >= n:
            return i
        if octets[i + 1] < lo or octets[i + 1] > hi:
            return i
        for j in range(2, k + 1):
            if octets[i + j] & 0xC0 != 0x80:
                return i
        i += k + 1
    return n
