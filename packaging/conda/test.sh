#!/bin/sh
# The installed package is found without an option, and the command answers.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
flare --version
mojo build packaging/conda/test.mojo -o "$folder/test"
"$folder/test"
