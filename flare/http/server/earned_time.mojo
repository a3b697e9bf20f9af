"""What a slow peer earns by octets that move: one rule for content that is
received and for responses that are sent, over either version of HTTP."""


def earned_ms(moved_len: Int, rate: Int) -> Int:
    """Tells how much longer a peer may take for octets that have moved, rounded
    down. A rate, in octets a second, of 0 gives no time."""
    return moved_len * 1_000 // rate if rate > 0 else 0


def prolonged_end_ms(
    end_ms: Int, earned_ms: Int, timeout_ms: Int, now_ms: Int
) -> Int:
    """Puts an end off by what was earned; no more than to `timeout_ms` from
    now, so that nobody saves time up."""
    return min(end_ms + earned_ms, now_ms + timeout_ms)
