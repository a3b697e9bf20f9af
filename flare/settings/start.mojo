"""Settings at the start of a program: what is wrong ends it with a line."""

from flare.bytes.checked import *
from flare.bytes.text import Text
from flare.settings.settings import Settings, read_settings
from flare.settings.text import program_name
from flare.sys.descriptor import write_from
from flare.sys.log import STANDARD_ERROR
from std.os import abort
from std.sys import exit

comptime REFUSED_EXIT_CODE = 2
"""What a program ends with that was started with what cannot be."""


def settings_or_exit[
    T: Movable & Deinitable
](prefix: StringSpan) -> Settings[T]:
    """Reads a plain struct as `read_settings` does; if anything is wrong, ends
    the program with a line for each problem and exit code 2.

        def main() raises:
            var settings = settings_or_exit[Shop]("SHOP_").take()

    A line is `program: SHOP_PORT is 'x'; it takes an integer`, on standard error.

    Parameters:
        T: The struct; see `read_env`.

    Args:
        prefix: What names of its variables begin with.

    Returns:
        The struct, and where each value comes from.
    """
    try:
        return read_settings[T](prefix)
    except error:
        exit_refusing(error.problems)


def settings_or_exit[
    T: Movable & Deinitable
](prefix: StringSpan, var defaults: T) -> Settings[T]:
    """Reads a plain struct with defaults of one's own, or ends the program.

    Parameters:
        T: The struct.

    Args:
        prefix: What names of its variables begin with.
        defaults: What holds where nothing is given.

    Returns:
        The struct, and where each value comes from.
    """
    try:
        return read_settings[T](prefix, defaults^)
    except error:
        exit_refusing(error.problems)


@no_inline
def exit_refusing(problems: List[String]) -> Never:
    """Ends the program because of how it was started: a line for each problem
    on standard error, with the program's name in front, and exit code 2.

    For what a program itself finds wrong with what it was given, such as a
    file that is not there. What is buffered on standard output is written.

    Args:
        problems: What was found, and what is allowed; a line each, without
            control characters.
    """
    var octets = refusal_lines(program_name(), problems)
    var left = octets.as_bytes()
    while len(left) > 0:
        var count = write_from(STANDARD_ERROR, left)
        if count <= 0:
            break
        left = left.after(count)
    exit(REFUSED_EXIT_CODE)
    abort()


def refusal_lines(program: StringSpan, problems: List[String]) -> String:
    """Writes what `exit_refusing` says, in a line for each problem."""
    var text = Text()
    for ref problem in problems:
        text = text^.add(program).add(": ").add(problem).add("\n")
    return text^.end()
