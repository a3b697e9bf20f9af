"""What comes out of a connection whose contents are all taken while they
arrive, in the form of `request_log`."""

from flare.http.h1.body_decoder import DetachedBody, BodyProgress
from flare.http.h1.request_parser import RequestParser, Progress
from flare.http.h1.field_section import HeadLimits
from flare.http.h1.error import RemoteProtocolError
from tests.support.request_log import describe, describe_head


struct StreamingSide(Movable):
    """A connection that detaches all content that is not there at once."""

    var log: String
    """`[...]` for each request, `<status>` for a refusal."""
    var longest_input_len: Int
    """Most octets that waited for more, in bytes."""
    var _exchange: RequestParser
    var _intake: Optional[DetachedBody]
    var _content: List[UInt8]
    var _limit: Int
    var _is_broken: Bool

    def __init__(out self, limit: Int = 100):
        """Makes a connection.

        Args:
            limit: Most content of a request in bytes.
        """
        self.log = String()
        self.longest_input_len = 0
        self._exchange = RequestParser(16)
        self._intake = None
        self._content = []
        self._limit = limit
        self._is_broken = False

    def receive(mut self, octets: Span[UInt8, _]):
        """Takes octets, and writes down what is complete.

        Args:
            octets: What the client sends.
        """
        if self._is_broken:
            return
        if self._intake:
            self._intake.value().input.append(octets)
        else:
            self._exchange.input.append(octets)
        try:
            while self._go_on():
                pass
        except error:
            self.log.write("<", error.status(), ">")
            self._is_broken = True

    def _go_on(mut self) raises RemoteProtocolError -> Bool:
        var limits = HeadLimits(8192, 8192, 100)
        if self._intake:
            return self._take(limits)
        var progress = self._exchange.advance(limits)
        if progress == Progress.HEAD_READY:
            self._exchange.body.max_body_size = self._limit
            progress = self._exchange.advance(limits)
        if progress == Progress.READY:
            describe(self._exchange, self.log)
            self._exchange.finish()
            return True
        if not self._exchange.is_in_body():
            return False
        self._intake = self._exchange.detach_body()
        return True

    def _take(mut self, limits: HeadLimits) raises RemoteProtocolError -> Bool:
        ref intake = self._intake.value()
        var progress = intake.advance(limits)
        if progress == BodyProgress.CONTENT:
            self._content.extend(intake.content())
            return True
        if progress == BodyProgress.NEEDS_OCTETS:
            self.longest_input_len = max(
                self.longest_input_len, len(intake.input)
            )
            return False
        describe_head(self._exchange, self.log)
        self.log.write(String(from_utf8_lossy=self._content), "|")
        self.log.write(intake.trailers(), "]\n")
        self._content = []
        self._exchange.input.append(intake.leftover())
        self._exchange.finish()
        self._intake = None
        return True
