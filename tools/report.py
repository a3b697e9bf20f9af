"""Counts what passed and failed, and says so at the end."""

import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

# Of a core that others want, too, work apart gets about a quarter.
APART_NICENESS = 5


class Report:
    """The results of one run; may be used from several threads."""

    def __init__(self) -> None:
        self.pass_count = 0
        self.skip_count = 0
        self.failures: list[tuple[str, str]] = []
        self.times: list[tuple[float, str]] = []
        self._lock = threading.Lock()

    def passed(self, name: str, count: int = 1) -> None:
        with self._lock:
            self.pass_count += count

    def skipped(self, name: str, reason: str, count: int = 1) -> None:
        with self._lock:
            self.skip_count += count
            print(f"  skipped: {name}: {reason}", flush=True)

    def fail(self, name: str, message: str) -> None:
        with self._lock:
            self.failures.append((name, message))
            print(f"  FAILED: {name}\n{message}", flush=True)

    def timed(self, name: str, seconds: float) -> None:
        with self._lock:
            self.times.append((seconds, name))

    def step(self, title: str, function, *arguments) -> None:
        """Runs one part of the tests and says how it went."""
        print(f"== {title} ...", flush=True)
        began, before, failed = (
            time.monotonic(),
            self.pass_count,
            len(self.failures),
        )
        try:
            function(self, *arguments)
        except Exception as error:  # a part that breaks must not hide the others
            self.fail(title, f"{type(error).__name__}: {error}")
        seconds = time.monotonic() - began
        self.timed(title, seconds)
        print(
            f"== {title}: {self.pass_count - before} passed,"
            f" {len(self.failures) - failed} failed ({seconds:.0f} s)",
            flush=True,
        )

    def beside(self, one: Callable[["Report"], None], other: Callable[["Report"], None]) -> None:
        """Runs two pieces of work at once; what the second one counts is added at
        the end, so that the steps of each count their own."""
        apart = Report()
        with ThreadPoolExecutor(1) as pool:
            done = pool.submit(other, apart)
            one(self)
            done.result()
        self._add(apart)

    def _add(self, other: "Report") -> None:
        with self._lock:
            self.pass_count += other.pass_count
            self.skip_count += other.skip_count
            self.failures += other.failures
            self.times += other.times

    def save(self, path: Path) -> None:
        """Writes what was counted, for `apart`."""
        counted = (self.pass_count, self.skip_count, self.failures, self.times)
        path.write_text(json.dumps(counted))

    @contextmanager
    def apart(self, what: str, *command: str) -> Iterator[None]:
        """Runs a program meanwhile that takes what time others leave, to its end. Its
        last argument is a file to which it has to `save` what it has counted, which
        is added."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "counted.json"
            process = subprocess.Popen(
                ["nice", "-n", str(APART_NICENESS), *command, str(path)],
                process_group=0,
            )
            try:
                yield
                code = process.wait()
            finally:
                if process.poll() is None:
                    # With the compilers that it has started.
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
            if not path.exists():
                self.fail(what, f"it ended with {code}, and has counted nothing")
                return
            counted = Report()
            passed, skipped, failures, times = json.loads(path.read_text())
            counted.pass_count, counted.skip_count = passed, skipped
            counted.failures = [(name, message) for name, message in failures]
            counted.times = [(seconds, name) for seconds, name in times]
            self._add(counted)

    def close(self) -> int:
        """Prints the end of the run; gives the exit code."""
        print("\nslowest:")
        for seconds, name in sorted(self.times, reverse=True)[:5]:
            print(f"  {seconds:7.1f} s  {name}")
        for name, message in self.failures:
            print(
                f"FAILED {name}: {message.strip().splitlines()[0] if message.strip() else ''}"
            )
        skipped = f", {self.skip_count} skipped" if self.skip_count else ""
        print(
            f"\n{self.pass_count} passed, {len(self.failures)} failed{skipped}"
        )
        return 1 if self.failures else 0
