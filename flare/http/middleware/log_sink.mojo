"""Where lines of a log go."""

from flare.sys.log import STANDARD_ERROR, STANDARD_OUTPUT, write_log


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

    A line that it does not take at once, for its reader has stalled, is dropped
    and counted; standard error is told the count when lines are taken again.
    """

    def write_line(self, line: StringSpan):
        """Writes a line.

        Args:
            line: The line with its end.
        """
        write_log(STANDARD_OUTPUT, line.as_bytes())


@fieldwise_init
struct StandardError(LogSink):
    """Standard error, a line a call; dropped and counted as for
    `StandardOutput`."""

    def write_line(self, line: StringSpan):
        """Writes a line.

        Args:
            line: The line with its end.
        """
        write_log(STANDARD_ERROR, line.as_bytes())
