"""Builds a program and runs it in the foreground: tools/run.py FILE [ARGUMENTS].

The first answer of a fresh clone must not wait for an object, so one is used only if
`make test` has made it.
"""

import argparse
import os
import sys

from arguments import mojo_source
from toolchain import BUILD, build, environment, found_object


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=mojo_source, metavar="FILE.mojo")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the program's")
    given = parser.parse_args()
    source, output = given.file, BUILD / "run" / given.file.stem
    print(f"building {source.name} ...", flush=True)
    result = build(source, output, whole=found_object() is None)
    if result.returncode != 0:
        sys.exit(result.stdout)
    os.execve(output, [str(output), *given.arguments], environment())


if __name__ == "__main__":
    main()
