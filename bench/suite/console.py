"""What the tool shows on a terminal: lines, tables, progress."""

import re

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

console = Console(highlight=False)


def say(text: str) -> None:
    """Prints a line that is no markup, whole, also while a bar moves."""
    console.print(text, markup=False, soft_wrap=True)


def progress() -> Progress:
    """Makes a bar; on a pipe it prints nothing."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )


def show(lines: list[str]) -> None:
    """Prints Markdown: its tables drawn on a terminal, as they are on a pipe."""
    if not console.is_terminal:
        say("\n".join(lines))
        return
    rows: list[list[str]] = []
    for line in [*lines, ""]:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
            continue
        if rows:
            console.print(_drawn(rows))
            rows = []
        say(line)


def _drawn(rows: list[list[str]]) -> Table:
    table = Table(header_style="bold")
    for index, title in enumerate(rows[0]):
        is_number = all(re.match(r"[-\d.*≥]", row[index]) for row in rows[2:]) and index > 0
        table.add_column(title, justify="right" if is_number else "left")
    for row in rows[2:]:
        styled = [re.sub(r"\*\*(.+?)\*\*", r"[bold red]\1[/]", cell) for cell in row]
        table.add_row(*styled)
    return table
