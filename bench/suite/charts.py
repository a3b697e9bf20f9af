"""Draws a record as charts, each as PNG and as SVG."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402

from suite.figures import spread  # noqa: E402
from suite.intervals import bootstrap  # noqa: E402
from suite.tables import rows_of  # noqa: E402

OURS, LIMIT, PEER = "#d9480f", "#868e96", "#4c78a8"
WIDTH, ROW_HEIGHT = 9.0, 0.32  # inches
LINES = ("o-", "s-", "^-", "D-", "v-", "P-", "X-", "*-")


def colour(record: dict, name: str) -> str:
    """Tells ours, the machine's limit and the others apart."""
    server = record["servers"][name]
    if server["framework"] == "flare":
        return OURS
    return PEER if server["parses"] else LIMIT


def bars(axes: Axes, record: dict, workload: str, figure: str, title: str) -> None:
    """Draws one figure of a workload: a bar a server, with its interval and number."""
    rows = rows_of(record, workload)
    names = list(rows)
    found = [bootstrap([row[figure] for row in rows[name]]) for name in names]
    middles = [one.median for one in found]
    reach = [[one.median - one.low for one in found], [one.high - one.median for one in found]]
    axes.barh(
        names,
        middles,
        xerr=reach,
        color=[colour(record, name) for name in names],
        error_kw={"ecolor": "#212529", "capsize": 2, "lw": 0.8},
        height=0.72,
    )
    edge = max(one.high for one in found)
    for index, one in enumerate(found):
        text = f"{one.median:,.0f}" if figure == "rps" else f"{one.median:.2f}"
        axes.text(one.high + edge * 0.015, index, text, va="center", fontsize=8)
    axes.set_xlim(0, edge * 1.16)
    axes.set_title(title, fontsize=10, loc="left")
    axes.tick_params(labelsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def workload_chart(record: dict, workload: str) -> pyplot.Figure:
    """Draws CPU time a request beside requests a second."""
    count = len(rows_of(record, workload))
    figure, (left, right) = pyplot.subplots(
        1, 2, figsize=(WIDTH, 1.5 + ROW_HEIGHT * count), sharey=True, layout="constrained"
    )
    bars(left, record, workload, "cpu_us", "CPU µs a request (less is better)")
    bars(right, record, workload, "rps", "requests a second (more is better)")
    left.invert_yaxis()  # both, since they share it: the best on top
    right.ticklabel_format(axis="x", style="plain")
    right.xaxis.set_major_formatter(lambda value, _: f"{value / 1000:g}k" if value else "0")
    about = record["origin"]
    figure.suptitle(
        f"{workload}: {about['connections']} connections, median of {about['rounds']} rounds"
        f" with 95 % interval\n{about['cpu']}, {about['date']}, flare {about['commit'][:10]}",
        fontsize=9,
        x=0.01,
        ha="left",
    )
    return figure


def sweep_chart(record: dict) -> pyplot.Figure:
    """Draws latency against load, a line a server; broken where load was not met."""
    figure, axes = pyplot.subplots(1, 2, figsize=(WIDTH, 4.2), sharey=True, layout="constrained")
    for kind, (figure_name, title) in enumerate((("p50_ms", "median"), ("p99_ms", "99 %"))):
        for index, (name, points) in enumerate(record["sweep"].items()):
            rates = [point["rate"] / 1000 for point in points]
            line = axes[kind].plot(
                rates,
                [point[figure_name] for point in points],
                LINES[index % len(LINES)],
                label=name,
                markersize=4,
                lw=1.2,
            )[0]
            late = [point for point in points if not point["is_met"]]
            axes[kind].plot(
                [point["rate"] / 1000 for point in late],
                [point[figure_name] for point in late],
                "x",
                color=line.get_color(),
                markersize=11,
                mew=2,
            )
        axes[kind].set_yscale("log")
        axes[kind].set_title(f"{title} latency, ms", fontsize=10, loc="left")
        axes[kind].set_xlabel("thousand requests a second asked for", fontsize=9)
        axes[kind].grid(True, which="both", lw=0.3)
        axes[kind].tick_params(labelsize=8)
    axes[0].legend(fontsize=8)
    about = record["origin"]
    figure.suptitle(
        f"Latency against load, open loop, corrected for coordinated omission\n"
        f"crossed: the rate was not reached. {about['cpu']}, {about['date']},"
        f" flare {about['commit'][:10]}",
        fontsize=9,
        x=0.01,
        ha="left",
    )
    return figure


def save(figure: pyplot.Figure, folder: Path, name: str) -> None:
    """Writes a chart in both formats."""
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.png", dpi=130)
    # No date and no random names: the same figures give the same file.
    with pyplot.rc_context({"svg.hashsalt": name}):
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    pyplot.close(figure)


def file_name(workload: str) -> str:
    """Writes a workload's name as a file has it."""
    return "".join(letter if letter.isalnum() else "_" for letter in workload.lower())


def draw(record: dict, folder: Path) -> list[str]:
    """Draws what a record holds; gives the names of the files, without ending."""
    names = []
    if record.get("sweep"):
        save(sweep_chart(record), folder, "sweep")
        names.append("sweep")
    if "servers" in record:
        for workload in record["workloads"]:
            if rows_of(record, workload):
                name = file_name(workload)
                save(workload_chart(record, workload), folder, name)
                names.append(name)
    return names
