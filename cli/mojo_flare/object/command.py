"""`flare object` and `flare flags`: the library compiled once, and how to use it."""

import shlex
from typing import Annotated

import typer

from mojo_flare import terminal, toolchain
from mojo_flare.compiler import IMPORT_PATH

_Cpu = Annotated[
    str | None,
    typer.Option(
        "--target-cpu",
        metavar="CPU",
        help="The oldest CPU that must run programs.",
        show_default="this machine's",
    ),
]
_Sanitizer = Annotated[
    str | None,
    typer.Option("--sanitize", metavar="NAME", help="As of the compiler: address."),
]


def object_(target_cpu: _Cpu = None, sanitize: _Sanitizer = None) -> None:
    """Compile the library, once for all programs.

    That takes some minutes, and is done by run, dev, build, test and bench, too,
    if they need it: the package for Linux on x86-64 brings objects, so they do
    not. Programs are compiled without the library, in a fraction of the time,
    until compiler or library change; build --whole compiles it with them.

    [bold]Examples[/bold]

      flare object

      flare object --target-cpu x86-64-v2
    """
    made = toolchain.find().make_object(_options(target_cpu, sanitize))
    size = terminal.octets(made.facts["octets"])
    terminal.out.print(f"{made.facts['identity']}, {size}: {made.folder}")


def flags(
    target_cpu: _Cpu = None,
    sanitize: _Sanitizer = None,
    env: Annotated[
        bool,
        typer.Option(
            "--env",
            help="Print the environment that puts it before the installed sources.",
        ),
    ] = False,
) -> None:
    """Print the options with which `mojo build` uses the compiled library.

    It is compiled first if it was not. Where flare is installed, the compiler
    looks at the installed sources before all that options name, unless it is
    told otherwise by its environment.

    [bold]Examples[/bold]

      eval "$(flare flags --env)"

      mojo build app.mojo $(flare flags)
    """
    options, found = _options(target_cpu, sanitize), toolchain.find()
    made = found.make_object(options)
    if env:
        path = found.environment(made)[IMPORT_PATH]
        terminal.out.print(f"export {IMPORT_PATH}={shlex.quote(path)}")
    else:
        terminal.out.print(" ".join((*options, *made.options)))


def _options(cpu: str | None, sanitizer: str | None) -> tuple[str, ...]:
    target = ("--target-cpu", cpu) if cpu else ()
    return target + (("--sanitize", sanitizer) if sanitizer else ())
