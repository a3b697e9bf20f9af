"""`python -m mojo_flare` is the command `flare`."""

from mojo_flare.main import main

main()
