"""Where lines of a log go."""

from std.sys import stderr


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
    """Standard output, a line a call."""

    def write_line(self, line: StringSpan):
        """Writes a line.

        Args:
            line: The line with its end.
        """
        print(line, end="", flush=True)


@fieldwise_init
struct StandardError(LogSink):
    """Standard error, a line a call."""

    def write_line(self, line: StringSpan):
        """Writes a line.

        Args:
            line: The line with its end.
        """
        print(line, end="", file=stderr)
