"""The payload of a close frame: a code, and a reason."""

from flare.ws.core.close_code import CloseCode, may_send_close_code
from flare.ws.core.protocol_error import WsRule
from flare.ws.core.utf8 import Utf8Checker


struct ClosePayload(Movable):
    """What a close frame says, as far as it has arrived."""

    var code: Int
    """The code, or `CloseCode.NO_STATUS`."""
    var broken: Optional[WsRule]
    """The rule that it breaks."""
    var offset: Int
    """Where it does, in bytes from the start of the payload; -1 for its
    length."""

    def __init__(out self, octets: Span[UInt8, _], payload_len: Int):
        """Reads what is there.

        Source: RFC 6455 section 5.5.1.

        Args:
            octets: What has arrived of the payload.
            payload_len: How long it is going to be.
        """
        self.code = CloseCode.NO_STATUS
        self.broken = None
        self.offset = -1
        if payload_len == 1:
            self.broken = materialize[WsRule.CLOSE_LEN]()
            return
        if len(octets) < 2:
            return
        self.code = Int(octets[0]) << 8 | Int(octets[1])
        if not may_send_close_code(self.code):
            self.broken = materialize[WsRule.CLOSE_CODE]()
            self.offset = 0
            return
        var checker = Utf8Checker()
        var bad = checker.check(octets[2:])
        if bad < 0 and len(octets) == payload_len:
            if not checker.is_complete():
                bad = payload_len - 2
        if bad >= 0:
            self.broken = materialize[WsRule.CLOSE_UTF8]()
            self.offset = 2 + bad
