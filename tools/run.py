"""Builds a program and runs it in the foreground: tools/run.py FILE [ARGUMENTS].

The first answer of a fresh clone must not wait for an object, so one is used only if
`make test` has made it.
"""

import os
import sys
from pathlib import Path

from toolchain import BUILD, build, environment, found_object


def main() -> None:
    source = Path(sys.argv[1])
    output = BUILD / "run" / source.stem
    print(f"building {source} ...", flush=True)
    result = build(source, output, whole=found_object() is None)
    if result.returncode != 0:
        sys.exit(result.stdout)
    os.execve(output, [str(output), *sys.argv[2:]], environment())


if __name__ == "__main__":
    main()
