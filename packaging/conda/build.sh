#!/bin/sh
# Lays the library and the command into $PREFIX; run from the sources' folder.
set -eu
mkdir -p "$PREFIX/lib/mojo" "$SP_DIR"
cp -R flare "$PREFIX/lib/mojo/flare"
cp -R cli/mojo_flare "$SP_DIR/mojo_flare"
