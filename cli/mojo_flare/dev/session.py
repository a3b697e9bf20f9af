"""The life of `flare dev`: what happens when files change and programs end.

    change --> build --fails--> told; who serves goes on
                 |
                 +--> start beside the old one, on the same listening sockets
                        |--ends, or is not ready in time--> told; the old goes on
                        +--ready--> the old one drains; the new one serves
"""

import asyncio
import shutil
import signal
import socket
import tempfile
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from pathlib import Path

from mojo_flare import building, terminal
from mojo_flare.dev.build import Builder, BuildResult, diagnostics
from mojo_flare.dev.guess import listen
from mojo_flare.dev.page import PageServer, State
from mojo_flare.dev.program import Address, Program, ending
from mojo_flare.dev.watch import Watcher
from mojo_flare.toolchain import Toolchain

STABLE_S = 2.0
"""A program that has run for so long is started again when it crashes."""


@dataclass
class Settings:
    """What the command line says."""

    source: Path
    folders: list[Path]
    arguments: list[str] = field(default_factory=list)
    includes: tuple[Path, ...] = ()
    addresses: list[Address] = field(default_factory=list)
    page_port: int = 0
    ready_s: float = 30.0
    drain_s: float = 30.0


def url(address: Address) -> str:
    """Writes where a browser finds an address."""
    host, port = address
    if host in ("0.0.0.0", "::"):
        host = "localhost"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Session:
    """Keeps one program running in its newest version that works."""

    def __init__(self, settings: Settings, toolchain: Toolchain) -> None:
        self._settings = settings
        self._folder = Path(tempfile.mkdtemp(prefix="flare-dev-"))
        self._builder = Builder(
            toolchain, settings.source, self._folder, settings.includes
        )
        self._state = State()
        self._pages = PageServer(lambda: self._state)
        self._listeners: dict[Address, socket.socket] = {}
        # Made here from the source's text, and not yet taken by a program.
        self._guessed: set[Address] = set()
        self._current: Program | None = None
        self._leaving: dict[Program, asyncio.Task[None]] = {}
        self._turn: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._failed: asyncio.Future[None] = asyncio.Future()
        self._swapping = asyncio.Lock()
        self._started = 0

    async def run(self, stop: asyncio.Event) -> None:
        """Works until it is told to stop; then all programs have ended."""
        self._open_page()
        try:
            self._open_guesses()
            watcher = Watcher(self._settings.folders)
            self._begin_turn()
            self._keep(self._watch(watcher))
            stopping = asyncio.create_task(stop.wait())
            await asyncio.wait(
                [self._failed, stopping], return_when=asyncio.FIRST_COMPLETED
            )
            stopping.cancel()
            if self._failed.done():
                self._failed.result()
        finally:
            await self._end()

    def _open_page(self) -> None:
        port = self._settings.page_port
        own = listen(("127.0.0.1", port)) or listen(("127.0.0.1", 0))
        assert own is not None
        self._own = own
        self._pages.watch(own, True)
        self._page_url = url(own.getsockname()[:2])
        terminal.say(f"flare dev: state and errors at {self._page_url}/")

    def _open_guesses(self) -> None:
        """Has the page answer where the program is going to."""
        for address in self._settings.addresses:
            if listener := listen(address):
                self._listeners[address] = listener
                self._guessed.add(address)
                self._pages.watch(listener, False)
                terminal.say(f"flare dev: waiting at {url(address)}", style="dim")

    async def _watch(self, watcher: Watcher) -> None:
        while True:
            paths = await watcher.changed()
            names = ", ".join(Path(path).name for path in paths[:3])
            more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
            terminal.say(f"flare dev: {names}{more} changed", style="dim")
            self._begin_turn()

    def _begin_turn(self) -> None:
        """Gives up what was being built or started, and builds anew."""
        self._turn = self._keep(self._take_turn(self._turn))

    async def _take_turn(self, former: asyncio.Task[None] | None) -> None:
        if former and not former.done():
            former.cancel()
            await asyncio.wait([former])
        self._tell(replace(self._blank("building"), detail=self._who_answers()))
        result = await self._builder.build()
        if result.binary is None:
            self._tell_of_build(result)
            return
        await self._swap(result)

    def _blank(self, title: str) -> State:
        links = [url(address) for address in self._listeners]
        return State(title=title, links=links)

    def _who_answers(self) -> str:
        if self._current:
            return "The version before answers until the new one is ready."
        return "This page changes when the program answers."

    def _tell(self, state: State) -> None:
        self._state = replace(state, number=self._state.number + 1)

    def _tell_of_build(self, result: BuildResult) -> None:
        title = "the program does not compile"
        said = diagnostics(result.said)
        self._tell(
            replace(
                self._blank(title),
                detail=self._who_answers(),
                is_bad=True,
                diagnostics=said,
                text=result.said,
            )
        )
        building.show_diagnostics(result.said)
        terminal.say(f"flare dev: {title}", style="bold red")
        if self._current:
            terminal.say("flare dev: the version before goes on answering")

    async def _swap(self, result: BuildResult) -> None:
        """Puts a new version in the place of the one that serves."""
        assert result.binary is not None
        async with self._swapping:
            old = self._current
            if old and not old.listeners:
                # It has handed nothing over: the new one cannot listen beside it.
                self._current = None
                await asyncio.wait([self._leave_later(old)])
            program = await self._try(result.binary)
            if not program and not self._current and self._guessed:
                # A socket that nobody wants may have stood in its way.
                for address in list(self._guessed):
                    self._drop(address)
                program = await self._try(result.binary)
            if program:
                self._take_over(program)
                where = " ".join(self._state.links) or "no address"
                terminal.say(
                    f"flare dev: serving {where}"
                    f" (built in {terminal.seconds(result.seconds)})",
                    style="bold green",
                )
            else:
                result.binary.unlink(missing_ok=True)

    async def _try(self, binary: Path) -> Program | None:
        """Starts a version and waits until it serves; `None` if it does not."""
        self._started += 1
        program = Program(binary, self._folder / f"notify-{self._started}")
        self._tell(replace(self._blank("starting"), detail=self._who_answers()))
        await program.start(self._settings.arguments, self._listeners.values())
        ready = asyncio.create_task(program.ready.wait())
        # One that serves nothing runs until the next change.
        limit = self._settings.ready_s if self._current else None
        try:
            await asyncio.wait(
                [ready, program.ended],
                timeout=limit,
                return_when=asyncio.FIRST_COMPLETED,
            )
        except asyncio.CancelledError:
            self._leave_later(program)
            raise
        finally:
            ready.cancel()
        if program.ready.is_set() and not program.ended.done():
            return program
        if program.ended.done():
            why = f"the program {ending(program.ended.result())} before it served"
        else:
            why = f"the program did not serve within {self._settings.ready_s:.0f} s"
            self._leave_later(program)
        self._tell_of_program(program, why)
        return None

    def _tell_of_program(self, program: Program, why: str) -> None:
        self._tell(
            replace(
                self._blank(why),
                detail=self._who_answers(),
                is_bad=True,
                text="\n".join(program.output),
            )
        )
        terminal.say(f"flare dev: {why}", style="bold red")
        if self._current:
            terminal.say("flare dev: the version before goes on answering")

    def _take_over(self, program: Program) -> None:
        """Lets a version that is ready have the listeners to itself."""
        for address, listener in program.listeners.items():
            if address in self._listeners:
                listener.close()
            else:
                self._listeners[address] = listener
            self._guessed.discard(address)
            self._pages.unwatch(self._listeners[address])
        for address in self._listeners.keys() - program.listeners.keys():
            self._drop(address)
        old, self._current = self._current, program
        self._tell(replace(self._blank("the program serves"), serves=True))
        program.ended.add_done_callback(lambda _: self._on_end(program))
        if old:
            self._leave_later(old)

    def _drop(self, address: Address) -> None:
        """Closes a listener that the program does not use."""
        self._guessed.discard(address)
        listener = self._listeners.pop(address)
        self._pages.unwatch(listener)
        listener.close()

    def _on_end(self, program: Program) -> None:
        """Starts a version again that has crashed, unless it does so at once."""
        if program is not self._current:
            return
        self._current = None
        why = f"the program {ending(program.ended.result())}"
        if program.age_s() >= STABLE_S and program.ended.result() != 0:
            terminal.say(f"flare dev: {why}; starting it again", style="bold red")
            self._keep(self._restart(program.binary))
            return
        self._tell_of_program(program, why)
        self._answer_for_it()

    def _answer_for_it(self) -> None:
        """Has the page answer where the program would."""
        for listener in self._listeners.values():
            self._pages.watch(listener, False)

    async def _restart(self, binary: Path) -> None:
        async with self._swapping:
            if self._current:
                return
            if program := await self._try(binary):
                self._take_over(program)
            else:
                self._answer_for_it()

    def _leave_later(self, program: Program) -> asyncio.Task[None]:
        task = self._keep(self._leave(program))
        self._leaving[program] = task
        return task

    async def _leave(self, program: Program) -> None:
        """Has a program finish what is under way, and waits for its end."""
        program.drain()
        done, _ = await asyncio.wait([program.ended], timeout=self._settings.drain_s)
        if not done:
            program.kill()
            await asyncio.wait([program.ended])
        self._leaving.pop(program, None)
        if not self._current or self._current.binary != program.binary:
            program.binary.unlink(missing_ok=True)

    def kill(self) -> None:
        """Ends all programs that are still to finish something."""
        for program in list(self._leaving):
            program.kill()

    def _keep(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """Runs something beside; what it raises ends the session."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_done)
        return task

    def _on_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() and not self._failed.done():
            self._failed.set_exception(task.exception())

    async def _end(self) -> None:
        """Ends all programs in good order."""
        current, self._current = self._current, None
        if self._turn:
            self._turn.cancel()
            await asyncio.wait([self._turn])
        for task in list(self._tasks - set(self._leaving.values())):
            task.cancel()
        if current:
            self._leave_later(current)
        if self._leaving:
            terminal.say(
                "flare dev: ending when what is under way is finished;"
                " a second Ctrl-C does not wait",
                style="dim",
            )
            await asyncio.wait(list(self._leaving.values()))
        for listener in [self._own, *self._listeners.values()]:
            self._pages.unwatch(listener)
            listener.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def run_session(settings: Settings, toolchain: Toolchain) -> None:
    """Runs a session until Ctrl-C or SIGTERM; a second one ends all at once."""

    async def run() -> None:
        stop = asyncio.Event()
        session = Session(settings, toolchain)

        def on_signal() -> None:
            if stop.is_set():
                session.kill()
            stop.set()

        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, on_signal)
        await session.run(stop)

    asyncio.run(run())
