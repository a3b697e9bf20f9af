"""The command `flare`: makes, builds, runs and tests programs of the library."""
