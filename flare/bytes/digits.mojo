"""Whole numbers in decimal digits, without a sign."""


@always_inline
def read_digits(octets: Span[UInt8, _], digits_max: Int) -> Int:
    """Reads a number that is all of the octets, `digits_max` of them at most,
    which is 18 or less. Gives -1 if there is no octet, there are more, or one
    of them is no digit."""
    if len(octets) == 0 or len(octets) > digits_max:
        return -1
    var number = 0
    for octet in octets:
        if octet < 48 or octet > 57:
            return -1
        number = number * 10 + Int(octet) - 48
    return number


def read_saturated(octets: Span[UInt8, _], most: Int) -> Int:
    """Reads a number of any length that is all of the octets; `most`, up to 1
    << 62, for all that is more. Gives -1 if there is no octet, or one of them
    is no digit."""
    if len(octets) == 0:
        return -1
    var number = 0
    for octet in octets:
        if octet < 48 or octet > 57:
            return -1
        # Ten times what is longer would be more than an `Int` can say.
        if number > most // 10:
            number = most
        else:
            number = min(number * 10 + Int(octet) - 48, most)
    return number


def read_unsigned(octets: Span[UInt8, _]) -> Optional[UInt64]:
    """Reads a number of 64 bits without a sign that is all of the octets. Gives
    none if there is no octet, it is larger, or one of them is no digit."""
    if len(octets) == 0:
        return None
    var value = UInt64(0)
    for octet in octets:
        var digit = octet - 48
        if digit > 9 or value > (UInt64.MAX - UInt64(digit)) // 10:
            return None
        value = value * 10 + UInt64(digit)
    return value


def write_digits(number: Int, count: Int, mut writer: Some[Writer]):
    """Writes a number of 0 or more with so many digits, the first ones 0 where it
    has fewer."""
    var bound = 10
    for _ in range(count - 1):
        if number < bound:
            writer.write("0")
        bound *= 10
    writer.write(number)


def seconds_text(time_us: Int) -> String:
    """Writes microseconds as seconds, with as many digits as it takes."""
    var fraction = String(time_us % 1_000_000)
    var zeros = "0" * (6 - fraction.byte_length())
    var text = String(time_us // 1_000_000, ".", zeros, fraction)
    return String(text.rstrip("0").rstrip("."))
