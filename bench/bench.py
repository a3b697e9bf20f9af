"""The benchmark suite: builds, checks, runs and compares HTTP servers.

Run: make bench, or .venv/bin/python bench/bench.py --help
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from suite.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
