"""What the commands print: results to standard output, the rest to standard error.

Colours, and lines that are drawn over, are for terminals alone. `NO_COLOR` is
honoured.
"""

import time
from collections.abc import Callable, Iterator
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


def milliseconds(elapsed_s: float) -> str:
    """Writes a short time for people: `0.3 ms`, `12 ms`, `1.2 s`."""
    if elapsed_s >= 1:
        return seconds(elapsed_s)
    return f"{elapsed_s * 1000:.{0 if elapsed_s > 0.01 else 1}f} ms"


def octets(count: int) -> str:
    """Writes a size for people: `512 B`, `2.2 MB`."""
    if count < 1000:
        return f"{count} B"
    if count < 1_000_000:
        return f"{count / 1000:.0f} kB"
    return f"{count / 1_000_000:.1f} MB"


@contextmanager
def progress(doing: str) -> Iterator[Callable[[str], None]]:
    """Shows that something is going on: on a terminal, with a spinner and the time.

    Yields:
        What to call with a text when it is done; it is printed with the time.
    """
    began = time.monotonic()
    said: list[str] = []
    if err.is_terminal:
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=err, transient=True) as bar:
            bar.add_task(doing)
            yield said.append
    else:
        yield said.append
    for text in said:
        say(f"{text} in {seconds(time.monotonic() - began)}", style="dim")
