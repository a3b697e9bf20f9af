"""The http1 suite: request heads and bodies through the pure core."""

from flare.http.h1.exchange import Exchange, Progress
from flare.http.h1.limits import HeadLimits
from tests.vectors.hex_text import octets_of

comptime _BODY_LEN_MAX = 1 << 30


def run_http1(line: StringSpan) raises -> String:
    """Parses one connection's octets.

    Args:
        line: The octets in hex.

    Returns:
        `accept`, `reject` or `incomplete`; the count of complete requests; for
        a rejection the status and the rule.
    """
    var exchange = Exchange(256)
    exchange.input.append(octets_of(line))
    var count = 0
    while True:
        try:
            var progress = exchange.advance(HeadLimits(8192, 8192, 100))
            if progress == Progress.HEAD_READY:
                exchange.max_body_size = _BODY_LEN_MAX
                continue
            if progress == Progress.NEEDS_OCTETS:
                break
        except error:
            return String("reject ", count, " ", error.status(), " ", error)
        count += 1
        exchange.finish()
    if exchange.is_idle():
        return String("accept ", count)
    return String("incomplete ", count)
