"""Runs a session of `flare dev` with a given toolchain.

Usage: run_dev.py TOOLCHAIN_ROOT SOURCE [ready_s=N] [stable_s=N] [include=DIR]
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "cli"))

from mojo_flare.dev import session  # noqa: E402
from mojo_flare.dev.guess import guess_addresses  # noqa: E402
from mojo_flare.toolchain import Toolchain  # noqa: E402

root, source = Path(sys.argv[1]), Path(sys.argv[2])
options = dict(part.split("=") for part in sys.argv[3:])
if "stable_s" in options:
    session.STABLE_S = float(options["stable_s"])
settings = session.Settings(
    source,
    [source.parent],
    addresses=guess_addresses(source),
    includes=(Path(options["include"]),) if "include" in options else (),
    ready_s=float(options.get("ready_s", 30)),
)
library = Path(__file__).resolve().parents[2] if settings.includes else None
session.run_session(settings, Toolchain(root, library, has_objects=False))
