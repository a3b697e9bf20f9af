"""The Expect field (RFC 9110 section 10.1.1)."""

from flare.bytes.ascii import equals_ignore_case
from flare.http.message.fields import ListElements


struct Expectations(TrivialRegisterPassable):
    """What one line of Expect asks for; lines that are repeated say the same as
    one list."""

    var has_continue: Bool
    """True if the client waits for 100 (Continue)."""
    var has_other: Bool
    """True if it expects something that is not known, which is answered 417."""

    def __init__(out self, value: Span[UInt8, _]):
        """Reads a list; empty elements count for nothing (section 5.6.1)."""
        self.has_continue = False
        self.has_other = False
        for expectation in ListElements(value.as_imm()):
            if equals_ignore_case(expectation, "100-continue".as_bytes()):
                self.has_continue = True
            elif len(expectation) > 0:
                self.has_other = True
