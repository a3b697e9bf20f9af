"""The generator's processes: built once, started together, listened to."""

import asyncio
import hashlib
import json
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from mojo_flare import building, project
from mojo_flare.bench.figures import Figures, Moment, shares, together
from mojo_flare.building import Program
from mojo_flare.outcome import CommandError, ExitCode
from mojo_flare.toolchain import Toolchain

SOURCE = Path(__file__).with_name("load") / "open_loop.mojo"
_LINE_LEN_MAX = 16 << 20
_MOMENT_FIELDS = set(Moment.__dataclass_fields__)


@dataclass
class Load:
    """What is sent, how often, and for how long."""

    url: str
    method: str = "GET"
    rate: int = 1_000
    connections: int = 10
    seconds: float = 10.0
    threads: int = 1
    timeout_s: float = 30.0
    is_insecure: bool = False
    content: bytes = b""
    fields: list[tuple[str, str]] = field(default_factory=list)

    def commands(self, binary: Path, content: str) -> list[list[str]]:
        """Gives the command of each generator."""
        parts = zip(
            shares(self.rate, self.threads), shares(self.connections, self.threads)
        )
        words = [word for pair in self.fields for word in pair]
        return [
            [
                str(binary),
                self.url,
                self.method,
                str(rate),
                str(connections),
                str(round(self.seconds * 1000)),
                str(round(self.timeout_s * 1000)),
                str(int(self.is_insecure)),
                content,
                *words,
            ]
            for rate, connections in parts
        ]


def built_generator(toolchain: Toolchain, includes: tuple[Path, ...] = ()) -> Path:
    """Builds the generator unless it is there already.

    Args:
        toolchain: Builds it.
        includes: Folders of packages that the compiler may take, too.
    """
    name = hashlib.sha256(str(toolchain.root).encode()).hexdigest()[:16]
    folder = project.cache_folder() / "bench" / name
    folder.mkdir(parents=True, exist_ok=True)
    program = Program(SOURCE, folder / SOURCE.stem, includes=includes)
    building.build_if_changed(toolchain, program, "the load generator")
    return program.output


def run_load(load: Load, binary: Path, show: Callable[[Moment], None]) -> Figures:
    """Runs all generators to their end; what they tell meanwhile is shown."""
    with ExitStack() as stack:
        content = "-"
        if load.content:
            file = stack.enter_context(tempfile.NamedTemporaryFile())
            file.write(load.content)
            file.flush()
            content = file.name
        return asyncio.run(_run(load.commands(binary, content), show))


async def _run(commands: list[list[str]], show: Callable[[Moment], None]) -> Figures:
    figures = Figures()
    moments = [Moment() for _ in commands]
    running = [
        await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=_LINE_LEN_MAX,
        )
        for command in commands
    ]

    async def listen(index: int, process: asyncio.subprocess.Process) -> None:
        assert process.stdout and process.stderr
        async for line in process.stdout:
            told = json.loads(line)
            if told.pop("end", False):
                figures.add(told)
            else:
                moments[index] = Moment(**{k: told[k] for k in _MOMENT_FIELDS})
                show(together(moments))
        words = (await process.stderr.read()).decode("utf-8", "replace").strip()
        if await process.wait():
            last = words.splitlines()[-1] if words else "the generator has died"
            raise CommandError(last, "", ExitCode.FAILED)

    try:
        await asyncio.gather(
            *(listen(index, process) for index, process in enumerate(running))
        )
    finally:
        for process in running:
            if process.returncode is None:
                process.kill()
                await process.wait()
    return figures
