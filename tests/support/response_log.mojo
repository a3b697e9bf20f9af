"""What comes out of a client connection, as text that can be compared."""

from flare.bytes.ascii import write_escaped
from flare.http.h1.field_section import HeadLimits
from flare.http.h1.response_parser import ResponseParser, ResponseProgress
from flare.http.message.method import Method


struct ResponseLog(Movable):
    """A client that asks the same question again and again."""

    var parser: ResponseParser
    """The connection's core."""
    var text: String
    """`(status)` for an interim response, `[...]` for a final one, `!` where
    the connection is not reusable, `<rule @offset>` for a refusal."""
    var limit: Int
    """Most content of a response in bytes."""
    var method: Method
    """The method of every request."""
    var is_single: Bool
    """True to look at one response only; whether octets behind it are seen
    depends on how they arrive."""
    var _is_over: Bool
    var _is_switching: Bool
    var _is_strict: Bool

    def __init__(
        out self,
        method: Method = "GET",
        limit: Int = 1000,
        is_switching: Bool = False,
        is_strict: Bool = True,
    ):
        """Sends the first request.

        Args:
            method: The method of every request.
            limit: Most content of a response in bytes.
            is_switching: True to ask for another protocol.
            is_strict: False to read what is irregular but clear.
        """
        self.parser = ResponseParser(16)
        self.text = String()
        self.limit = limit
        self.method = method
        self.is_single = False
        self._is_over = False
        self._is_switching = is_switching
        self._is_strict = is_strict
        self._begin()

    def _begin(mut self):
        try:
            self.parser.begin(self.method, self._is_switching, self._is_strict)
            self.parser.body.max_body_size = self.limit
            self.parser.end_request()
        except error:
            self.text.write("<", error.rule.number, " @", error.offset, ">")
            self._is_over = True

    def feed(mut self, octets: Span[UInt8, _]):
        """Receives octets and takes out what is complete.

        Args:
            octets: What arrives.
        """
        if not self._is_over:
            self.parser.input.append(octets)
            self._drain()

    def close(mut self):
        """Sees the server close the connection."""
        if not self._is_over:
            self.parser.close_input()
            self._drain()

    def is_idle(self) -> Bool:
        """Tells whether no part of a response is here.

        Returns:
            True between responses.
        """
        return not self._is_over and not self.parser.has_begun()

    def _drain(mut self):
        while not self._is_over:
            var progress: ResponseProgress
            try:
                progress = self.parser.advance(HeadLimits(64, 8192, 100))
            except error:
                self.text.write("<", error.rule.number, " @", error.offset, ">")
                self._is_over = True
                return
            if progress == ResponseProgress.NEEDS_OCTETS:
                return
            self._describe(progress)

    def _describe(mut self, progress: ResponseProgress):
        ref parser = self.parser
        if progress == ResponseProgress.INTERIM:
            self.text.write("(", parser.head.status, ")")
        elif progress == ResponseProgress.HEAD_READY:
            self.text.write("[", parser.head.status, " ")
            self.text.write(String(from_utf8_lossy=parser.reason()), " 1.")
            self.text.write(parser.head.minor_version, "\n")
            self.text.write(parser.fields(), "|")
        elif progress == ResponseProgress.CONTENT:
            # One at a time: long text would be cut short.
            for index in range(len(parser.content())):
                write_escaped(parser.content()[index : index + 1], self.text)
        elif self.is_single:
            self.text.write("|", parser.trailers(), "]")
            self._is_over = True
        elif parser.is_reusable():
            self.text.write("|", parser.trailers(), "]\n")
            self._begin()
        else:
            self.text.write("|", parser.trailers(), "]!\n")
            self._is_over = True
