"""`flare proto`: from `.proto` files to structs, by way of protoc."""

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from mojo_flare import terminal
from mojo_flare.outcome import CommandError, ExitCode
from mojo_flare.proto.generator import generate

_INSTALL = "pip install 'mojo-flare[proto]'"


def proto(
    files: Annotated[list[Path], typer.Argument(help="The .proto files.")],
    includes: Annotated[
        list[Path] | None,
        typer.Option(
            "-I",
            "--include",
            help="Where files and what they import are looked for.",
            show_default="the working folder",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", help="The package that gets the modules.")
    ] = Path("messages"),
) -> None:
    """Make Mojo structs of the messages in .proto files.

    Each file becomes a module: person.proto is messages/person_pb.mojo. So do
    files that it imports; those of google/protobuf are in the library.

    [bold]Examples[/bold]

      flare proto person.proto

      flare proto -I api api/person.proto --out api_messages
    """
    roots = [root.resolve() for root in includes or [Path()]]
    wanted = [_name_below(path, roots) for path in files]
    made = generate(read_descriptors(roots, [path.resolve() for path in files]), wanted)
    for name, text in made.items():
        path = out / name
        if path.name == "__init__.mojo" and path.exists():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if path.name != "__init__.mojo":
            terminal.out.print(str(path))


def _name_below(path: Path, roots: list[Path]) -> str:
    """Names a file as `import` names it."""
    if not path.is_file():
        raise CommandError(f"there is no file {path}")
    for root in roots:
        if path.resolve().is_relative_to(root):
            return path.resolve().relative_to(root).as_posix()
    raise CommandError(
        f"{path} is in none of the folders that files are looked for in",
        f"name its folder: -I {path.parent}",
    )


def read_descriptors(roots: list[Path], paths: list[Path]):
    """Has protoc read the files; gives what they and their imports describe."""
    if importlib.util.find_spec("grpc_tools") is None:
        raise CommandError(
            "flare proto reads .proto files by protoc, which comes with the"
            " package grpcio-tools, and that is not installed",
            _INSTALL,
        )
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "descriptors"
        command = [
            sys.executable, "-m", "grpc_tools.protoc", "--include_imports",
            "--include_source_info", f"--descriptor_set_out={output}",
            *(f"-I{root}" for root in roots), *map(str, paths),
        ]
        said = subprocess.run(command, text=True, capture_output=True)
        if said.returncode != 0:
            raise CommandError(
                said.stderr.strip() or f"protoc ended with {said.returncode}",
                code=ExitCode.FAILED,
            )
        return FileDescriptorSet.FromString(output.read_bytes()).file
