"""Writes the page of the command `flare`, from what its `--help` says."""

import re
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

CLI = Path("cli")
MARKUP = re.compile(r"\[/?(?:bold|italic|dim)\]")


def page(root: Path) -> str:
    """Writes the page: the commands in a table, then one section each."""
    sys.path.insert(0, str(root / CLI))
    import typer
    from mojo_flare.main import app
    from mojo_flare.outcome import ExitCode

    group = typer.main.get_command(app)
    commands = dict(sorted(group.commands.items()))
    out = ["# Commands and options", "", plain(group.help or ""), ""]
    out += ["| command | does |", "| --- | --- |"]
    for name, command in commands.items():
        summary = plain(command.help or "").split("\n")[0]
        out.append(f"| [`flare {name}`](#flare-{name}) | {summary} |")
    for name, command in commands.items():
        out += ["", f"## `flare {name}` {{ #flare-{name} }}", ""]
        out += section(name, command)
    out += ["", "## Exit codes", "", "| code | means |", "| --- | --- |"]
    out += [f"| {code.value} | {code.meaning} |" for code in ExitCode]
    out += ["", "`flare --install-completion` completes words in bash, zsh and fish."]
    return "\n".join(out) + "\n"


def plain(text: str) -> str:
    """Takes the marks for terminals out of a help text."""
    return MARKUP.sub("", text).strip()


def section(name: str, command) -> Iterator[str]:
    """Describes one command: what it does, arguments, options, examples."""
    text, _, examples = (command.help or "").partition("[bold]Examples[/bold]")
    yield plain(text)
    if hasattr(command, "commands"):
        for inner, sub in sorted(command.commands.items()):
            yield ""
            yield f"### `flare {name} {inner}` {{ #flare-{name}-{inner} }}"
            yield ""
            yield from section(f"{name} {inner}", sub)
    rows = [row(parameter) for parameter in command.params if not parameter.hidden]
    if rows:
        yield from ("", "| argument | means | default |", "| --- | --- | --- |")
        yield from rows
    lines = [line.strip() for line in plain(examples).splitlines() if line.strip()]
    if lines:
        yield from ("", "```sh", *lines, "```")


def row(parameter) -> str:
    """Describes one argument or option in a row of the table."""
    value = value_of(parameter)
    if parameter.param_type_name == "argument":
        shown = value or parameter.name.upper()
    else:
        names = ", ".join([*parameter.opts, *parameter.secondary_opts])
        shown = names if parameter.is_flag else f"{names} {value}".strip()
    told = plain(parameter.help or "").replace("\n", " ")
    cells = (f"`{shown}`", told, default_of(parameter))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def value_of(parameter) -> str:
    """Names what is given: as it is called, or what it may be."""
    if parameter.metavar:
        return parameter.metavar
    kind = parameter.type_descriptor.annotation
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "|".join(str(choice.value) for choice in kind)
    return "" if parameter.param_type_name == "argument" else parameter.name.upper()


def default_of(parameter) -> str:
    """Says what holds if it is not given."""
    if isinstance(parameter.show_default, str):
        return parameter.show_default
    default = parameter.default
    if isinstance(default, Enum):
        return str(default.value)
    return str(default) if isinstance(default, int | float | str) and default else ""
