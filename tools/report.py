"""Counts what passed and failed, and says so at the end."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor


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

    def beside(self, *works: Callable[["Report"], None]) -> None:
        """Runs pieces of work at once, each with a report of its own, so that its
        steps count what is theirs; all is added at the end."""
        apart = [Report() for _ in works]
        with ThreadPoolExecutor(len(works)) as pool:
            list(pool.map(lambda work, report: work(report), works, apart))
        for report in apart:
            self.pass_count += report.pass_count
            self.skip_count += report.skip_count
            self.failures += report.failures
            self.times += report.times

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
