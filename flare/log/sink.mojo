"""Where lines of logs go, and how they look."""

from flare.bytes.from_text import FromText, TextError
from flare.sys.log import STANDARD_ERROR, STANDARD_OUTPUT, write_log


@fieldwise_init
struct LogFormat(Equatable, FromText, TrivialRegisterPassable, Writable):
    """How the lines of a log are written."""

    var code: UInt8
    """A small number, distinct for each format."""

    comptime TEXT = LogFormat(0)
    """Words with spaces between, for people."""
    comptime JSON = LogFormat(1)
    """A JSON object a line, for programs."""

    @staticmethod
    def from_text(text: StringSpan) raises TextError -> Self:
        """Reads a format, for settings.

        Args:
            text: `text` or `json`.

        Raises:
            TextError: If it is none of them.
        """
        if text == "text":
            return Self.TEXT
        if text == "json":
            return Self.JSON
        raise TextError("is neither text nor json")

    def write_to(self, mut writer: Some[Writer]):
        """Writes the format as `from_text` reads it."""
        writer.write_string("json" if self == Self.JSON else "text")


trait LogSink(Deinitable, Movable):
    """Takes the lines of a log, from several threads at once."""

    def write_line(self, line: StringSpan):
        """Takes a line.

        Args:
            line: The line with the octet that ends it, to be written at once.
        """
        ...


@fieldwise_init
struct StandardOutput(LogSink):
    """Standard output, a line a call.

    A line that it does not take at once, for its reader has stalled or its disk
    is full, is dropped and counted; standard error is told the count when lines
    are taken again.
    """

    def write_line(self, line: StringSpan):
        write_log(STANDARD_OUTPUT, line.as_bytes())


@fieldwise_init
struct StandardError(LogSink):
    """Standard error, a line a call; dropped and counted as for
    `StandardOutput`."""

    def write_line(self, line: StringSpan):
        write_log(STANDARD_ERROR, line.as_bytes())
