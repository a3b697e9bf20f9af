"""`flare bench`: the command line of a load."""

import re
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer
from rich.live import Live

from mojo_flare import include, terminal, toolchain
from mojo_flare.bench.figures import Moment
from mojo_flare.bench.generator import Load, built_generator, run_load
from mojo_flare.bench.report import headline, histogram, live_table, summary
from mojo_flare.include import Include
from mojo_flare.outcome import CommandError, ExitCode

_TOKEN = re.compile(r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
_DURATION = re.compile(r"^(?P<number>\d+(\.\d+)?)(?P<unit>ms|s|m|)$")
_UNITS = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0}
_FRAMING = {"content-length", "transfer-encoding", "connection", "expect"}


def bench(
    url: Annotated[str, typer.Argument(help="An http or https URL.")],
    rate: Annotated[
        int,
        typer.Option(
            "--rate",
            "-r",
            min=0,
            help="Requests a second, in all. 0: each connection sends its next"
            " when it has its answer, which measures throughput, not latency.",
        ),
    ] = 1_000,
    connections: Annotated[
        int, typer.Option("--connections", "-c", min=1, help="Connections, in all.")
    ] = 10,
    duration: Annotated[
        str, typer.Option("--duration", "-d", help="How long: 10, 10s, 500ms or 2m.")
    ] = "10s",
    threads: Annotated[
        int,
        typer.Option(
            "--threads", "-t", min=1, max=256, help="Generators, each with a CPU of its own."
        ),
    ] = 1,
    method: Annotated[str, typer.Option("--method", "-X", help="The method.")] = "",
    header: Annotated[
        list[str] | None,
        typer.Option("--header", "-H", metavar="NAME: VALUE", help="A header field."),
    ] = None,
    body: Annotated[
        str,
        typer.Option("--body", metavar="TEXT|@FILE", help="The content of each request."),
    ] = "",
    timeout: Annotated[
        str, typer.Option(help="How long an answer may take from when it was sent.")
    ] = "30s",
    insecure: Annotated[
        bool, typer.Option("--insecure", "-k", help="Accept any certificate.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one line of JSON in place of text.")
    ] = False,
    includes: Include = None,
) -> None:
    """Load a server at a constant rate, and show how long answers took.

    Requests are sent when they are due, whether or not the server keeps up,
    and times run from when a request was due: a server that stops for a while
    is charged for all that would have come meanwhile. HTTP/1.1. The generator
    is built when it is first used, and kept in the cache folder. It keeps a CPU
    busy, which the server must not need.

    Ends with 1 if a request failed, had no answer, or one of 400 and more.

    [bold]Examples[/bold]

      flare bench http://127.0.0.1:8080/

      flare bench -c 64 -d 30s -t 2 -r 20000 http://127.0.0.1:8080/items

      flare bench https://localhost:8443/orders -k -H 'Content-Type: application/json' --body @order.json
    """
    load = Load(
        url=_checked_url(url),
        rate=rate,
        connections=connections,
        seconds=seconds_of("--duration", duration),
        threads=threads,
        timeout_s=seconds_of("--timeout", timeout),
        is_insecure=insecure,
        content=_content(body),
        fields=[_field(text) for text in header or []],
    )
    load.method = _checked_method(method or ("POST" if load.content else "GET"))
    if threads > connections or (rate and threads > rate):
        raise CommandError(
            f"-t {threads} is more than -c {connections} or -r {rate} can be dealt out to",
            "lower -t",
        )
    binary = built_generator(toolchain.find(), include.checked(includes))
    terminal.say(headline(load))
    figures = _run_shown(load, binary)
    if as_json:
        terminal.out.print(figures.as_json())
    else:
        for line in [*summary(load, figures), "", *histogram(figures)]:
            terminal.out.print(line)
    if not figures.is_clean:
        raise typer.Exit(ExitCode.FAILED)


def _run_shown(load: Load, binary: Path):
    """Runs the load with a table on a terminal, and with nothing elsewhere."""
    if not terminal.err.is_terminal:
        return run_load(load, binary, lambda moment: None)
    with Live(live_table(load, Moment()), console=terminal.err, transient=True) as live:
        return run_load(load, binary, lambda moment: live.update(live_table(load, moment)))


def seconds_of(option: str, text: str) -> float:
    """Reads a time such as `10`, `10s`, `500ms` or `2m`."""
    match = _DURATION.match(text)
    found = float(match["number"]) * _UNITS[match["unit"]] if match else 0.0
    if not 0.01 <= found <= 86_400:
        raise CommandError(
            f"{option} {text} is no time from 10ms to a day",
            "write it as 10, 10s, 500ms or 2m",
        )
    return found


def _checked_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_url = False
    if not is_url:
        raise CommandError(
            f"{url} is no http or https URL", "write it as http://127.0.0.1:8080/"
        )
    return url


def _checked_method(method: str) -> str:
    if not _TOKEN.match(method):
        raise CommandError(
            f"--method {method} is no method (RFC 9110 section 9.1)", "such as PUT"
        )
    return method


def _field(text: str) -> tuple[str, str]:
    """Reads `Name: value`."""
    name, colon, value = text.partition(":")
    if not colon or not _TOKEN.match(name):
        raise CommandError(
            f"--header {text!r} is no header field", "write it as 'Accept: text/html'"
        )
    if name.lower() in _FRAMING:
        raise CommandError(
            f"--header {name}: this field is the generator's own", "leave it out"
        )
    if any(character in value for character in "\r\n\0"):
        raise CommandError(f"--header {name}: the value has a line end or NUL", "")
    return name, value.strip()


def _content(body: str) -> bytes:
    """Reads the content: the text itself, or a file's."""
    if not body.startswith("@"):
        return body.encode()
    try:
        return Path(body[1:]).read_bytes()
    except OSError as error:
        raise CommandError(f"--body {body}: {error.strerror}", "name a file") from None
