"""`grpc-timeout` and `Connect-Timeout-Ms`: how long a caller is going to wait."""

from flare.bytes.checked import *
from flare.bytes.digits import read_digits

comptime TIMEOUT_FIELD = StaticString("grpc-timeout")
"""The field's name."""

comptime TIMEOUT_DIGITS_MAX = 8
"""Most digits of a timeout (PROTOCOL-HTTP2.md of gRPC)."""

comptime _DIGITS_END = 100_000_000
# Ten to the power of TIMEOUT_DIGITS_MAX.


def parse_timeout(text: Span[UInt8, _]) -> Optional[Int]:
    """Reads a timeout. Gives nanoseconds, `Int.MAX` for more than an `Int` can
    say (292 years); nothing if the text is no timeout.

    Source: PROTOCOL-HTTP2.md of gRPC: one to eight digits, and one of `H`, `M`,
    `S`, `m`, `u`, `n`.
    """
    if len(text) < 2 or len(text) > TIMEOUT_DIGITS_MAX + 1:
        return None
    var unit_ns = _unit_ns(text.at(len(text) - 1))
    if unit_ns == 0:
        return None
    var number = read_digits(text.before(len(text) - 1), TIMEOUT_DIGITS_MAX)
    if number < 0:
        return None
    if number > Int.MAX // unit_ns:
        return Int.MAX
    return number * unit_ns


comptime MILLISECONDS_DIGITS_MAX = 10
"""Most digits of `Connect-Timeout-Ms` ("Unary-Request" of the protocol)."""


def parse_milliseconds(text: Span[UInt8, _]) -> Optional[Int]:
    """Reads `Connect-Timeout-Ms`. Gives nanoseconds; nothing if the text is not
    one to ten digits."""
    var number = read_digits(text, MILLISECONDS_DIGITS_MAX)
    if number < 0:
        return None
    return number * 1_000_000


comptime _MILLISECONDS_END = 10_000_000_000
# Ten to the power of MILLISECONDS_DIGITS_MAX.


def format_milliseconds(timeout_ns: Int) -> String:
    """Writes `Connect-Timeout-Ms`, rounded up: the other side never ends before
    this one. What is below 1 is written as 1 ms, what is more than ten digits
    can say as the most that they can (115 days)."""
    var number = max(timeout_ns, 1) // 1_000_000
    if number * 1_000_000 < timeout_ns or number == 0:
        number += 1
    var text = String()
    min(number, _MILLISECONDS_END - 1).write_to(text)
    return text^


def _unit_ns(unit: UInt8) -> Int:
    if unit == 72:
        return 3_600_000_000_000
    if unit == 77:
        return 60_000_000_000
    if unit == 83:
        return 1_000_000_000
    if unit == 109:
        return 1_000_000
    if unit == 117:
        return 1_000
    return 1 if unit == 110 else 0


def format_timeout(timeout_ns: Int) -> String:
    """Writes a timeout in the finest unit that has room for it, rounded up: the
    other side never ends before this one. What is below 1 ns is written as 1.
    """
    comptime UNITS = StaticString("numSMH")
    var units = UNITS.as_bytes()
    var number = max(timeout_ns, 1)
    for index in range(len(units)):
        var unit_ns = _unit_ns(units.at(index))
        var count = number // unit_ns
        if number % unit_ns != 0:
            count += 1
        if count < _DIGITS_END:
            var text = String()
            count.write_to(text)
            text += StringSpan(unsafe_from_utf8=units.between(index, index + 1))
            return text^
    # 292 years are 2.6 million hours.
    return String("99999999H")
