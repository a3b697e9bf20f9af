"""How figures are shown: a live table, the summary, the histogram."""

from rich.table import Table

from mojo_flare.bench.figures import SHARES, Figures, Moment
from mojo_flare.bench.generator import Load

BAR_LEN = 40


def duration(value_ns: float) -> str:
    """Writes a time with the unit that suits it: `950 ns`, `1.20 ms`, `3.4 s`."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if value_ns >= size:
            return f"{value_ns / size:.3g} {unit}" if value_ns < 1000 * size else f"{value_ns / size:.0f} {unit}"
    return f"{value_ns:.0f} ns"


def octets(count: float) -> str:
    """Writes a number of bytes: `12 B`, `3.4 MB`."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count:.0f} B"


def headline(load: Load) -> str:
    """Says what is going to be done."""
    rate = f"{load.rate:,} requests/s" if load.rate else "as fast as answers come"
    connections = f"{load.connections} connection" + "s" * (load.connections != 1)
    return f"{load.method} {load.url}: {rate}, {connections}, {load.seconds:g} s"


def live_table(load: Load, moment: Moment) -> Table:
    """Shows the last half second."""
    table = Table(box=None, pad_edge=False)
    for name in ("time", "answered", "per second", "failed", "behind", "50 %", "99 %", "max"):
        table.add_column(name, justify="right", min_width=7)
    rate = moment.answered / moment.at if moment.at else 0
    table.add_row(
        f"{moment.at:.0f} / {load.seconds:g} s",
        f"{moment.answered:,}",
        f"{rate:,.0f}",
        f"{moment.failed:,}",
        f"{moment.behind:,}",
        *(duration(value * 1000) for value in (moment.p50, moment.p99, moment.max)),
        style="red" if moment.failed or moment.behind > moment.answered else "",
    )
    return table


def summary(load: Load, figures: Figures) -> list[str]:
    """Says what came of the load, in lines."""
    lines = [
        f"answered    {figures.answered:,}"
        f" ({figures.answered / figures.seconds:,.0f}/s,"
        f" {octets(figures.octets / figures.seconds)}/s of content)"
    ]
    statuses = (f"{code}: {figures.statuses[code]:,}" for code in sorted(figures.statuses))
    lines.append(f"statuses    {', '.join(statuses) or 'none'}")
    errors = (f"{name}: {count:,}" for name, count in figures.errors.most_common())
    lines.append(f"errors      {', '.join(errors) or 'none'}")
    if figures.unfinished:
        lines.append(
            f"unanswered  {figures.unfinished:,} were due and had no answer at the"
            " end; their times so far are counted"
        )
    words = [f"min {duration(figures.min_ns)}"]
    words += [f"{share * 100:g} % {duration(figures.at(share))}" for share in SHARES]
    words.append(f"max {duration(figures.max_ns)}")
    since = "from when each was due" if load.rate else "from when each was sent"
    lines += [f"latency     {', '.join(words)}", f"            {since}"]
    return lines


def histogram(figures: Figures) -> list[str]:
    """Draws how many requests took how long."""
    rows = figures.rows()
    most = max((count for _, count in rows), default=0)
    lines = []
    for end, count in rows:
        bar = "#" * round(BAR_LEN * count / most)
        if count and not bar:
            bar = "."
        lines.append(f"{duration(end):>10}  {bar:<{BAR_LEN}}  {count:,}")
    return lines
