"""Writes files into a folder, then becomes nghttpd, which serves them.

Usage: serve.py PORT FOLDER [CERTIFICATE KEY]; BENCH_HOST is the address.
"""

import os
import sys
from pathlib import Path


def main() -> None:
    port, folder = sys.argv[1], Path(sys.argv[2])
    (folder / "root").mkdir(exist_ok=True)
    (folder / "root" / "index.html").write_text("Hello, World!")
    (folder / "root" / "64k").write_text("x" * 65536)
    words = ["nghttpd", "-d", str(folder / "root"), "-a", os.environ.get("BENCH_HOST", "127.0.0.1")]
    if len(sys.argv) > 3:
        words += [port, sys.argv[4], sys.argv[3]]
    else:
        words += ["--no-tls", port]
    os.execvp(words[0], words)


if __name__ == "__main__":
    main()
