"""The command line: one module a command, put together here.

A command is a function with Typer's annotations. What ends it early raises
`CommandError`; what it prints goes through `terminal`.
"""

import errno
import sys
from typing import Annotated

import typer

from mojo_flare import terminal, toolchain
from mojo_flare.bench.command import bench
from mojo_flare.build import build
from mojo_flare.check import check
from mojo_flare.checks import (
    GET_TEMPORARY_FOLDER,
    NO_TEMPORARY_FOLDER,
    lacks_temporary_folder,
)
from mojo_flare.completion import completion
from mojo_flare.describe.command import openapi, routes
from mojo_flare.dev.command import dev
from mojo_flare.doctor import doctor
from mojo_flare.new import new
from mojo_flare.object.command import flags, object_
from mojo_flare.outcome import CommandError, ExitCode
from mojo_flare.proto.command import proto
from mojo_flare.run import run
from mojo_flare.test import test

# A file that is open already has no name in these.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_EXIT_CODES = "\n\n".join(f"{c.value}: {c.meaning}" for c in ExitCode)

app = typer.Typer(
    name="flare",
    help="Makes, builds, runs and tests programs that use flare.",
    epilog=f"Exit codes:\n\n{_EXIT_CODES}",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


# What stands behind the file belongs to the program; what looks like an option and
# stands in its place is refused with the way to pass it on (`project.source_file`).
_PASSED_ON = {"allow_interspersed_args": False, "ignore_unknown_options": True}
app.command(context_settings=_PASSED_ON)(run)
app.command(context_settings=_PASSED_ON)(dev)
app.command()(build)
app.command()(check)
app.command()(test)
app.command()(new)
for _command in (routes, openapi, proto, bench, flags, doctor, completion):
    app.command()(_command)
app.command("object")(object_)


def _print_version(wanted: bool) -> None:
    if wanted:
        terminal.out.print(f"flare {toolchain.library_version()}")
        raise typer.Exit


@app.callback()
def flare(
    _version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Print the library's version and end.",
            callback=_print_version,
            is_eager=True,
        ),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Runs the command, and turns its errors into lines and exit codes."""
    try:
        # Also if it is called as a module: completion goes by the name.
        app(prog_name="flare")
    except CommandError as error:
        terminal.report(error)
        sys.exit(error.code)
    except OSError as error:
        if lacks_temporary_folder(error):
            terminal.report(CommandError(NO_TEMPORARY_FOLDER, GET_TEMPORARY_FOLDER))
            sys.exit(ExitCode.USAGE)
        # What the user named, or what lies around it, cannot be read or written.
        # Else, without a file's name, it is a fault of ours, whose traceback is wanted.
        if error.filename is None and error.errno not in _NO_ROOM:
            raise
        what = error.filename or "what is to be written finds no room"
        terminal.report(CommandError(f"{what}: {error.strerror}"))
        sys.exit(ExitCode.USAGE)
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)
