"""`flare completion`: prints what a shell needs to complete commands."""

from enum import Enum
from typing import Annotated

import typer
from typer.completion import get_completion_script

PROGRAM = "flare"
VARIABLE = "_FLARE_COMPLETE"
_FISH_FILES = (
    f"complete --command {PROGRAM} --force-files --condition"
    ' "__fish_seen_subcommand_from run dev build test routes openapi"'
)


class Shell(str, Enum):
    """The shells that there is a script for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[Shell, typer.Argument(help="The shell.")],
) -> None:
    """Print the script that completes commands and options in a shell.

    [bold]Examples[/bold]

      flare completion bash > ~/.local/share/bash-completion/completions/flare

      flare completion zsh > "${fpath\\[1]}/_flare"

      flare completion fish > ~/.config/fish/completions/flare.fish
    """
    typer.echo(script(shell))


def script(shell: Shell) -> str:
    """Gives the script of a shell; in fish files complete only if it says so."""
    text = get_completion_script(
        prog_name=PROGRAM, complete_var=VARIABLE, shell=shell.value
    )
    return f"{text}\n{_FISH_FILES}" if shell == Shell.FISH else text
