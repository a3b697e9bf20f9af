"""How it came to a response."""

from flare.http.client.message.retry_policy import RetryEnd
from flare.http.message.status import Status

comptime HISTORY_COUNT_MAX = 32
"""Most redirections that are remembered, the first ones: whoever follows more
does not look at each."""


@fieldwise_init
struct RedirectStep(Copyable, Movable):
    """A response that led elsewhere (RFC 9110 section 15.4)."""

    var status: Status
    """Its status."""
    var url: String
    """The URL that answered, without user name, password and fragment."""
    var method: String
    """The method of the request that it answered."""


struct ResponseStory(Copyable, Movable):
    """How it came to a response that was not the first one."""

    var history: List[RedirectStep]
    """The redirections that led to it, the first one first; at most
    `HISTORY_COUNT_MAX`."""
    var attempt_count: Int
    """How often the request was sent, but for redirections."""
    var retry_end: RetryEnd
    """Why it was not sent again."""

    def __init__(out self):
        """Begins with one attempt."""
        self.history = []
        self.attempt_count = 1
        self.retry_end = RetryEnd.NONE

    def note(self) -> String:
        """Says for messages why there was no better response.

        Returns:
            Such as "after 3 attempts: ..."; empty if nothing was repeated, and
            nothing was to be.
        """
        if self.retry_end == RetryEnd.NONE and self.attempt_count == 1:
            return String()
        return String("after ", describe_attempts(self))


def describe_attempts(story: ResponseStory) -> String:
    """Says how often a request was sent, and why not again, such as "3
    attempts: RetryPolicy.max_attempts allows no more"."""
    var text = String(story.attempt_count, " attempt")
    if story.attempt_count != 1:
        text.write("s")
    if story.retry_end != RetryEnd.NONE:
        text.write(": ", story.retry_end.reason())
    return text^
