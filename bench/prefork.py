"""Starts a server without threads of its own several times, each on one CPU.

Usage: prefork.py COUNT COMMAND...

The processes share the port by SO_REUSEPORT. The CPUs are the first COUNT that
this program may use; with fewer, nothing is pinned. SIGTERM ends all; when one
ends by itself, all end.
"""

import os
import signal
import subprocess
import sys


def main() -> int:
    if len(sys.argv) < 3 or not sys.argv[1].isdigit() or sys.argv[1] == "0":
        print("usage: prefork.py COUNT COMMAND..., with a COUNT from 1 on", file=sys.stderr)
        return 2
    count, command = int(sys.argv[1]), sys.argv[2:]
    cpus = sorted(os.sched_getaffinity(0))
    workers = []

    def stop(*_: object) -> None:
        for worker in workers:
            worker.terminate()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    for index in range(count):
        pin = ["taskset", "-c", str(cpus[index])] if count <= len(cpus) else []
        workers.append(subprocess.Popen([*pin, *command]))
    os.wait()
    stop()
    return max(abs(worker.wait()) for worker in workers)


if __name__ == "__main__":
    sys.exit(main())
