"""`flare object` and `flare flags`: the library compiled once, and how to use it."""

from typing import Annotated

import typer

from mojo_flare import terminal, toolchain

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

    That takes some minutes. From then on run, dev, build and test compile a
    program without the library, in a fraction of the time, until compiler or
    library change; build --whole does not.

    [bold]Examples[/bold]

      flare object

      flare object --target-cpu x86-64-v2
    """
    made = toolchain.find().make_object(_options(target_cpu, sanitize))
    size = terminal.octets(made.facts["octets"])
    terminal.out.print(f"{made.facts['identity']}, {size}: {made.folder}")


def flags(target_cpu: _Cpu = None, sanitize: _Sanitizer = None) -> None:
    """Print the options with which `mojo build` uses the compiled library.

    It is compiled first if it was not.

    [bold]Examples[/bold]

      mojo build app.mojo $(flare flags)
    """
    options = _options(target_cpu, sanitize)
    made = toolchain.find().make_object(options)
    terminal.out.print(" ".join((*options, *made.options)))


def _options(cpu: str | None, sanitizer: str | None) -> tuple[str, ...]:
    target = ("--target-cpu", cpu) if cpu else ()
    return target + (("--sanitize", sanitizer) if sanitizer else ())
