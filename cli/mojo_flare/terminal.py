"""What the commands print: results to standard output, the rest to standard error.

Colours, and lines that are drawn over, are for terminals alone. `NO_COLOR` is
honoured.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from mojo_flare.outcome import CommandError

# Nothing is guessed to be a number, a path or markup in what programs print.
out = Console(highlight=False, markup=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)


def say(text: str, style: str = "") -> None:
    """Prints a line about what is going on, to standard error."""
    err.print(text, style=style)


def report(error: CommandError) -> None:
    """Prints an error, and what to do about it."""
    err.print("error: ", style="bold red", end="")
    err.print(error.message)
    if error.remedy:
        err.print(f"  {error.remedy}")


def seconds(elapsed: float) -> str:
    """Writes a time for people: `0.4 s`, `12 s`, `2 min 5 s`."""
    if elapsed < 10:
        return f"{elapsed:.1f} s"
    if elapsed < 60:
        return f"{elapsed:.0f} s"
    return f"{int(elapsed) // 60} min {int(elapsed) % 60} s"


@contextmanager
def progress(doing: str, done: str) -> Iterator[None]:
    """Shows that something is going on, with the time, and says when it is done.

    On a terminal a line with a spinner; elsewhere nothing until `done` and the
    time it took. Nothing is said of what raises.
    """
    began = time.monotonic()
    if err.is_terminal:
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=err, transient=True) as bar:
            bar.add_task(doing)
            yield
    else:
        yield
    say(f"{done} in {seconds(time.monotonic() - began)}", style="dim")
