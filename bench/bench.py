"""The benchmark suite: builds, checks, runs and compares HTTP servers.

Run: make bench, or .venv/bin/python bench/bench.py --help
"""

import signal
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from suite.cli import main  # noqa: E402


def interrupt(*_: object) -> None:
    """Ends a run as Ctrl-C does: servers have sessions of their own, and would stay."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup wants it
            signal.signal(number, interrupt)
    sys.exit(main(sys.argv[1:]))
