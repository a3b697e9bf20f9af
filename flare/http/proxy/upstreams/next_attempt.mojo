"""What follows on an attempt at an upstream that has ended without an answer.

An upstream is blamed for what fails there, and its group chooses where the request
goes next, if it does. Before that comes what no upstream is to blame for: such a
request goes to the same one once more, which counts nowhere.
"""

from flare.http.exchange.retry_rules import AttemptEnd, EndedAttempt
from flare.http.proxy.upstreams.outcome import Outcome

comptime SAME_COUNT_MAX = 5
"""How often a request goes to the same upstream once more before that counts as a
failure: it has left it untouched (RFC 9113 section 8.7), or its connections end."""

comptime _PAUSE_MS = 10
# Before the second time; the next one is twice as long.


@fieldwise_init
struct NextAttempt(Equatable, TrivialRegisterPassable):
    """Where a request goes when an attempt has ended without an answer."""

    var number: UInt8

    comptime SAME = NextAttempt(0)
    """To the same upstream, on another connection."""
    comptime OVER_HTTP_1_1 = NextAttempt(1)
    """To the same upstream, over HTTP/1.1 (RFC 9113 section 7)."""
    comptime CHOSEN = NextAttempt(2)
    """To an upstream that the group chooses, if it does."""


def next_attempt(ended: EndedAttempt) -> NextAttempt:
    """Tells where a request goes; `count` is that of attempts at this upstream.

    Source: RFC 9110 section 9.2.2, RFC 9112 section 9.3, RFC 9113 sections 7 and 8.7.
    """
    var is_untouched = ended.end == AttemptEnd.UNTOUCHED and ended.is_kept
    if not (is_untouched or ended.goes_anew()):
        return NextAttempt.CHOSEN
    if ended.end == AttemptEnd.NEEDS_HTTP_1_1:
        return NextAttempt.OVER_HTTP_1_1
    if ended.count > SAME_COUNT_MAX:
        return NextAttempt.CHOSEN
    return NextAttempt.SAME


def says_nothing(ended: EndedAttempt) -> Bool:
    """Tells whether the end says nothing of the upstream: the connection may have
    been closed before the request came, for being idle, or for the stream of another
    request. Again and again that is no accident."""
    return (
        ended.end == AttemptEnd.LOST
        and ended.was_reused
        and ended.count <= SAME_COUNT_MAX
    )


def pause_ms(count: Int) -> Int:
    """Tells how long the same upstream is left alone behind so many attempts, in
    milliseconds: not at all behind the first."""
    return 0 if count == 1 else _PAUSE_MS << (count - 2)


def end_of_failure(outcome: Outcome, was_sent: Bool) -> AttemptEnd:
    """Tells what has come of an attempt that has failed before the head of a
    response, for the rules; `was_sent` if any octet may have reached the upstream.
    """
    if outcome == Outcome.RESET:
        return AttemptEnd.LOST
    if outcome == Outcome.REFUSED:
        return AttemptEnd.UNTOUCHED
    if outcome == Outcome.BAD_RESPONSE:
        return AttemptEnd.SPOILED
    if outcome.is_timeout() and was_sent:
        return AttemptEnd.SILENT
    return AttemptEnd.NO_CONNECTION


def as_counted(
    ended: EndedAttempt, outcome: Outcome, count: Int
) -> EndedAttempt:
    """Gives an attempt as the group looks at it, `count` being that of attempts at
    all upstreams: whatever its connection was, it has failed, and what an upstream
    has left behind again and again it has left untouched. One that is silent may
    still be at it."""
    var counted = ended
    if outcome == Outcome.HEAD_TIMEOUT:
        counted.end = AttemptEnd.SILENT
    elif ended.end == AttemptEnd.LEFT_BEHIND:
        counted.end = AttemptEnd.UNTOUCHED
    counted.was_reused = False
    counted.count = count
    return counted
