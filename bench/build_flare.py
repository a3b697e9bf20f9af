"""Builds a program of flare as `flare build` does: beside the library compiled once.

Usage: build_flare.py [--whole] SOURCE OUTPUT

`--whole` compiles the library with it. Without SOURCE and OUTPUT it says which of
the two it would do, and with what.
"""

import sys
from contextlib import redirect_stdout
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "tools"))

from toolchain import build, flare_object  # noqa: E402


def object_name() -> str:
    """Names the object of this tree, which is made if need be: what is told of that
    is no part of the answer."""
    with redirect_stdout(sys.stderr):
        return flare_object().folder.name


def main() -> int:
    words = [word for word in sys.argv[1:] if word != "--whole"]
    is_whole = len(words) < len(sys.argv) - 1
    if not words:
        print("compiled with it" if is_whole else f"object {object_name()}")
        return 0
    source, output = words
    result = build(Path(source), Path(output), whole=is_whole)
    print(result.stdout, end="")
    return result.returncode


if __name__ == "__main__":
    sys.exit(main())
